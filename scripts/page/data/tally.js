// What the columns of texts hold, counted: labels, numbers, lists of labels; and one column against another.
import { itemsOf } from "./query.js";

const MOST = 1000; // different names of a column that are counted
const FEW = 12; // so many different values are labels, whatever the rows
const MANY = 60; // and not more, however many rows
const BINS = 24;

/** Count a column: {kind, filled, counts, low, high}; kind is "labels", "numbers", "texts" or "" for an empty one. */
export function tallyColumn(store, of, name) {
  const key = `${of}:${name}`;
  const known = store.tallies.get(key);
  if (known && known.size === store.size) return known;
  const column = store.column(of, name);
  const found = { size: store.size, kind: "", filled: 0, low: Infinity, high: -Infinity, counts: [] };
  const counts = new Map();
  let numbers = 0;
  for (let at = 0; at < store.size; at++) {
    const text = column[at];
    if (!text) continue;
    found.filled++;
    const number = Number(text);
    if (Number.isFinite(number)) {
      numbers++;
      if (number < found.low) found.low = number;
      if (number > found.high) found.high = number;
    }
    for (const label of labelsOf(text))
      if (counts.size < MOST || counts.has(label)) counts.set(label, (counts.get(label) || 0) + 1);
  }
  found.counts = [...counts].sort((a, b) => b[1] - a[1]);
  found.kind = kindOf(found, numbers);
  store.tallies.set(key, found);
  return found;
}

function kindOf({ filled, counts }, numbers) {
  if (!filled) return "";
  if (counts.length <= FEW || (counts.length <= MANY && counts.length * 3 <= filled)) return "labels";
  return numbers * 10 >= filled * 9 ? "numbers" : "texts";
}

/** The labels that a cell holds: the items of a list, or its text. */
function labelsOf(text) {
  const items = itemsOf(text);
  return items.length ? new Set(items) : text === "[]" ? [] : [text];
}

/** A column's numbers in bins of one round width: [{from, to, n}], each from its `from` to below its `to`. */
export function numberBins(store, of, name) {
  const { low, high } = tallyColumn(store, of, name);
  const raw = (high - low) / BINS || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw);
  const first = Math.floor(low / step);
  const edge = (n) => Number(((first + n) * step).toPrecision(12));
  const bins = Array.from({ length: Math.floor(high / step) - first + 1 }, (_, n) => ({ from: edge(n), to: edge(n + 1), n: 0 }));
  const column = store.column(of, name);
  for (let at = 0; at < store.size; at++) {
    const value = column[at] ? Number(column[at]) : NaN;
    if (Number.isFinite(value)) bins[Math.min(bins.length - 1, Math.max(0, Math.floor(value / step) - first))].n++;
  }
  return bins;
}

/** The labels of counts: numbers by their size, others as they come, the commonest first. */
function inOrder(counts) {
  const labels = counts.map(([label]) => label);
  return labels.every((label) => label !== "" && Number.isFinite(Number(label))) ? labels.sort((a, b) => a - b) : labels;
}

/** Count one column's labels against another's: {rows, columns, counts}; the commonest of each, `counts[row][column]`. */
export function crossColumns(store, one, other, most = 10) {
  const names = [one, other].map(([of, name]) => inOrder(tallyColumn(store, of, name).counts.slice(0, most)));
  const [rows, columns] = names;
  const [rowOf, columnOf] = names.map((list) => new Map(list.map((label, n) => [label, n])));
  const [left, right] = [one, other].map(([of, name]) => store.column(of, name));
  const counts = rows.map(() => new Array(columns.length).fill(0));
  for (let at = 0; at < store.size; at++) {
    if (!left[at] || !right[at]) continue;
    for (const a of labelsOf(left[at])) {
      const row = counts[rowOf.get(a)];
      if (row) for (const b of labelsOf(right[at])) if (columnOf.has(b)) row[columnOf.get(b)]++;
    }
  }
  return { rows, columns, counts };
}
