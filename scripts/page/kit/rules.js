// The worker's rules as data: options, routes, marks, defaults. Python writes them into the page (scripts/page/rules.py).
import { byId } from "./dom.js";
import { isObject, parseJson } from "./exact.js";

export const RULES = parseJson(byId("rules").textContent);

/** The options that the worker knows, by name: {must, takes, readBy}. */
export const OPTIONS = new Map(Object.entries(RULES.options));

/** Tell the dialect of a row that is to be asked: a prompt row is what no other claims. */
export const dialectOf = (row) => tell((marks) => fits(row, marks.asked) && !fits(row, marks.unless)) ?? "prompt";

/** Tell the dialect of an output line, or null where no mark says it. */
export const answeredDialect = (row) => tell((marks) => fits(row, marks.answered));

const tell = (test) => Object.entries(RULES.dialects).find(([, marks]) => test(marks))?.[0] ?? null;

/** Tell whether a row has all signs of one of the alternatives; the worker's scripts/dialects/marks.py says what a sign is. */
const fits = (row, alternatives) => alternatives.some((signs) => signs.every((sign) => hasSign(row, sign)));

function hasSign(row, sign) {
  const [field, inner] = sign.split(".");
  if (inner !== undefined) return Object.hasOwn(row, field) && isObject(row[field]) && Object.hasOwn(row[field], inner);
  const [name, value] = sign.split("=");
  return Object.hasOwn(row, name) && (value === undefined || row[name] === value);
}
