// The rows of one run: a column of numbers for each thing to filter and sort by, the text to search, and a way back to each row.

const KEEP_TEXT = 400e6; // characters of search text held; beyond it a search reads the blocks again
const OTHERS = "(others)";
const MAX_NAMES = 5000; // different values of a column; the rest share one
const MAX_FIELDS = 24; // pass-through fields that become columns
const DEPTH = 12; // how far into nested values the search looks

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
const NAMES = ["status", "dialect", "endpoint", "finish", "code", "worker", "kind", "label"];

class Store {
  constructor(summary) {
    this.summary = summary || {};
    this.outputField = ((this.summary.parameters || {}).OutputField || "generated_text") + "";
    this.size = 0;
    this.complete = false;
    this.blocks = []; // {block, first, rows, text, starts}
    this.cache = new BlockCache();
    this.ids = [];
    this.tallies = new Map(); // column -> how often each name occurs, at a size
    this.fields = new Map(); // name -> column of short texts
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
    const rows = data.spans.length / 3;
    const entry = { block, first: this.size, rows, text: null, starts: null };
    block.rows = rows;
    this.blocks.push(entry);
    const texts = [];
    for (let i = 0; i < rows; i++) {
      const view = viewAt(data, i, this.outputField);
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
    for (const [name, value] of view.fields) this.field(name, at, value);
  }

  field(name, at, value) {
    let column = this.fields.get(name);
    if (!column) {
      if (this.fields.size >= MAX_FIELDS) return;
      this.fields.set(name, (column = []));
    }
    column[at] = asText(value).slice(0, 120);
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
    return viewAt(data, this.place[at], this.outputField);
  }

  /** One row's bytes: {output, input}. */
  async raw(at) {
    const data = await this.cache.get(this.blocks[this.block[at]].block);
    const [from, middle, end] = data.spans.subarray(this.place[at] * 3, this.place[at] * 3 + 3);
    return { output: data.bytes.subarray(from, middle), input: data.bytes.subarray(middle, end) };
  }

  name(column, at) {
    return this[column + "Names"].list[this[column][at]];
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
      Array.from({ length: entry.rows }, (_, i) => searchText(viewAt(data, i, this.outputField))).join("\0") + "\0"
    );
  }
}

/** Mark in `hits` the rows of a block that hold `first` and all of `rest`. */
function searchBlock(entry, text, first, rest, hits) {
  const { starts } = entry;
  let row = 0;
  for (let at = text.indexOf(first); at >= 0; at = text.indexOf(first, starts[row])) {
    row = rowAt(starts, at, row);
    if (!rest.length || holdsAll(text.slice(starts[row], starts[row + 1]), rest)) hits[entry.first + row] = 1;
    if (++row >= entry.rows) break;
  }
}

const holdsAll = (text, words) => words.every((word) => text.includes(word));

/** The row whose text holds the place `at`; rows before `low` are ruled out. */
function rowAt(starts, at, low) {
  let high = starts.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle] <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

const decoder = new TextDecoder();

function viewAt(data, i, outputField) {
  const meta = {};
  for (const name of ["line", "status", "dialect", "endpoint", "started", "seconds", "attempts", "worker"]) {
    if (data.columns[name]) meta[name] = data.columns[name][i];
  }
  const [from, middle, end] = [data.spans[i * 3], data.spans[i * 3 + 1], data.spans[i * 3 + 2]];
  const input = end > middle ? decoder.decode(data.bytes.subarray(middle, end)) : "";
  return readRow(meta, decoder.decode(data.bytes.subarray(from, middle)), input, outputField);
}

/** Everything readable in a row, in small letters: the values, not the names of their fields, and no vectors. */
function searchText(view) {
  const out = [String(view.line), view.endpoint];
  for (const [text, value] of [
    [view.output, view.parsed],
    [view.input, view.asked],
  ]) {
    if (value === undefined) out.push(text);
    else gather(value, out, 0);
  }
  return out.join("\n").toLowerCase();
}

function tryPlain(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function gather(value, out, depth) {
  if (typeof value === "string") out.push(value);
  else if (isNumber(value) || typeof value === "boolean") out.push(String(value));
  else if (value === null || depth > DEPTH) return;
  else if (Array.isArray(value)) {
    if (value.length > 16 && typeof value[0] === "number") return;
    for (const item of value) gather(item, out, depth + 1);
  } else for (const key in value) gather(value[key], out, depth + 1);
}

/** A number that differs where answers differ (32 bits beside the length). */
function checksum(view, kind) {
  const { body } = view;
  const text =
    kind === "text"
      ? view.answers
          .map((answer) => (answer.text || "") + (answer.toolCalls?.length ? JSON.stringify(answer.toolCalls) : ""))
          .join("\0")
      : view.error
        ? view.error.code
        : asText(body.results ?? body.data ?? body.embedding ?? body.score ?? body.scores ?? body.label);
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  return (sum >>> 0) * 0x100000 + (text.length & 0xfffff);
}
