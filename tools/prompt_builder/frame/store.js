// Keeps the work in this browser between visits: IndexedDB, row by row, and a note in localStorage for the last moment.
// One tab writes at a time. Nothing is sent anywhere.

const NAME = "prompt_builder";
const LAST_WORDS = "prompt_builder.unsaved";
const SETTLE_MS = 150;
const RETRY_MS = 300; // a page that is being left lets go of its lock within this time

/** What the note says, null where there is none. A page opened from disk may be refused localStorage altogether. */
function readNote() {
  try {
    return localStorage.getItem(LAST_WORDS);
  } catch {
    return null;
  }
}

function dropNote() {
  try {
    localStorage.removeItem(LAST_WORDS);
  } catch {
    // there is none then
  }
}

const promised = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

const pause = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

const finished = (transaction) =>
  new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = transaction.onerror = () => reject(transaction.error);
  });

function open() {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("rows", { keyPath: "id" });
    request.result.createObjectStore("meta");
  };
  return promised(request);
}

export class Store {
  /** `report` hears "saving", "saved", "failed" or "elsewhere". */
  constructor(workspace, report) {
    this.workspace = workspace;
    this.report = report;
    this.saved = new Map();
    this.order = null;
    this.version = 0;
    this.timer = 0;
    this.writing = null;
    this.dirty = false;
    this.mine = false;
  }

  /** Read what an earlier visit left, then follow every change. */
  async start() {
    try {
      this.database = await open();
      await this.load();
      this.mine = (await this.claim(false)) || (await pause(RETRY_MS).then(() => this.claim(false)));
    } catch (error) {
      this.report("failed", error);
    }
    if (this.database && !this.mine) this.report("elsewhere");
    this.workspace.onChange((what) => {
      if (what !== "view") this.touch();
    });
    addEventListener("pagehide", () => this.leave());
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.leave();
    });
    addEventListener("beforeunload", (event) => {
      const unsaved = this.dirty || this.writing !== null;
      this.leave();
      if (unsaved && !this.noted) event.preventDefault();
    });
  }

  /** Become the tab that writes. With `steal`, another tab stops writing. */
  claim(steal) {
    if (!navigator.locks) return Promise.resolve(true);
    return new Promise((resolve) => {
      const hold = (lock) => {
        resolve(lock !== null);
        return lock === null ? undefined : new Promise(() => {});
      };
      navigator.locks.request(NAME, steal ? { steal } : { ifAvailable: true }, hold).catch(() => this.lose());
    });
  }

  /** Another tab has taken over: what it has not read yet is written at once. */
  async lose() {
    await this.flush();
    this.mine = false;
    this.report("elsewhere");
  }

  /** Become the tab that writes, with what the other tab kept; returns whether Undo now brings back rows of this tab. */
  async takeOver() {
    const { rows } = this.workspace;
    const changedHere = this.dirty;
    this.mine = await this.claim(true);
    await pause(RETRY_MS);
    await this.load();
    if (changedHere) this.workspace.past.push({ rows, label: "what the other tab kept" });
    this.dirty = false;
    this.report("saved");
    this.workspace.changed("view");
    return changedHere;
  }

  async load() {
    const reading = this.database.transaction(["rows", "meta"]);
    const [rows, state] = await Promise.all([
      promised(reading.objectStore("rows").getAll()),
      promised(reading.objectStore("meta").get("state")),
    ]);
    const found = withLastWords(rows, state ?? { order: [], settings: {}, version: 0, nextId: 1 });
    if (found.order.length === 0 && !state && !found.late) return;
    const byId = new Map(found.rows.map((row) => [row.id, Object.freeze(row)]));
    this.workspace.rows = Object.freeze(found.order.map((id) => byId.get(id)).filter(Boolean));
    this.workspace.nextId = Math.max(found.nextId, this.workspace.nextId);
    this.workspace.past = [];
    this.workspace.future = [];
    this.saved = found.late ? new Map(rows.map((row) => [row.id, null])) : new Map(byId);
    this.order = found.late ? null : this.workspace.rows;
    this.version = found.version;
    this.workspace.settings = Object.freeze({ ...this.workspace.settings, ...found.settings });
    this.workspace.changed("view");
    if (found.late) {
      this.dirty = true;
      this.touch();
    }
  }

  touch() {
    this.dirty = true;
    this.noted = false;
    if (!this.database || !this.mine) return;
    this.report("saving");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), SETTLE_MS);
  }

  /** Write what changed since the last write, in one transaction. */
  async flush() {
    clearTimeout(this.timer);
    if (this.writing) await this.writing.catch(() => {});
    if (!this.dirty || !this.mine) return;
    this.dirty = false;
    this.writing = this.write().then(
      () => this.settle(),
      (error) => this.fail(error),
    );
    await this.writing;
    this.writing = null;
  }

  settle() {
    if (this.dirty) return;
    dropNote();
    this.report("saved");
  }

  fail(error) {
    this.dirty = true;
    this.saved = new Map([...this.saved].map(([id]) => [id, null]));
    this.report("failed", error);
  }

  write() {
    const { put, gone } = this.difference();
    const writing = this.database.transaction(["rows", "meta"], "readwrite", { durability: "strict" });
    const rows = writing.objectStore("rows");
    for (const row of put) rows.put(row);
    for (const id of gone) rows.delete(id);
    this.version += 1;
    writing.objectStore("meta").put(this.state(), "state");
    this.saved = new Map(this.workspace.rows.map((row) => [row.id, row]));
    return finished(writing);
  }

  difference() {
    const now = new Set(this.workspace.rows.map((row) => row.id));
    return {
      put: this.workspace.rows.filter((row) => this.saved.get(row.id) !== row),
      gone: [...this.saved.keys()].filter((id) => !now.has(id)),
    };
  }

  state() {
    const { rows, settings, nextId } = this.workspace;
    return { order: rows.map((row) => row.id), settings, nextId, version: this.version };
  }

  /** The page may be gone in a moment: leave unsaved rows where writing takes effect at once, and start the real write. */
  leave() {
    if (!this.dirty && !this.writing) return;
    if (!this.mine) return;
    try {
      const put = this.writing ? this.workspace.rows : this.difference().put;
      const plain = put.map((row) => ({ ...row, bytes: row.bytes ? [...row.bytes] : null }));
      localStorage.setItem(LAST_WORDS, JSON.stringify({ put: plain, ...this.state() }));
      this.noted = true;
    } catch {
      this.noted = false; // too much for localStorage: the browser asks before it leaves
    }
    this.flush();
  }
}

function withLastWords(rows, state) {
  const note = readNote();
  const late = note ? JSON.parse(note) : null;
  if (!late || late.version < state.version) return { rows, ...state, late: false };
  const put = late.put.map((row) => ({ ...row, bytes: row.bytes ? new Uint8Array(row.bytes) : null }));
  const replaced = new Set(put.map((row) => row.id));
  return { ...late, rows: [...rows.filter((row) => !replaced.has(row.id)), ...put], late: true };
}
