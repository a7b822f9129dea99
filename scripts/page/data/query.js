// What is shown: a filter that lives in the address, and the order of the rows. Pure functions over a store.
import { tryPlain } from "../kit/exact.js";
import { RULES } from "../kit/rules.js";
import { NAMES } from "./store.js";

export const SORTS = [
  ["line", "Line"],
  ["tokensOut", "Tokens out"],
  ["tokensIn", "Tokens in"],
  ["length", "Answer length"],
  ["seconds", "Latency"],
  ["started", "Start time"],
  ["attempts", "Attempts"],
  ["status", "Status"],
  ["finish", "Finish reason"],
];
export const CHOICES = ["status", "finish", "endpoint", "code", "kind", "dialect", "worker", "label"];
export const RANGES = ["tokensOut", "tokensIn", "length", "seconds"];

/** How a filter of a row's own field, or of its answer's, stands in the address: [of, how, part]. */
const FIELD_PARTS = ["field", "answer"].flatMap((of) => [
  [of, "holds", of],
  ...["is", "min", "below"].map((how) => [of, how, `${of}.${how}`]),
]);

/** A filter that lets everything through. */
export const emptyQuery = () => ({ q: "", fields: [], sort: "line", down: false, compare: "" });

/** Read `#q=...&status=failed&row=17`; unknown parts are ignored. */
export function parseHash(hash) {
  const query = emptyQuery();
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  query.q = parts.get("q") || "";
  for (const name of CHOICES) if (parts.has(name)) query[name] = new Set(parts.getAll(name));
  for (const name of RANGES) {
    for (const end of ["min", "max"]) {
      const value = parseFloat(parts.get(`${name}.${end}`));
      if (Number.isFinite(value)) query[`${name}.${end}`] = value;
    }
  }
  for (const [of, how, part] of FIELD_PARTS)
    for (const value of parts.getAll(part)) {
      const [name, ...rest] = value.split("=");
      query.fields.push({ of, how, name, value: rest.join("=") });
    }
  const same = parseInt(parts.get("same"), 10);
  if (Number.isFinite(same)) query.same = same;
  const sort = parts.get("sort") || "line";
  query.down = sort.startsWith("-");
  query.sort = sort.replace(/^-/, "");
  const row = parseInt(parts.get("row"), 10);
  return { query, row: Number.isFinite(row) ? row : null };
}

/** The address of a filter and a row. */
export function formatHash(query, row) {
  const parts = new URLSearchParams();
  if (query.q) parts.set("q", query.q);
  for (const name of CHOICES) for (const value of query[name] || []) parts.append(name, value);
  for (const name of RANGES) {
    for (const end of ["min", "max"])
      if (query[`${name}.${end}`] !== undefined) parts.set(`${name}.${end}`, query[`${name}.${end}`]);
  }
  for (const { of = "field", how = "holds", name, value } of query.fields)
    parts.append(FIELD_PARTS.find((part) => part[0] === of && part[1] === how)[2], `${name}=${value}`);
  if (query.same !== undefined) parts.set("same", query.same);
  if (query.sort !== "line" || query.down) parts.set("sort", (query.down ? "-" : "") + query.sort);
  if (row !== null) parts.set("row", row);
  return `#${parts}`;
}

/** The words of a search: "in quotes" is one word; small letters. */
export function wordsOf(q) {
  return [...q.toLowerCase().matchAll(/"([^"]+)"|(\S+)/g)]
    .map((match) => match[1] || match[2])
    .filter((word) => word !== '"');
}

/** Whether the query lets every row through. */
export const isOpen = (query) =>
  !query.q &&
  !query.fields.length &&
  !query.compare &&
  query.same === undefined &&
  !CHOICES.some((name) => query[name]) &&
  !RANGES.some((name) => `${name}.min` in query || `${name}.max` in query);

