// How a row shows in the table: its summary, its options in words, the fields that are the user's own.
import { FORM } from "../rules/values.js";
import { OPTIONS, RULES, dialectOf } from "../../../scripts/page/kit/rules.js";
import { inShort, lensOf, optionPath, summaryOf, valueAt } from "../rules/lens.js";

export const SAMPLED = 200; // rows looked at to choose the columns
const MOST_COLUMNS = 5;
export const SHOWN = 300; // characters of a cell
const SIGNS = Object.values(RULES.dialects).flatMap(({ asked }) => asked.flat());
const SHAPE = new Set([
  ...RULES.ownPrompts,
  ...SIGNS.map((sign) => sign.split(".")[0]),
  ...["system", "sampling_params", "id", "recordId"],
  ...OPTIONS.keys(),
]); // fields that are no user's own

/** List the fields of the first rows that are the user's own, the commonest first. */
export function ownFields(rows, most = MOST_COLUMNS) {
  const counts = new Map();
  for (const row of rows.slice(0, SAMPLED)) {
    for (const key of keysOf(row)) if (!SHAPE.has(key)) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, most)
    .map(([key]) => key);
}

/** List the names of a row's members, or none when it is broken. */
export function keysOf(row) {
  const parsed = parsedOf(row);
  return parsed ? Object.keys(parsed) : [];
}

/** Parse a row for showing; null when it is no object. */
export function parsedOf(row) {
  try {
    const value = JSON.parse(row.raw);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

const faces = new WeakMap();

/** Return how a row shows in the table; made once for each text. */
export function faceOf(row) {
  let face = faces.get(row);
  if (face) return face;
  const parsed = parsedOf(row);
  const dialect = parsed ? dialectOf(parsed) : "none";
  const lens = parsed ? lensOf(dialect, parsed) : null;
  const summary = parsed ? summaryOf(lens, parsed) : row.raw;
  const plain =
    lens?.prompt &&
    typeof valueAt(parsed, lens.prompt) === "string" &&
    !Array.isArray(valueAt(parsed, lens.messages ?? []));
  face = {
    dialect,
    prompt: plain ? JSON.stringify(lens.prompt) : null,
    idPath: lens ? JSON.stringify(lens.id) : null,
    kind: lens?.label ?? "Broken",
    summary: summary.slice(0, SHOWN),
    id: lens ? cellText(valueAt(parsed, lens.id)) : "",
    options: lens ? optionWords(lens, parsed) : "",
    images: /"image(?:_url)?"/.test(row.raw.slice(0, 20_000)),
  };
  faces.set(row, face);
  return face;
}

/** Write a value for a cell of the table. */
export function cellText(value) {
  if (value === undefined) return "";
  return (typeof value === "string" ? value : inShort(value)).slice(0, SHOWN);
}

function optionWords(lens, parsed) {
  const words = [];
  for (const option of FORM) {
    const value = valueAt(parsed, optionPath(lens, parsed, option));
    if (value === undefined || option.name === "model") continue;
    words.push(option.wide ? option.name : `${option.name} ${cellText(value)}`);
  }
  return words.join(" · ");
}
