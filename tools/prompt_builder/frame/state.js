// The rows and their history. Rows are frozen objects in a frozen list: a change makes a new list, and undo puts the old one back.
// A row is {id, raw, note, bytes}: a number, one line of JSONL, what its import found odd, and its bytes where they are not UTF-8.
import { serverFault } from "../rules/doubts.js";
import { checkLine } from "../rules/rules.js";

const HISTORY_ROWS = 4_000_000; // row references kept for undo, about 32 MB
const TYPING_MS = 1_500; // changes of one field that come closer than this are one step of undo

export class Workspace {
  constructor() {
    this.rows = Object.freeze([]);
    this.settings = Object.freeze({
      name: "prompts.jsonl",
      template: "",
      byTemplate: false,
      output: "results",
      bundle: ".",
      model: "",
      endpoint: "auto",
      options: "columns",
      shell: "posix",
      schema: "",
    });
    this.past = [];
    this.future = [];
    this.nextId = 1;
    this.listeners = [];
    this.typing = { tag: null, at: 0 };
  }

  onChange(listener) {
    this.listeners.push(listener);
  }
  changed(what) {
    for (const listener of this.listeners) listener(what);
  }

  /** Make a row of JSON text; it joins the list when it is given to `commit`. */
  makeRow(raw, { note = null, bytes = null } = {}) {
    const row = Object.freeze({ id: this.nextId, raw, note, bytes });
    this.nextId += 1;
    return row;
  }

  /** Replace the list of rows. Changes with the same `tag` in quick succession are one step of undo. */
  commit(rows, label, tag = null) {
    const now = Date.now();
    const same = tag !== null && tag === this.typing.tag && now - this.typing.at < TYPING_MS;
    if (!same) this.past.push({ rows: this.rows, label });
    this.typing = { tag, at: now };
    this.future = [];
    this.rows = Object.freeze(rows);
    this.trim();
    this.changed("rows");
  }

  trim() {
    let kept = 0;
    const from = this.past.findLastIndex((entry) => (kept += entry.rows.length) > HISTORY_ROWS);
    if (from > 0) this.past.splice(0, from);
  }

  undo() {
    return this.step(this.past, this.future);
  }
  redo() {
    return this.step(this.future, this.past);
  }

  step(from, to) {
    const entry = from.pop();
    if (!entry) return null;
    to.push({ rows: this.rows, label: entry.label });
    this.rows = entry.rows;
    this.typing = { tag: null, at: 0 };
    this.changed("rows");
    return entry.label;
  }

  indexOf(id) {
    return this.rows.findIndex((row) => row.id === id);
  }

  /** Give the row `id` another text. */
  edit(id, raw, tag) {
    const at = this.indexOf(id);
    if (at < 0 || this.rows[at].raw === raw) return;
    const row = Object.freeze({ id, raw, note: null, bytes: null });
    this.commit(this.rows.with(at, row), "edit", tag === undefined ? null : `${id}:${tag}`);
  }

  add(rows, at, label) {
    this.commit([...this.rows.slice(0, at), ...rows, ...this.rows.slice(at)], label);
  }

  remove(ids) {
    this.commit(
      this.rows.filter((row) => !ids.has(row.id)),
      ids.size === 1 ? "delete" : `delete ${ids.size} rows`,
    );
  }

  /** Copy the rows of `ids`, each behind its original; returns the copies' ids. */
  duplicate(ids) {
    const copies = new Set();
    this.commit(
      this.rows.flatMap((row) => {
        if (!ids.has(row.id)) return [row];
        const copy = this.makeRow(row.raw, row);
        copies.add(copy.id);
        return [row, copy];
      }),
      "duplicate",
    );
    return copies;
  }

  /** Move the rows of `ids` together so that they stand before the row now at `target`. */
  moveTo(ids, target) {
    const stay = (row) => !ids.has(row.id);
    const before = this.rows.slice(0, target).filter(stay);
    const after = this.rows.slice(target).filter(stay);
    this.commit([...before, ...this.rows.filter((row) => ids.has(row.id)), ...after], "move");
  }

  /** Move the rows of `ids` one place up (-1) or down (1). */
  nudge(ids, by) {
    const spots = this.rows.map((row, i) => (ids.has(row.id) ? i : -1)).filter((i) => i >= 0);
    if (spots.length === 0) return;
    const target = by < 0 ? spots[0] - 1 : spots.at(-1) + 2;
    if (target >= 0 && target <= this.rows.length) this.moveTo(ids, target);
  }

  set(settings) {
    this.settings = Object.freeze({ ...this.settings, ...settings });
    this.changed("settings");
  }
}

let known = { settings: null, job: "", checks: new WeakMap() };

/** Check a row by the worker's rules, once for each text: {ok, dialect, code, message, data}. */
export function checkOf(row, settings) {
  if (known.settings !== settings) follow(settings);
  let check = known.checks.get(row);
  if (!check) {
    check = row.bytes ? NOT_UTF8 : checkRow(row.raw, known.rules);
    known.checks.set(row, check);
  }
  return check;
}

const NOT_UTF8 = {
  ok: false,
  dialect: "none",
  code: "invalid_utf8",
  message: "the line is not UTF-8; save the file as UTF-8",
};

/** Return what of the settings decides about rows. */
export const jobOf = ({ byTemplate, template, endpoint, options }) => ({
  template: byTemplate ? template : "",
  endpoint,
  options,
});

function follow(settings) {
  const rules = jobOf(settings);
  const job = JSON.stringify(rules);
  known = job === known.job ? { ...known, settings } : { settings, job, rules, checks: new WeakMap() };
}

function checkRow(raw, rules) {
  const check = checkLine(raw, rules);
  const doubt = check.ok ? serverFault(raw, check.dialect) : null;
  return doubt ? { ...check, ok: false, code: "refused_by_server", message: doubt } : check;
}

/** Count what the job would make of the rows: {dialects, bad}, the latter the places of the rows that would fail. */
export function survey(rows, settings) {
  const dialects = new Map();
  const bad = [];
  rows.forEach((row, i) => {
    const check = checkOf(row, settings);
    dialects.set(check.dialect, (dialects.get(check.dialect) ?? 0) + 1);
    if (!check.ok) bad.push(i);
  });
  return { dialects, bad };
}