/** One test for each part of the filter but the search. */
function testsOf(store, query) {
  const tests = [];
  for (const name of CHOICES) {
    if (!query[name]) continue;
    const wanted = store[name + "Names"].list.map((value) => query[name].has(value));
    const column = store[name];
    tests.push((at) => wanted[column[at]]);
  }
  for (const name of RANGES) {
    const [low, high] = [query[`${name}.min`], query[`${name}.max`]];
    if (low !== undefined) tests.push((at) => store[name][at] >= low);
    if (high !== undefined) tests.push((at) => store[name][at] <= high);
  }
  for (const field of query.fields) tests.push(fieldTest(store, field));
  if (query.same !== undefined) {
    const sum = store.sum[store.find(query.same)];
    tests.push((at) => store.sum[at] === sum);
  }
  return tests;
}

/** The test of one filter on a field: it holds a text, is one, or is a number within bounds. */
function fieldTest(store, { of, how = "holds", name, value }) {
  const column = store.column(of, name);
  const wanted = value.toLowerCase();
  const number = Number(value);
  if (how === "is") return (at) => column[at] === value || itemsOf(column[at]).includes(value);
  if (how === "min") return (at) => Boolean(column[at]) && Number(column[at]) >= number;
  if (how === "below") return (at) => Boolean(column[at]) && Number(column[at]) < number;
  if (wanted === "") return (at) => column[at] !== undefined;
  return (at) => column[at] !== undefined && column[at].toLowerCase().includes(wanted);
}

/** The items of a list of texts that a cell holds. */
export function itemsOf(text) {
  const list = text?.startsWith("[") ? tryPlain(text) : undefined;
  return Array.isArray(list) ? list.filter((item) => typeof item === "string") : [];
}

/** The rows that pass, in order; null when `alive` says that a newer query has come. `extra` tests what comparing adds. */
export async function runQuery(store, query, alive, extra) {
  const words = wordsOf(query.q);
  const hits = words.length ? await store.search(words, alive) : null;
  if (words.length && !hits) return null;
  const tests = testsOf(store, query);
  if (extra) tests.push(extra);
  const rows = new Uint32Array(store.size);
  let n = 0;
  for (let at = 0; at < store.size; at++) {
    if (hits && !hits[at]) continue;
    if (tests.every((test) => test(at))) rows[n++] = at;
  }
  return sortRows(store, query, rows.subarray(0, n));
}

/** Sort in place; equal rows, and rows without the value, stay in the order of their lines. */
function sortRows(store, query, rows) {
  const { line } = store;
  const sign = query.down ? -1 : 1;
  const byLine = (a, b) => line[a] - line[b];
  const [, of, name] = /^(field|answer):([^]*)$/.exec(query.sort) || [];
  const field = of ? store.column(of, name) : null;
  if (query.sort === "line") {
    let sorted = true;
    for (let i = 1; i < rows.length && sorted; i++) sorted = line[rows[i - 1]] <= line[rows[i]];
    if (!sorted) rows.sort(byLine);
    return query.down ? rows.reverse() : rows;
  }
  const value = field
    ? (at) => field[at] || undefined
    : NAMES.includes(query.sort)
      ? (at) => store.name(query.sort, at) || undefined
      : (at) => store[query.sort]?.[at];
  return rows.sort((a, b) => compareValues(value(a), value(b)) * sign || gaps(value(a), value(b)) || byLine(a, b));
}

const absent = (value) => value === undefined || value !== value;
const gaps = (a, b) => absent(a) - absent(b);

function compareValues(a, b) {
  if (absent(a) || absent(b)) return 0;
  if (typeof a === "string" && a !== "" && b !== "" && !isNaN(a) && !isNaN(b)) return a - b;
  return a < b ? -1 : a > b ? 1 : 0;
}

export const CUT = RULES.cutOff; // finish reasons of answers that were cut off

/** How often each name of a column occurs, most first: [[name, rows]]. */
export function tallyNames(store, column) {
  const known = store.tallies.get(column);
  if (known && known.size === store.size) return known.counts;
  const sums = new Array(store[column + "Names"].list.length).fill(0);
  for (let at = 0; at < store.size; at++) sums[store[column][at]]++;
  const named = sums.map((n, i) => [store[column + "Names"].list[i], n]);
  const counts = named.filter(([, n]) => n).sort((a, b) => b[1] - a[1]);
  store.tallies.set(column, { size: store.size, counts });
  return counts;
}
