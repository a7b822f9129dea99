// Whether a value is one that an option takes. The options themselves are the worker's, out of the page's rules.
import { isObject } from "../../../scripts/page/kit/exact.js";
import { items } from "../../../scripts/page/kit/jsontext.js";
import { OPTIONS, RULES } from "../../../scripts/page/kit/rules.js";

/** The options that the form shows, in its order: what the worker knows of each, and how the form tells it. */
export const FORM = RULES.form.map((shown) => ({ takes: [{ kind: "string" }], ...OPTIONS.get(shown.name), ...shown }));

const isWholeText = (raw) => /^-?\d+$/.test(raw);

/** Tell whether a number lies within a kind's bounds; `read` makes it and them comparable. */
const isWithin = (number, { low, high, above }, read) =>
  (low === undefined || (above ? number > read(low) : number >= read(low))) &&
  (high === undefined || number <= read(high));

/** Tests by kind: (value, raw(), kind). `raw` gives the value's JSON text: 1 is a whole number, 1.0 is none. */
const TESTS = {
  integer: (v, raw, kind) =>
    typeof v === "number" && isWholeText(raw()) && isWithin(BigInt(raw()), kind, (bound) => BigInt(String(bound))),
  number: (v, raw, kind) =>
    typeof v === "number" && (Number.isFinite(v) || isWholeText(raw())) && isWithin(v, kind, Number),
  boolean: (v) => typeof v === "boolean",
  string: (v) => typeof v === "string",
  object: isObject,
  word: (v, raw, { word }) => v === word,
  list: (v, raw, { items: kind }) => Array.isArray(v) && areAll(v, raw, kind),
};

function areAll(list, raw, kind) {
  const texts = items(raw(), 0).map((item) => raw().slice(item.start, item.end));
  return list.every((item, i) => TESTS[kind](item, () => texts[i], {}));
}

/** Write JSON text for a message, cut short. */
export function shown(raw) {
  return raw.length > 60 ? `${raw.slice(0, 57)}...` : raw;
}

/** Say what is wrong with the value of an option, or return null. `raw` gives its JSON text; null means: not set. */
export function optionFault(name, value, raw, option = OPTIONS.get(name)) {
  if (!option || value === null || takes(option, value, raw)) return null;
  return `"${name}" must be ${option.must}, got ${shown(raw())}`;
}

/** Tell whether an option takes a value, or what a table may mean by it: 24 by 24.0, false by 0, a list by its JSON text. */
function takes(option, value, raw) {
  const test = (one, text) => option.takes.some((kind) => TESTS[kind.kind](one, text, kind));
  return test(value, raw) || meanings(value, raw).some(([meant, text]) => test(meant, () => text));
}

/** List what a table may mean by a value, as [value, JSON text]. */
function meanings(value, raw) {
  if (typeof value === "number") {
    const whole = Number.isInteger(value) && !isWholeText(raw()) ? [[value, String(BigInt(value))]] : [];
    return value === 0 || value === 1 ? [...whole, [value === 1, String(value === 1)]] : whole;
  }
  if (Array.isArray(value)) {
    const texts = items(raw(), 0).map((item) => raw().slice(item.start, item.end));
    const meant = value.map((item, i) => meanings(item, () => texts[i])[0] ?? [item, texts[i]]);
    return [[meant.map(([item]) => item), `[${meant.map(([, text]) => text).join(", ")}]`]];
  }
  return typeof value === "string" ? ofText(value) : [];
}

function ofText(text) {
  try {
    const read = JSON.parse(text);
    return [[read, text.trim()], ...(typeof read === "string" ? [] : meanings(read, () => text.trim()))];
  } catch {
    return [];
  }
}

/** Tell whether an endpoint reads an option; a name that is none here is for the server to judge. */
export function isRead(name, endpoint) {
  if (!OPTIONS.has(name)) return true;
  const route = RULES.endpoints[endpoint];
  const reader = RULES.chats.includes(route) ? "chats" : RULES.generating.includes(route) ? "completions" : "pooling";
  return OPTIONS.get(name).readBy.includes(reader);
}
