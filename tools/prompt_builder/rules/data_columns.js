// Columns that have an option's name and look like a user's own data, by the worker's signs (scripts/job/data_columns.py).
import { OPTIONS, RULES } from "../../../scripts/page/kit/rules.js";
import { inShort } from "./lens.js";
import { optionFault, shown } from "./values.js";

const LINES = 5; // that a note names

/** Tell whether a prompt row's options stand in its `sampling_params` alone. `job` is {template, options}. */
export const columnsAreData = (job) => Boolean(job.template) || job.options === "sampling_params";

/** List the columns of a parsed row that look like data. */
export const dataColumns = (row) => Object.keys(row).filter((name) => looksLikeData(name, row[name]));

function looksLikeData(name, value) {
  if (Object.hasOwn(RULES.dataSigns, name)) return hasSign(RULES.dataSigns[name], value);
  if (typeof value !== "string" || !OPTIONS.get(name)?.readBy.includes("chats")) return false;
  if (OPTIONS.get(name).takes.some(({ kind }) => kind === "string")) return false;
  return optionFault(name, value, () => JSON.stringify(value)) !== null;
}

function hasSign({ above, words, several }, value) {
  if (typeof value === "number") return above !== null && value > above;
  if (typeof value !== "string") return false;
  if (words) return value.split(/\s+/).filter(Boolean).length <= words && !isSentence(value.trimEnd());
  return several && /^[\p{L}\p{N}]/u.test(value) && value.trim().includes(" ");
}

const isSentence = (text) => RULES.sentenceEnds.some((end) => text.endsWith(end));

/** Count such columns over rows: [{name, count, lines, shown}], of which `lines` are the first few. */
export function countDataColumns(rows, checkOf) {
  const found = new Map();
  rows.forEach((row, i) => {
    for (const name of checkOf(row).data ?? []) {
      const known = found.get(name) ?? { name, count: 0, lines: [], shown: shown(inShort(valueOf(row, name))) };
      known.count += 1;
      if (known.lines.length < LINES) known.lines.push(i + 1);
      found.set(name, known);
    }
  });
  return [...found.values()];
}

const valueOf = (row, name) => JSON.parse(row.raw.replace(/^\ufeff/, ""))[name];
