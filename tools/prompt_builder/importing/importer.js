// Turns text in any supported form into rows of JSON text. Pure: nothing is read or kept here.
// A part is {raw, line, note, bytes}: one line of JSONL, where it stood, what was odd, and its bytes when they are not UTF-8.
import { columnNames, guessSeparator, namedSeparator, parseCsv, recordsToRows } from "./csv.js";
import { items, onOneLine, skipSpace, valueEnd } from "../../../scripts/page/kit/jsontext.js";
import { findFault } from "../rules/jsonfault.js";
import { isBlank, stripped } from "../rules/rules.js";

export const FORMATS = [
  { value: "jsonl", label: "JSONL: one JSON object a line" },
  { value: "array", label: "JSON array, or one JSON object" },
  { value: "csv", label: "CSV: comma-separated columns" },
  { value: "tsv", label: "TSV: tab-separated columns" },
  { value: "lines", label: "Plain text: one prompt a line" },
  { value: "documents", label: "Text documents: one row a file" },
];

const BY_ENDING = { jsonl: "jsonl", ndjson: "jsonl", csv: "csv", tsv: "tsv", tab: "tsv", txt: "lines", md: "lines" };

const DOCUMENT = /\.(txt|text|md|markdown)$/i;

/** Guess the format from the files' names and from how the text begins. */
export function guessFormat(text, name = "", documents = []) {
  if (documents.length > 1 && documents.every((each) => DOCUMENT.test(each.name))) return "documents";
  if (documents.length === 1 && /\.(md|markdown)$/i.test(documents[0].name)) return "documents";
  const ending = /\.([a-z]+)(?:\.gz)?$/i.exec(name)?.[1].toLowerCase();
  const start = text.slice(0, 100_000).trimStart();
  if (start.startsWith("[")) return isJsonLine(start) && /\n\s*\S/.test(start) ? "jsonl" : "array";
  if (start.startsWith("{")) return isPretty(start) ? "array" : "jsonl";
  if (BY_ENDING[ending] && BY_ENDING[ending] !== "lines") return BY_ENDING[ending];
  if (BY_ENDING[ending]) return looksTabular(start, "\t") ? "tsv" : "lines";
  if (/^"?sep=.("|\s)/.test(start)) return "csv";
  return looksTabular(start, "\t") ? "tsv" : looksTabular(start, ",") ? "csv" : "lines";
}

function isJsonLine(text) {
  try {
    JSON.parse(text.split("\n", 1)[0]);
    return true;
  } catch {
    return false;
  }
}

