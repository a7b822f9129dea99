// The list of rows: only those on screen are in the document, whatever their number. It scrolls with the page.
import { answerCells } from "./columns.js";
import { classesOf, kindOf, ranksOf, vectorsOf } from "../data/kinds.js";
import { CUT } from "../data/query.js";
import { fieldsOf } from "../data/parts.js";
import { norm } from "../data/vectors.js";
import { byId, make, put } from "../kit/dom.js";
import { count, oneLine, short } from "../kit/words.js";
import { markHits } from "../text/hits.js";

const ROW = 64; // pixels; the style sheet has the same
const TALLEST = 12e6; // pixels a browser lays out exactly; beyond it the scroll bar is a scale
const SNIPPETS = 4000; // remembered

export class RowList {
  /** `host` is the list box; `source()` gives {store, rows, at, words, kind}; `open(position)` opens a row. */
  constructor(host, source, open) {
    Object.assign(this, { host, source, open });
    this.nodes = new Map();
    this.snippets = new Map();
    this.waiting = 0;
    addEventListener("scroll", () => this.soon(), { passive: true });
    addEventListener("resize", () => this.soon());
    host.addEventListener("click", (event) => {
      const row = event.target.closest("[role=option]");
      if (row) open(Number(row.dataset.position), true);
    });
  }

  /** Forget what is drawn: the rows, the order or the words have changed. */
  reset() {
    for (const node of this.nodes.values()) node.remove();
    this.nodes.clear();
    this.snippets.clear();
    const { rows } = this.source();
    this.height = Math.min(rows.length * ROW, TALLEST);
    this.host.style.height = `${Math.max(this.height, 1)}px`;
    this.draw();
  }

  soon() {
    if (!this.waiting) this.waiting = requestAnimationFrame(() => ((this.waiting = 0), this.draw()));
  }

  /** How many content pixels a scrolled pixel is. */
  scale() {
    const { rows } = this.source();
    const room = this.height - innerHeight;
    return room > 0 ? Math.max(1, (rows.length * ROW - innerHeight) / room) : 1;
  }

  scrolled() {
    return Math.min(Math.max(0, -this.host.getBoundingClientRect().top), Math.max(0, this.height - ROW));
  }

  /** Draw the rows on screen and drop the others. Does the same however often it is called. */
  draw() {
    const { store, rows, at } = this.source();
    const top = this.scrolled();
    const virtual = top * this.scale();
    const first = Math.max(0, Math.floor(virtual / ROW) - 6);
    const last = Math.min(rows.length - 1, Math.ceil((virtual + innerHeight) / ROW) + 6);
    const wanted = new Set();
    for (let position = first; position <= last; position++) {
      const row = rows[position];
      wanted.add(row);
      let node = this.nodes.get(row);
      if (!node) this.nodes.set(row, (node = this.make(store, row, position, rows.length)));
      node.style.transform = `translateY(${Math.round(top + position * ROW - virtual)}px)`;
      node.setAttribute("aria-selected", String(row === at));
    }
    for (const [row, node] of this.nodes) {
      if (wanted.has(row)) continue;
      node.remove();
      this.nodes.delete(row);
    }
    const active = this.nodes.get(at);
    if (active) this.host.setAttribute("aria-activedescendant", active.id);
    else this.host.removeAttribute("aria-activedescendant");
  }

  make(store, row, position, total) {
    const status = store.name("status", row);
    const texts = make("span", { class: "texts" });
    const node = make(
      "div",
      {
        class: `row ${status}`,
        role: "option",
        id: `option-${row}`,
        "aria-setsize": total,
        "aria-posinset": position + 1,
        "data-position": position,
        "data-line": store.line[row],
      },
      make("span", { class: "line" }, make("span", { class: `dot ${status}`, title: status }), String(store.line[row])),
      texts,
      rowMeta(store, row, this.source().kind),
    );
    this.host.append(node);
    this.describe(store, row, texts, node);
    return node;
  }

