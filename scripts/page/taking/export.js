// Taking rows along: JSONL byte for byte, CSV that no spreadsheet runs, failed lines to submit again.
import { Census, cellsOf, planColumns } from "../data/columns.js";
import { asText } from "../kit/exact.js";
import { remove } from "../kit/jsontext.js";
import { RULES } from "../kit/rules.js";
import { count, plural } from "../kit/words.js";
import { save, say } from "../views/toast.js";

const NEWLINE = Uint8Array.of(10);

/** Save rows as JSONL, each line as the job wrote it. */
export async function exportJsonl(store, rows, name = "rows.jsonl") {
  const parts = [];
  for (const at of rows) parts.push((await store.raw(at)).output.slice(), NEWLINE);
  save(name, "application/x-ndjson", parts);
}

const LARGEST = 32767; // characters of a cell in Excel and its kin
const FORMULA = /^[\s\0"']*[=+\-@\uff0b\uff0d\uff1d\uff20|%]|^[\t\r\n]/;
const NUMBER = /^[\s"']*[-+]?[0-9]+([.,][0-9]+)*([eE][-+]?[0-9]+)?\s*%?[\s"']*$/;

/** A CSV cell; what a spreadsheet would take for a formula gets an apostrophe in front, controls show as their pictures. */
function csvCell(value) {
  const plain = value === null ? "" : asText(value);
  const live = typeof value === "string" && FORMULA.test(plain) && !NUMBER.test(plain);
  const text = cut((live ? "'" : "") + show(plain));
  return /[",\r\n']/.test(text) || text !== text.trim() ? `"${text.replace(/"/g, '""')}"` : text;
}

const show = (text) =>
  text
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, (letter) => String.fromCharCode(0x2400 + letter.charCodeAt(0)))
    .replaceAll("\x7f", "\u2421");

/** A text that fits a spreadsheet's cell; one that was cut says so. */
function cut(text) {
  if (text.length <= LARGEST) return text;
  const mark = `... (cut; ${count([...text].length)} characters)`;
  return text.slice(0, LARGEST - mark.length) + mark;
}

/** What this page knows of a row beyond its line. */
const BEYOND = ["line", "status", "endpoint", "seconds", "attempts", "worker"];

/** Save rows as CSV: the columns of to_table.py with its details, then what this page knows besides. */
export async function exportCsv(store, rows) {
  const census = new Census();
  for (const at of rows) census.add(await store.view(at));
  const columns = planColumns(census);
  const beyond = BEYOND.filter((name) => !columns.some(({ heading }) => heading === name));
  const line = (cells) => cells.map(csvCell).join(",") + "\r\n";
  const parts = ["\ufeff" + line([...columns.map(({ heading }) => heading), ...beyond])];
  for (const at of rows) {
    const view = await store.view(at);
    parts.push(line([...cellsOf(view, columns, census.split), ...beyond.map((name) => view[name])]));
  }
  save("rows.csv", "text/csv;charset=utf-8", parts);
}

/** The input line of a failed row as bytes, or null where the page does not have it. */
function inputLine(view, raw) {
  if (raw.input.length) return raw.input.slice();
  const added = RULES.dialects[view.dialect]?.added ?? []; // members that a result adds to its line
  if (!added.length) return null;
  return new TextEncoder().encode(added.reduce((text, name) => remove(text, [name]), view.output));
}

/** Save the failed rows' input lines as retry.jsonl. */
export async function exportRetry(store) {
  const parts = [];
  let unknown = 0;
  for (let at = 0; at < store.size; at++) {
    if (store.name("status", at) === "succeeded") continue;
    const line = inputLine(await store.view(at), await store.raw(at));
    if (line) parts.push(line, NEWLINE);
    else unknown++;
  }
  save("retry.jsonl", "application/x-ndjson", parts);
  if (unknown) say(`${plural(unknown, "line")} could not be told from the page: use the job's own retry.jsonl`);
}
