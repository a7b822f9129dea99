// The rows of one run: a column of numbers for each thing to filter and sort by, the text to search, and a way back to each row.
import { BlockCache, EDGES } from "./blocks.js";
import { readRow } from "./dialects.js";
import { isSplit } from "./columns.js";
import { classesOf, kindOf } from "./kinds.js";
import { fieldsOf } from "./parts.js";
import { checksum, ownSum, searchBlock, searchText } from "./search.js";
import { breathe } from "../kit/dom.js";
import { asText } from "../kit/exact.js";
import { RULES } from "../kit/rules.js";

const KEEP_TEXT = 400e6; // characters of search text held; beyond it a search reads the blocks again
const SYSTEM = RULES.system;
const OTHERS = "(others)";
const MAX_NAMES = 5000; // different values of a column; the rest share one
const MAX_FIELDS = 24; // pass-through fields that become columns
const MAX_ANSWER_FIELDS = 64; // of the answers

/** Turns strings into small numbers. */
class Names {
  constructor() {
    this.list = [];
    this.known = new Map();
  }
  of(name) {
    let at = this.known.get(name);
    if (at === undefined && name !== OTHERS && this.list.length >= MAX_NAMES) return this.of(OTHERS);
    if (at === undefined) {
      this.known.set(name, (at = this.list.length));
      this.list.push(name);
    }
    return at;
  }
}

const NUMBERS = ["line", "block", "place", "tokensIn", "tokensOut", "length", "seconds", "started", "attempts", "sum"];
export const NAMES = ["status", "dialect", "endpoint", "finish", "code", "worker", "kind", "label"];

export class Store {
  /** `system` is the job's system prompt. */
  constructor(summary, system = "") {
    this.summary = summary || {};
    this.system = system;
    this.outputField = ((this.summary.parameters || {}).OutputField || "generated_text") + "";
    this.size = 0;
    this.complete = false;
    this.blocks = []; // {block, first, rows, text, starts}
    this.cache = new BlockCache();
    this.ids = [];
    this.tallies = new Map(); // column -> how often each name occurs, at a size
    this.fields = new Map(); // name -> column of short texts
    this.answers = new Map(); // the same of the fields of answers that are JSON objects
    this.texts = this.objects = 0; // answers with a text, and those that are JSON objects
    this.kept = 0;
    for (const name of NUMBERS) this[name] = new Float64Array(1024);
    for (const name of NAMES) {
      this[name] = new Uint16Array(1024);
      this[name + "Names"] = new Names();
    }
  }

  /** Read one block into the columns. */
  async add(block) {
    const data = await this.cache.get(block);
    const rows = data.spans.length / EDGES;
    const entry = { block, first: this.size, rows, text: null, starts: null };
    block.rows = rows;
    this.blocks.push(entry);
    const texts = [];
    for (let i = 0; i < rows; i++) {
      const view = viewAt(data, i, this);
      this.append(view, this.blocks.length - 1, i);
      texts.push(searchText(view));
    }
    this.keep(entry, texts);
  }

  /** Add one row to every column. */
  append(view, block, place) {
    if (this.size === this.line.length) this.grow();
    const at = this.size++;
    const values = {
      ...view,
      block,
      place,
      length: view.answers.reduce((sum, answer) => sum + (answer.text || "").length, 0),
      kind: kindOf(view),
    };
    values.sum = checksum(view, values.kind);
    for (const name of NUMBERS) this[name][at] = values[name] ?? NaN;
    values.code = view.error ? view.error.code : "";
    values.label =
      values.kind === "class"
        ? classesOf(view.body)
            .map((item) => item.label)
            .find(Boolean)
        : "";
    for (const name of NAMES) this[name][at] = this[name + "Names"].of(values[name] || "");
    this.ids[at] = view.id;
    for (const [name, value] of view.fields) put(this.fields, MAX_FIELDS, name, at, value);
    const text = view.answers[0]?.text;
    const fields = fieldsOf(text);
    if (text) this.texts++;
    if (fields) this.objects++;
    for (const [name, value] of fields || []) put(this.answers, MAX_ANSWER_FIELDS, name, at, value);
  }

  /** Whether answers are shown as columns. */
  get split() {
    return isSplit(this.texts, this.objects, this.answers.size);
  }