  async describe(store, row, texts) {
    const { words } = this.source();
    let snippet = this.snippets.get(row);
    if (!snippet) {
      const view = await store.view(row);
      snippet = { ...snippetOf(view, words), fields: view.error ? null : fieldsOf(view.answers[0]?.text) };
      if (this.snippets.size > SNIPPETS) this.snippets.clear();
      this.snippets.set(row, snippet);
    }
    put(
      texts,
      make("span", { class: "prompt", dir: "auto" }, snippet.prompt),
      snippet.fields && store.split
        ? answerCells(store, snippet.fields)
        : make("span", { class: `reply ${snippet.tone}`, dir: "auto" }, snippet.reply),
    );
    markHits(texts, words);
  }

  /** Bring a position into view, leaving room for the toolbar. */
  reveal(position, middle = false) {
    const top = this.host.getBoundingClientRect().top;
    const start = scrollY + top;
    const bar = stickyHeight();
    const place = position * ROW;
    const onScreen = Math.max(0, top) + place - this.scrolled() * this.scale();
    const scrollBy = (above) => scrollTo({ top: start + (place - above) / this.scale() });
    if (middle) scrollBy(innerHeight / 2);
    else if (onScreen < bar) scrollBy(bar + 4);
    else if (onScreen > innerHeight - ROW) scrollBy(innerHeight - ROW - 8);
    this.draw();
  }
}

/** How much of the screen's top the toolbar covers: nothing on a phone, where it scrolls away. */
export function stickyHeight() {
  return getComputedStyle(byId("toolbar")).position === "sticky" ? byId("toolbar").getBoundingClientRect().height : 0;
}

const KINDS = { "": "same", differs: "differs", changed: "row changed", here: "only here" };

function rowMeta(store, row, kindOf) {
  const kind = kindOf?.(row);
  const tokens = store.tokensOut[row] >= 0 ? store.tokensOut[row] : NaN;
  const finish = store.name("finish", row);
  return make(
    "span",
    { class: "rowmeta" },
    kindOf ? make("span", { class: `chip ${kind ? "warn" : ""}` }, KINDS[kind]) : null,
    CUT.includes(finish) ? make("span", { class: "chip warn", title: "Cut off at the token limit" }, "cut off") : null,
    store.name("status", row) !== "succeeded"
      ? make("span", { class: "chip bad" }, store.name("status", row))
      : Number.isFinite(tokens)
        ? make("span", { class: "muted", title: "Tokens out" }, `${short.format(tokens)} tok`)
        : null,
  );
}

/** Two lines that say what a row is about; a hit that lies further on is brought into them. */
export function snippetOf(view, words) {
  const asked = view.turns.filter((turn) => turn.role !== "system").map((turn) => turn.text);
  const prompt = around(
    asked[asked.length - 1] === undefined ? view.id : view.turns.length > 3 ? asked[asked.length - 1] : asked[0],
    words,
  );
  if (view.error)
    return {
      prompt: prompt || view.id || "(not a row)",
      reply: around(`${view.error.code}: ${view.error.message}`, words),
      tone: "bad",
    };
  return { prompt: prompt || view.id || "(no prompt)", reply: replyOf(view, words), tone: "" };
}

function replyOf(view, words) {
  const kind = kindOf(view);
  const [answer] = view.answers;
  if (answer)
    return around(
      answer.text ||
        answer.refusal ||
        (answer.toolCalls || []).map((call) => `${call.name}(${call.arguments})`).join(" ") ||
        answer.reasoning ||
        "(empty)",
      words,
    );
  if (kind === "embedding") {
    const [{ values } = { values: [] }] = vectorsOf(view.body);
    return `${count(values.length)} dimensions · norm ${norm(values).toFixed(3)}`;
  }
  if (kind === "rank")
    return ranksOf(view.body, view.turns)
      .slice(0, 3)
      .map((item) => `${item.score.toFixed(3)} ${item.text || "document " + item.index}`)
      .join(" · ")
      .slice(0, 240);
  if (kind === "class")
    return classesOf(view.body)
      .map((item) => item.label || "(no label)")
      .join(", ");
  return oneLine(view.output);
}

/** The start of a text in one line, or the place of the first hit. */
function around(text, words) {
  const lower = words.length ? text.slice(0, 200000).toLowerCase() : "";
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0);
  const place = places.length ? Math.min(...places) : 0;
  const plain = (part) => oneLine(part.slice(0, 600).replace(/\*\*|__|`+|^ {0,3}#{1,6} |^ {0,3}[>|] ?/gm, ""));
  return place > 80 ? `… ${plain(text.slice(place - 30))}` : plain(text);
}
