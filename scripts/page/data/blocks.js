// Where rows come from: blocks inside this page, blocks inside another results.html, or pieces of an output.jsonl on disk.
// A block gives its bytes when asked and forgets them again; nothing here holds a whole file.
import { breathe } from "../kit/dom.js";

const CACHE_BYTES = 64e6; // of unpacked blocks kept for reading
const PIECE = 1 << 20; // bytes of an output.jsonl read at a time

/** Undo page_blocks.to_text: 7 bits a character; the first byte says how many zero bytes fill up the end. */
function fromText(text) {
  const out = new Uint8Array(Math.floor((text.length * 7) / 8));
  let bits = 0;
  let width = 0;
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code > 127) code = code === 0xc0 ? 0 : code === 0xc1 ? 13 : 60;
    bits = ((bits << 7) | code) & 0xffff;
    width += 7;
    if (width >= 8) {
      width -= 8;
      out[at++] = bits >> width;
    }
  }
  return out.slice(1, at - out[0]);
}

/** Unpack a zlib stream. */
async function inflate(packed) {
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  writer.write(packed).catch(() => {});
  writer.close().catch(() => {});
  const parts = [];
  const reader = stream.readable.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
  }
  return join(parts);
}

function join(parts) {
  if (parts.length === 1) return parts[0];
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A block of a results page: compressed bytes in memory. */
class PackedBlock {
  constructor(text) {
    this.packed = fromText(text);
  }
  /** Return {columns, bytes, at}: `at` is where the rows begin. */
  async load() {
    const all = await inflate(this.packed);
    const end = all.indexOf(10);
    const columns = JSON.parse(new TextDecoder().decode(all.subarray(0, end)));
    return { columns, bytes: all, spans: spans(columns, end + 1) };
  }
}

export const EDGES = 4; // of a row's parts: where its output begins, and where output, input and what was sent end

/** Where each row's parts lie, EDGES numbers a row. Pages of earlier releases do not say what was sent. */
function spans(columns, at) {
  const result = new Float64Array(columns.output.length * EDGES);
  columns.output.forEach((length, i) => {
    result[i * EDGES] = at;
    result[i * EDGES + 1] = at += length;
    result[i * EDGES + 2] = at += columns.input[i];
    result[i * EDGES + 3] = at += columns.sent?.[i] || 0;
  });
  return result;
}

/** A piece of an output.jsonl: bytes `from` to `to` of the file, whole lines; `line` is its first row's number. */
export class FileBlock {
  constructor(file, from, to, line) {
    Object.assign(this, { file, from, to, line });
  }
  async load() {
    const bytes = new Uint8Array(await this.file.slice(this.from, this.to).arrayBuffer());
    const ends = [];
    for (let at = 0; at < bytes.length;) {
      const end = bytes.indexOf(10, at);
      ends.push([at, end < 0 ? bytes.length : end]);
      at = end < 0 ? bytes.length : end + 1;
    }
    const kept = ends.filter(([start, end]) => end > start).flatMap(([start, end]) => [start, end, end, end]);
    const lines = Array.from({ length: kept.length / EDGES }, (_, i) => this.line + i);
    return { columns: { line: lines }, bytes, spans: Float64Array.from(kept) };
  }
}

/** Cut a file into blocks at line ends, reading a piece at a time. */
export async function* fileBlocks(file) {
  let from = 0;
  let line = 1;
  while (from < file.size) {
    let to = Math.min(from + PIECE, file.size);
    let bytes = new Uint8Array(await file.slice(from, to).arrayBuffer());
    while (to < file.size && bytes.lastIndexOf(10) < 0) {
      to = Math.min(to + PIECE * 4, file.size);
      bytes = new Uint8Array(await file.slice(from, to).arrayBuffer());
    }
    if (to < file.size) to = from + bytes.lastIndexOf(10) + 1;
    const block = new FileBlock(file, from, to, line);
    yield block;
    line += block.rows || 0; // known once it has been read
    from = to;
  }
}

const BLOCK_TAG = "<" + 'script type="application/octet-stream" class="block">'; // in two, so that it is found nowhere else
const BLOCK_END = "<" + "/script>";

/** The blocks of this page as the browser's parser comes to them; their elements go, to free memory. */
export async function* pageBlocks() {
  for (;;) {
    const node = document.querySelector("script.block");
    const loading = document.readyState === "loading";
    if (node && (node.nextSibling || !loading)) {
      yield new PackedBlock(node.textContent);
      node.remove();
    } else if (loading) await breathe();
    else return;
  }
}

/** The blocks of another results.html, found without running or rendering it. */
export async function* foreignBlocks(file) {
  const decoder = new TextDecoder();
  let rest = "";
  for (let from = 0; from < file.size; from += PIECE * 4) {
    rest += decoder.decode(await file.slice(from, from + PIECE * 4).arrayBuffer(), { stream: true });
    for (;;) {
      const start = rest.indexOf(BLOCK_TAG);
      const end = start < 0 ? -1 : rest.indexOf(BLOCK_END, start);
      if (end < 0) break;
      yield new PackedBlock(rest.slice(start + BLOCK_TAG.length, end));
      rest = rest.slice(end + BLOCK_END.length);
    }
    if (rest.indexOf(BLOCK_TAG) < 0) rest = rest.slice(-BLOCK_TAG.length);
  }
}

/** Keeps the unpacked blocks read last, up to CACHE_BYTES. */
export class BlockCache {
  constructor() {
    this.loaded = new Map();
    this.size = 0;
  }
  async get(block) {
    let entry = this.loaded.get(block);
    if (entry) this.loaded.delete(block);
    else entry = block.load().then((data) => ((this.size += data.bytes.length), (data.counted = true), data));
    this.loaded.set(block, entry);
    const data = await entry;
    for (const [old, promise] of this.loaded) {
      if (this.size < CACHE_BYTES || old === block) break;
      this.loaded.delete(old);
      promise.then((gone) => (this.size -= gone.bytes.length));
      await null;
    }
    return data;
  }
}
