// One row as a table needs it: its own fields as they were, its answer, what the result says besides. tools/table/lines.py
// has the same rules for to_table.py, and a test holds the two together.
import { asText, isNumber, isObject, tryJson } from "../kit/exact.js";
import { RULES } from "../kit/rules.js";

const FENCED = /^\s*```(?:json)?\s*(\{[^]*\})\s*```\s*$/;
const DETAILS = new Set(RULES.details);
const POOLED = [
  ...["results", "score", "scores", "data", "embedding"].map((name) => [name]),
  ["label", "probs", "num_classes"],
  ["count", "max_model_len", "tokens", "token_strs"],
];

/** The fields of a text that is one JSON object, also between Markdown's fences, as [[name, value]]; null for another. */
export function fieldsOf(text) {
  if (typeof text !== "string" || !text.includes("{")) return null;
  const plain = FENCED.exec(text)?.[1] ?? text;
  if (!/^\s*\{/.test(plain)) return null;
  const value = tryJson(plain);
  return isObject(value) ? Object.entries(value) : null;
}

/** A row's parts: {own, name, text, others, details}; `text` is the answer's, null where there is none. */
export function partsOf(view) {
  const row = isObject(view.parsed) ? view.parsed : {};
  const parts = { own: [], name: "generated_text", text: null, others: [], details: [] };
  if (view.dialect === "prompt") readPrompt(parts, row, view);
  else if (view.dialect !== "none") {
    const { added } = RULES.dialects[view.dialect]; // members that a result adds to its line; others repeat nothing of it
    const names = added.length ? Object.keys(row).filter((name) => !added.includes(name)) : ["custom_id"];
    parts.own = takeBack(names.map((name) => [name, row[name]]), row);
    if (!view.error) readBody(parts, view);
  }
  if (view.error)
    parts.details = [
      ["error_code", view.error.code],
      ["error_message", view.dialect === "none" ? `line ${asText(row.line)}: ${view.error.message}` : view.error.message],
    ];
  return parts;
}

/** The own fields with those put back that gave way to the result's, which stand last. */
function takeBack(own, row) {
  const last = own[own.length - 1]?.[0];
  if (last !== "previous" || Object.keys(row).pop() !== "previous" || !isObject(row.previous)) return own;
  return [...own.slice(0, -1), ...Object.entries(row.previous)];
}

function readPrompt(parts, row, view) {
  const names = Object.keys(row);
  const end = names.length - (names[names.length - 1] === "previous" ? 1 : 0);
  const answered = RULES.always.every((name) => Object.hasOwn(row, name));
  let start = firstResult(names.slice(0, end), answered, view.error);
  parts.own = names.slice(0, start).map((name) => [name, row[name]]);
  if (end < names.length && isObject(row.previous)) parts.own.push(...Object.entries(row.previous));
  if (answered && start < end) {
    parts.name = names[start];
    parts.text = row[names[start++]];
  }
  for (const name of names.slice(start, end))
    if (name !== "error") (DETAILS.has(name) ? parts.details : parts.others).push([name, row[name]]);
}

/** The place of the first member that is a result's: they stand behind the row's own. */
function firstResult(names, answered, failed) {
  if (answered) return Math.max(0, names.indexOf("finish_reason") - 1);
  const last = names[names.length - 1];
  if (failed && last === "error") return names.length - 1;
  let start = names.length - (last === "prompt_tokens" ? 1 : 0);
  const group = POOLED.find((each) => each.includes(names[start - 1])) || [];
  while (start && group.includes(names[start - 1])) start--;
  return start;
}

function readBody(parts, view) {
  const { body } = view;
  const [answer] = view.answers;
  if (!answer) {
    parts.others = pooled(body);
    if (view.tokensIn !== null) parts.details = [["prompt_tokens", view.tokensIn]];
    return;
  }
  const calls = callsOf(body);
  parts.text = asText(answer.text ?? "");
  if (calls.length) parts.others.push(["tool_calls", calls]);
  if (!view.finish && view.tokensIn === null) return; // a body that says no more than its text
  const [choice] = Array.isArray(body.choices) ? body.choices : [];
  const further = {
    reasoning: answer.reasoning,
    refusal: answer.refusal,
    logprobs: choice?.logprobs,
    prompt_logprobs: choice?.prompt_logprobs ?? body.prompt_logprobs,
    choices: body.choices?.length > 1 ? body.choices : null,
  };
  parts.details = [
    ["finish_reason", finishOf(body, view.finish, calls) || null],
    ["prompt_tokens", view.tokensIn],
    ["completion_tokens", view.tokensOut],
    ...Object.entries(further).filter(([, value]) => value),
  ];
}

/** The tool calls of a body as they stand there. */
function callsOf({ choices, content, output }) {
  const of = (list, type) => (Array.isArray(list) ? list.filter((item) => isObject(item) && item.type === type) : []);
  return choices?.[0]?.message?.tool_calls || [...of(content, "tool_use"), ...of(output, "function_call")];
}

/** How an answer ended, in the words of chat. */
function finishOf(body, finish, calls) {
  if (!Array.isArray(body.output)) return RULES.finish[finish] ?? finish;
  const reason = body.incomplete_details?.reason;
  return reason === "max_output_tokens" ? "length" : reason || (calls.length ? "tool_calls" : "stop");
}

/** What an encoder's body answers, under the names that a prompt row would receive. */
function pooled(body) {
  if (body.results !== undefined) return [["results", body.results]];
  if (!Array.isArray(body.data)) return Object.keys(body).length ? [["body", body]] : [];
  const scores = body.data.filter((item) => isObject(item) && isNumber(item.score)).map((item) => item.score);
  if (scores.length && scores.length === body.data.length)
    return [scores.length === 1 ? ["score", scores[0]] : ["scores", scores]];
  if (body.data.length !== 1 || !isObject(body.data[0])) return [["data", body.data]];
  const wanted = ["embedding", "label", "probs", "num_classes", "data"];
  return Object.entries(body.data[0]).filter(([name]) => wanted.includes(name));
}
