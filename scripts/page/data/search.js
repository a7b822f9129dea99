// The text of rows, for searching and for telling whether two answers differ.
import { partsOf } from "./parts.js";
import { asText, isNumber, toJson } from "../kit/exact.js";
import { RULES } from "../kit/rules.js";

const DEPTH = 12; // how far into nested values the search looks

/** Mark in `hits` the rows of a block that hold `first` and all of `rest`. */
export function searchBlock(entry, text, first, rest, hits) {
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

/** Everything readable in a row, in small letters: the values, not the names of their fields, and no vectors. */
export function searchText(view) {
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
export function checksum(view, kind) {
  const { body } = view;
  const text =
    kind === "text"
      ? view.answers
          .map((answer) => (answer.text || "") + (answer.toolCalls?.length ? JSON.stringify(answer.toolCalls) : ""))
          .join("\0")
      : view.error
        ? view.error.code
        : asText(body.results ?? body.data ?? body.embedding ?? body.score ?? body.scores ?? body.label);
  return digest(text);
}

/** A number that differs where rows differ in what they ask and hold of their own; NaN where a line does not tell. */
export function ownSum(view, outputField) {
  const { added = [] } = RULES.dialects[view.dialect] ?? {};
  if (view.dialect === "none" || (view.dialect !== "prompt" && !added.length && !view.input)) return NaN;
  if (view.input && view.dialect !== "prompt") return digest(toJson(view.asked ?? view.input));
  const own = partsOf(view).own.filter(([name]) => name !== outputField); // an answer alone tells no end of the own fields
  return digest(toJson(Object.fromEntries(own)));
}

function digest(text) {
  let sum = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
  return (sum >>> 0) * 0x100000 + (text.length & 0xfffff);
}
