// What the job accepts of a line and what it marks: the rules of the worker's scripts/rows/row.py and scripts/dialects/, in
// its words, tried against the same cases. Pure functions over text; a check never throws and never changes the line.
import { ASKS } from "./asks.js";
import { RowFault, fail } from "./checks.js";
import { columnsAreData, dataColumns } from "./data_columns.js";
import { doubledName } from "./doubled.js";
import { findFault } from "./jsonfault.js";
import { isObject } from "../../../scripts/page/kit/exact.js";
import { deeperThan, longWholeNumber } from "../../../scripts/page/kit/jsontext.js";
import { dialectOf } from "../../../scripts/page/kit/rules.js";

const DEEPEST = 900; // levels of nesting that every Python reads

/**
 * Check one line, not a blank one: {ok, dialect, code, message, data}. `job` is {template, endpoint, options}; `data` are
 * the columns that are taken for options and look like data. */
export function checkLine(line, job = {}) {
  const text = stripped(line);
  const result = { ok: true, dialect: "none", code: null, message: null, data: [] };
  try {
    const row = parse(text);
    result.dialect = dialectOf(row);
    if (result.dialect === "prompt" && !columnsAreData(job)) result.data = dataColumns(row);
    const twice = doubledName(text);
    if (twice) fail("doubled_name", `${twice} stands twice in one object, with two values; leave one of them out`);
    ASKS[result.dialect]({ row, text, job });
  } catch (fault) {
    if (!(fault instanceof RowFault)) throw fault;
    Object.assign(result, { ok: false, code: fault.code, message: fault.message });
  }
  return result;
}

/** Take off what is no part of a line: the byte-order mark, the carriage return. */
export function stripped(line) {
  const start = line.charCodeAt(0) === 0xfeff ? 1 : 0;
  return line.slice(start, line.endsWith("\r") ? -1 : undefined);
}

/** Tell whether a line counts as blank, which is no row. */
export const isBlank = (line) => /^\ufeff?[ \t\r]*$/.test(line);

function parse(text) {
  let row;
  try {
    row = JSON.parse(text);
  } catch {
    const { at, words } = findFault(text);
    fail("invalid_json", `not JSON: ${words}, at character ${at + 1}`);
  }
  if (deeperThan(text, DEEPEST)) fail("invalid_json", "the JSON is nested too deeply; flatten it");
  if (longWholeNumber(text)) fail("invalid_json", "not JSON: a whole number is too long");
  if (!isObject(row)) fail("not_an_object", `a row is a JSON object like {"prompt": "..."}, this is ${kindOf(row)}`);
  return row;
}

function kindOf(value) {
  if (Array.isArray(value)) return "an array";
  if (value === null) return "null";
  return typeof value === "string" ? "a string" : "a number or a constant";
}
