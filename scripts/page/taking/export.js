// Taking rows along: JSONL byte for byte, CSV that no spreadsheet runs, failed lines to submit again.
import { resultText } from "../data/kinds.js";
import { asText } from "../kit/exact.js";
import { remove } from "../kit/jsontext.js";
import { RULES } from "../kit/rules.js";
import { plural } from "../kit/words.js";
import { save, say } from "../views/toast.js";

const NEWLINE = Uint8Array.of(10);

/** Save rows as JSONL, each line as the job wrote it. */
export async function exportJsonl(store, rows, name = "rows.jsonl") {
  const parts = [];
  for (const at of rows) parts.push((await store.raw(at)).output.slice(), NEWLINE);
  save(name, "application/x-ndjson", parts);
}

/** A CSV cell; what a spreadsheet would take for a formula gets an apostrophe in front. */
function csvCell(value) {
  let text = asText(value ?? "");
  if (
    typeof value !== "number" &&
    /^[\s\0"']*[=+\-@\uff0b\uff0d\uff1d\uff20|%]|^[\t\r\n]/.test(text) &&
    !/^-?[0-9]+(\.[0-9]+)?$/.test(text)
  )
    text = `'${text}`;
  return /[",\r\n']/.test(text) || text !== text.trim() ? `"${text.replace(/"/g, '""')}"` : text;
}

const CSV_COLUMNS = {
  line: (view) => view.line,
  id: (view) => view.id,
  status: (view) => view.status,
  endpoint: (view) => view.endpoint,
  finish_reason: (view) => view.finish,
  prompt: (view) =>
    view.turns.map((turn) => (view.turns.length > 1 ? `${turn.role}: ${turn.text}` : turn.text)).join("\n\n"),
  answer: (view) =>
    view.answers
      .map(
        (answer) => answer.text || (answer.toolCalls || []).map((call) => `${call.name}(${call.arguments})`).join("\n"),
      )
      .join("\n\n"),
  reasoning: (view) =>
    view.answers
      .map((answer) => answer.reasoning || "")
      .join("\n\n")
      .trim(),
  result: (view) => resultText(view),
  prompt_tokens: (view) => view.tokensIn,
  completion_tokens: (view) => view.tokensOut,
  seconds: (view) => view.seconds,
  attempts: (view) => view.attempts,
  worker: (view) => view.worker,
  error_code: (view) => view.error?.code,
  error_message: (view) => view.error?.message,
};

/** Save rows as CSV with a column for each pass-through field. */
export async function exportCsv(store, rows) {
  const fields = [...store.fields.keys()];
  const line = (cells) => cells.map(csvCell).join(",") + "\r\n";
  const parts = ["\ufeff" + line([...Object.keys(CSV_COLUMNS), ...fields])];
  for (const at of rows) {
    const view = await store.view(at);
    const own = new Map(view.fields);
    parts.push(line([...Object.values(CSV_COLUMNS).map((read) => read(view)), ...fields.map((name) => own.get(name))]));
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
