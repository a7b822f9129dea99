// Comma- and tab-separated text as RFC 4180 has it: quoted fields may hold separators, line breaks and doubled quotes.
import { optionFault } from "../rules/values.js";
import { OPTIONS } from "../../../scripts/page/kit/rules.js";

/** Split `text` into records: {line, cells, error}. Lines count from 1; those of separators alone are left out. */
export function parseCsv(text, separator) {
  const records = [];
  const cursor = { at: 0, line: 1 };
  while (cursor.at < text.length) {
    const record = readRecord(text, separator, cursor);
    if (record.cells.some((cell) => cell !== "") || record.quoted) records.push(record);
  }
  return records;
}

function readRecord(text, separator, cursor) {
  const record = { line: cursor.line, cells: [], error: null, quoted: false };
  for (;;) {
    record.cells.push(
      text[cursor.at] === '"' ? readQuoted(text, separator, cursor, record) : readBare(text, separator, cursor),
    );
    if (text[cursor.at] !== separator) break;
    cursor.at += 1;
  }
  if (text[cursor.at] === "\r" && text[cursor.at + 1] === "\n") cursor.at += 1;
  if (cursor.at < text.length) {
    cursor.at += 1;
    cursor.line += 1;
  }
  return record;
}

function readBare(text, separator, cursor) {
  let end = cursor.at;
  while (end < text.length && text[end] !== separator && text[end] !== "\n" && text[end] !== "\r") end += 1;
  const cell = text.slice(cursor.at, end);
  cursor.at = end;
  return cell;
}

function readQuoted(text, separator, cursor, record) {
  const opened = cursor.line;
  let cell = "";
  record.quoted = true;
  for (let from = cursor.at + 1; ;) {
    const quote = text.indexOf('"', from);
    const piece = text.slice(from, quote < 0 ? text.length : quote);
    cell += piece;
    cursor.line += countBreaks(piece);
    if (quote < 0) {
      record.error =
        opened === record.line
          ? "a quote opened here is never closed"
          : `a quote opened in line ${opened} is never closed`;
      cursor.at = text.length;
      return cell;
    }
    cursor.at = quote + 1;
    if (text[cursor.at] !== '"') break;
    cell += '"';
    from = cursor.at + 1;
  }
  const rest = readBare(text, separator, cursor);
  if (rest) record.error = "text stands after a closing quote";
  return cell + rest;
}

function countBreaks(text) {
  let count = 0;
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) count += 1;
  return count;
}

/** Take off a first line `sep=;`, which names the separator: {separator, text, lines}. */
export function namedSeparator(text) {
  const named = /^"?sep=(.)"?[ \t]*(?:\r\n|\r|\n)/.exec(text);
  return named ? { separator: named[1], text: text.slice(named[0].length), lines: 1 } : { separator: null, text, lines: 0 };
}

/** Guess the separator from the first line: the commonest of tab, comma, semicolon and bar outside quotes. */
export function guessSeparator(text) {
  const counts = ["\t", ",", ";", "|"].map((separator) => {
    const cursor = { at: 0, line: 1 };
    return { separator, cells: text ? readRecord(text, separator, cursor).cells.length : 0 };
  });
  return counts.reduce((best, next) => (next.cells > best.cells ? next : best)).separator;
}

/** Turn records into rows of JSON text. `columns` is [{index, name}]; a record of another width gets a note. */
export function recordsToRows(records, columns, width) {
  return records.map((record) => {
    const wanted = columns.filter((column) => column.index < record.cells.length);
    const pairs = wanted.map((column) => [column.name, record.cells[column.index]]);
    for (let i = width; i < record.cells.length; i += 1) pairs.push([`column_${i + 1}`, record.cells[i]]);
    const wrong =
      record.cells.length !== width
        ? `${record.cells.length} field${record.cells.length === 1 ? "" : "s"} where ${width} are expected`
        : null;
    const members = pairs
      .filter(([name, cell]) => cell !== "" || !/^column_\d+$/.test(name)) // a column without a name that holds nothing
      .map(([name, cell]) => memberOf(name, cell))
      .filter((member) => member !== null);
    return { raw: `{${members.join(", ")}}`, line: record.line, note: record.error ?? wrong };
  });
}

/** Write a cell as a member: under a request option's name what that option takes, and nothing for an empty cell. */
function memberOf(name, cell) {
  const asText = `${JSON.stringify(name)}: ${JSON.stringify(cell)}`;
  if (!OPTIONS.has(name)) return asText;
  if (!cell.trim()) return null;
  const text = cell.trim();
  for (const meant of [text, text.toLowerCase(), text.replace(/^(-?\d+),(\d+)$/, "$1.$2")]) {
    try {
      if (optionFault(name, JSON.parse(meant), () => meant)) continue;
      return `${JSON.stringify(name)}: ${meant.replace(/[\r\n]+/g, " ")}`;
    } catch {
      // not JSON in this spelling
    }
  }
  return asText;
}

/** Name the columns: the header's cells, made unique, or column_1 and so on. */
export function columnNames(records, hasHeader) {
  const width = hasHeader
    ? (records[0]?.cells.length ?? 0)
    : Math.max(0, ...records.slice(0, 1000).map((r) => r.cells.length));
  const taken = new Set();
  return Array.from({ length: width }, (_, i) => {
    const base = (hasHeader ? records[0].cells[i].trim() : "") || `column_${i + 1}`;
    let name = base;
    for (let n = 2; taken.has(name); n += 1) name = `${base}_${n}`;
    taken.add(name);
    return name;
  });
}