  /** A column of texts: of the rows' own fields, or of the answers'. */
  column(of, name) {
    return (of === "answer" ? this.answers : this.fields).get(name) || [];
  }

  grow() {
    for (const name of [...NUMBERS, ...NAMES]) {
      const larger = new this[name].constructor(this.size * 2);
      larger.set(this[name]);
      this[name] = larger;
    }
  }

  /** Hold the block's text for searching, while there is room. */
  keep(entry, texts) {
    entry.starts = new Uint32Array(texts.length + 1);
    texts.forEach((text, i) => (entry.starts[i + 1] = entry.starts[i] + text.length + 1));
    const text = texts.join("\0") + "\0";
    this.kept += text.length;
    if (this.kept <= KEEP_TEXT) entry.text = text;
  }

  /** One row as a view. */
  async view(at) {
    const data = await this.cache.get(this.blocks[this.block[at]].block);
    return viewAt(data, this.place[at], this);
  }

  /** One row's bytes: {output, input}. */
  async raw(at) {
    const data = await this.cache.get(this.blocks[this.block[at]].block);
    const [from, middle, end] = data.spans.subarray(this.place[at] * EDGES, this.place[at] * EDGES + 3);
    return { output: data.bytes.subarray(from, middle), input: data.bytes.subarray(middle, end) };
  }

  /** Fill the column `own`, by which rows are compared: what each asks and holds of its own. */
  async readOwn() {
    if (this.own) return;
    const own = new Float64Array(this.size);
    for (let at = 0; at < this.size; at++) {
      own[at] = ownSum(await this.view(at), this.outputField);
      if (at % 2000 === 1999) await breathe();
    }
    this.own = own;
  }

  name(column, at) {
    return this[column + "Names"].list[this[column][at]];
  }

  /** The first row with a name in a column, or -1. */
  first(column, name) {
    const wanted = this[column + "Names"].known.get(name);
    for (let at = 0; at < this.size; at++) if (this[column][at] === wanted) return at;
    return -1;
  }

  /** The row with this line number, or -1. */
  find(line) {
    for (let at = 0; at < this.size; at++) if (this.line[at] === line) return at;
    return -1;
  }

  /** Which rows hold all words: a byte a row. Blocks without held text are read again; `alive` says whether to go on. */
  async search(words, alive) {
    const hits = new Uint8Array(this.size);
    const [first, ...rest] = [...words].sort((a, b) => b.length - a.length); // the longest is likely to be the rarest
    for (const entry of this.blocks) {
      if (entry.text === null && !alive()) return null;
      searchBlock(entry, entry.text ?? (await this.textOf(entry)), first, rest, hits);
    }
    return hits;
  }

  async textOf(entry) {
    const data = await this.cache.get(entry.block);
    return (
      Array.from({ length: entry.rows }, (_, i) => searchText(viewAt(data, i, this))).join("\0") + "\0"
    );
  }
}

/** Put a value into the column of its name, while there are not too many columns. */
function put(columns, most, name, at, value) {
  let column = columns.get(name);
  if (!column) {
    if (columns.size >= most) return;
    columns.set(name, (column = []));
  }
  column[at] = value === null ? "" : asText(value).slice(0, Array.isArray(value) ? 400 : 120);
}

const decoder = new TextDecoder();

/** Put the job's system prompt before a conversation that has none of its own. */
function addSystem(view, system) {
  const has = view.turns.some(({ role }) => role === "system" || role === "developer" || SYSTEM.includes(role));
  if (system && !has && view.turns.length && RULES.generating.includes(view.endpoint))
    view.turns.unshift({ role: "system", text: system });
  return view;
}

function viewAt(data, i, { outputField, system }) {
  const meta = {};
  for (const name of ["line", "status", "dialect", "endpoint", "started", "seconds", "attempts", "worker"]) {
    if (data.columns[name]) meta[name] = data.columns[name][i];
  }
  const edges = data.spans.subarray(i * EDGES, (i + 1) * EDGES);
  const text = (n) => (edges[n + 1] > edges[n] ? decoder.decode(data.bytes.subarray(edges[n], edges[n + 1])) : "");
  return addSystem(readRow({ ...meta, sent: text(2) }, text(0), text(1), outputField), system);
}