const isPretty = (text) => /^\{\s*\n\s*"/.test(text) && !isJsonLine(text);

function looksTabular(text, separator) {
  const records = parseCsv(text, separator).slice(0, 20);
  if (records.length < 2 || records[0].cells.length < 2) return false;
  const width = records[0].cells.length;
  return (
    records.slice(0, -1).every((r) => r.cells.length === width && !r.error) &&
    records[0].cells.every((c) => c.trim().length < 60)
  );
}

/** Read text as `format`: {parts, blank, columns}. `options` chooses separator, header and columns for tables. */
export function readText(text, format, options = {}) {
  if (format === "array") return readArray(text);
  if (format === "documents") return readDocuments(options.documents?.length ? options.documents : [{ name: "", text }]);
  if (format === "csv" || format === "tsv") return readTable(text, format, options);
  return format === "lines" ? readLines(text) : readJsonl(text);
}

function readJsonl(text) {
  const parts = [];
  let blank = 0;
  text.split("\n").forEach((piece, i, all) => {
    const raw = stripped(piece);
    if (!isBlank(raw)) parts.push({ raw, line: i + 1, note: null });
    else if (i < all.length - 1 || raw !== "") blank += 1;
  });
  return { parts, blank, columns: [] };
}

function readLines(text) {
  const read = readJsonl(text);
  read.parts = read.parts.map((part) => ({ ...part, raw: `{"prompt": ${JSON.stringify(part.raw)}}` }));
  return read;
}

/** Make a row of each document: its name and its text. */
function readDocuments(documents) {
  const found = documents
    .map(({ name, text }, i) => ({ name, text: stripped(text).replace(/\r\n/g, "\n").replace(/\n+$/, ""), line: i + 1 }))
    .filter(({ text }) => text.trim() !== "");
  const parts = found.map(({ name, text, line }) => {
    const row = name ? { file: name, text } : { text };
    return { raw: JSON.stringify(row), line, note: null };
  });
  return { parts, blank: documents.length - parts.length, columns: [] };
}

function readTable(text, format, { separator, header = true, chosen = null }) {
  const named = namedSeparator(stripped(text));
  const wanted = separator ?? named.separator ?? (format === "tsv" ? "\t" : guessSeparator(named.text));
  const records = parseCsv(named.text, wanted).map((record) => ({ ...record, line: record.line + named.lines }));
  const columns = columnNames(records, header);
  const picks = chosen ?? columns.map((name, index) => ({ index, name }));
  const parts = recordsToRows(header ? records.slice(1) : records, picks, columns.length);
  return { parts, blank: 0, columns };
}

function readArray(text) {
  const parts = [];
  const start = skipSpace(text, text.charCodeAt(0) === 0xfeff ? 1 : 0);
  const spans = text[start] === "[" ? items(text, start) : [{ start, end: valueEnd(text, start) }];
  const lines = lineCounter(text);
  for (const span of spans) {
    const piece = text.slice(span.start, span.end);
    parts.push({ raw: onOneLine(piece).replace(/[\r\n]+/g, " "), line: lines(span.start), note: brokenJson(piece) });
  }
  const rest = restOfArray(text, start, spans);
  if (rest)
    parts.push({
      raw: rest.text.replace(/\s*[\r\n]+\s*/g, " "),
      line: lines(rest.at),
      note: "the array breaks off here",
    });
  return { parts, blank: 0, columns: [] };
}

function brokenJson(piece) {
  try {
    JSON.parse(piece);
    return null;
  } catch {
    return `not JSON: ${findFault(piece).words}`;
  }
}

function restOfArray(text, start, spans) {
  const last = spans.at(-1)?.end ?? start + 1;
  const close = skipSpace(text, last);
  const at = skipSpace(text, text[start] === "[" && text[close] === "]" ? close + 1 : close);
  const left = text.slice(at).trim();
  return left ? { at, text: left } : null;
}

function lineCounter(text) {
  let [at, line] = [0, 1];
  return (offset) => {
    for (let i = text.indexOf("\n", at); i >= 0 && i < offset; i = text.indexOf("\n", i + 1)) {
      line += 1;
      at = i + 1;
    }
    return line;
  };
}

/**
 * Decode a file's bytes: {text, note, badLines}. Lines that are not UTF-8 are kept as
 * bytes by their number; `western` is the whole text read as Windows-1252, which spreadsheets write. */
export function decodeBytes(bytes) {
  if (bytes[0] === 0xff && bytes[1] === 0xfe)
    return { text: new TextDecoder("utf-16le").decode(bytes), note: "UTF-16 text was turned into UTF-8." };
  if (bytes[0] === 0xfe && bytes[1] === 0xff)
    return { text: new TextDecoder("utf-16be").decode(bytes), note: "UTF-16 text was turned into UTF-8." };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes), note: null, badLines: new Map() };
  } catch {
    return {
      text: new TextDecoder("utf-8").decode(bytes),
      note: null,
      badLines: badLines(bytes),
      western: new TextDecoder("windows-1252").decode(bytes),
    };
  }
}

function badLines(bytes) {
  const found = new Map();
  const strict = new TextDecoder("utf-8", { fatal: true });
  for (let start = 0, line = 1; start <= bytes.length; line += 1) {
    const end = bytes.indexOf(10, start);
    const piece = bytes.subarray(start, end < 0 ? bytes.length : end);
    try {
      strict.decode(piece);
    } catch {
      found.set(line, piece.slice());
    }
    if (end < 0) break;
    start = end + 1;
  }
  return found;
}
