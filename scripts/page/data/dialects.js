// One row in any dialect as one shape that the rest of the page reads. Never throws on odd data; unknown fields survive.
//
// `meta.sent` is JSON of what a template made of the row. View: {line, status, dialect, endpoint, id, turns, answers, body, error, tokensIn, tokensOut, finish, model, options, fields, output, input}
// turn: {role, text, parts, toolCalls}; answer: {text, reasoning, toolCalls, logprobs, finish}
import { calls, readBody, readChoice, readUsage, turn } from "./bodies.js";
import { asText, isNumber, isObject, numeric, tryJson } from "../kit/exact.js";
import { OPTIONS, RULES, answeredDialect } from "../kit/rules.js";

const { asked: ASKED, system: SYSTEM } = RULES;
const BESIDE = new Set(RULES.beside);
const RESULTS = new Set(RULES.results);

/** Tell whether a field of a request says how it is asked. A result of an option's name is a list or an object. */
const isOption = (key, value) =>
  (OPTIONS.has(key) || BESIDE.has(key)) && !(RESULTS.has(key) && (isObject(value) || Array.isArray(value)));

/** Tell the dialect of an output line that came without its page's notes. */
function dialectOf(row, outputField) {
  if (!isObject(row)) return "none";
  const keys = Object.keys(row);
  if (keys.includes(outputField)) return "prompt"; // whatever dialect the row that it was asked from had
  if (keys.length === 2 && "line" in row && "error" in row) return "none";
  return answeredDialect(row) ?? "prompt";
}

/** Read one row; what the page cannot read is shown as the line that it is. */
export function readRow(meta, output, input, outputField) {
  try {
    return readAs(meta, output, input, outputField);
  } catch {
    const error = { code: "unreadable", message: "This page cannot read the line." };
    return { ...readAs({ ...meta, dialect: "none" }, "{}", "", outputField), error, output, input, turns: [] };
  }
}

/** Read one row in its dialect. `meta` may hold line, status, dialect, endpoint, started, seconds, attempts, worker. */
function readAs(meta, output, input, outputField) {
  const parsed = tryJson(output);
  const row = isObject(parsed) ? parsed : { value: parsed === undefined ? output : parsed };
  const asked = input ? tryJson(input) : undefined;
  const view = {
    id: "",
    turns: [],
    answers: [],
    body: {},
    error: null,
    tokensIn: null,
    tokensOut: null,
    finish: "",
    model: "",
    options: [],
    fields: [],
    endpoint: "",
    output,
    input,
    parsed,
    asked,
    ...meta,
  };
  view.dialect = meta.dialect || dialectOf(row, outputField || "generated_text");
  const read = READERS[view.dialect] || readNone;
  read(view, row, isObject(asked) ? asked : {}, outputField || "generated_text");
  if (!view.status) view.status = view.error ? "failed" : "succeeded";
  if (!view.finish && view.answers.length) view.finish = view.answers[0].finish || "";
  return view;
}

const READERS = {
  prompt: readPrompt,
  openai: readOpenai,
  anthropic: readAnthropic,
  runpod: readRunpod,
  bedrock: readBedrock,
  none: readNone,
};

function readPrompt(view, row, asked, outputField) {
  view.id = idOf(row, ["id", "custom_id", "uid", "key"]);
  const sent = view.sent ? tryJson(view.sent) : null; // by a template, to which every field is data
  // an answer in a field of a request's name: what was asked is in `previous`
  const request = { ...row, [outputField]: isObject(row.previous) ? row.previous[outputField] : undefined };
  const beside = row.sampling_params === undefined ? {} : { sampling_params: row.sampling_params };
  readRequest(view, sent ? { ...sent, ...beside } : request);
  view.tokensIn = numeric(row.prompt_tokens);
  view.tokensOut = numeric(row.completion_tokens);
  if (isObject(row.usage)) readUsage(view, row.usage);
  if (isObject(row.error)) view.error = readError(row.error);
  if (isChoices(row.choices)) view.answers = row.choices.map(readChoice);
  else if (typeof row[outputField] === "string" || row.tool_calls || row.reasoning || row.reasoning_content) {
    const { reasoning, reasoning_content, refusal, tool_calls, logprobs, finish_reason } = row;
    view.answers = [
      {
        text: asText(row[outputField]),
        reasoning: asText(reasoning || reasoning_content),
        refusal: asText(refusal),
        toolCalls: calls(tool_calls),
        logprobs,
        finish: finish_reason,
      },
    ];
  } else if (row[outputField] !== undefined)
    view.answers = [{ text: asText(row[outputField]), finish: row.finish_reason }];
  view.finish = asText(row.finish_reason);
  view.body = row;
  view.fields = others(
    row,
    (key) =>
      (sent ? key !== "sampling_params" : !ASKED.includes(key) && !isOption(key, row[key])) &&
      !RESULTS.has(key) &&
      key !== outputField,
  );
  if (row.previous !== undefined) view.fields.push(["previous", row.previous]);
}

/** Tell a server's choices from a field that a user named so. */
const isChoices = (list) =>
  Array.isArray(list) && list.length > 0 && list.every((item) => isObject(item) && ("message" in item || "text" in item));

function readOpenai(view, row, asked) {
  view.id = idOf(row, ["custom_id"]);
  view.endpoint = view.endpoint || asText(asked.url);
  if (isObject(asked.body)) readRequest(view, asked.body);
  const response = isObject(row.response) ? row.response : {};
  readBody(view, response.body);
  const failed = numeric(response.status_code) >= 400;
  if (row.error) view.error = readError(row.error, response.status_code);
  else if (failed)
    view.error = readError(
      isObject(response.body) ? response.body.error || response.body : response.body,
      response.status_code,
    );
  view.fields = others(asked, (key) => !["custom_id", "method", "url", "body"].includes(key));
}

function readAnthropic(view, row, asked) {
  view.id = idOf(row, ["custom_id"]);
  if (isObject(asked.params)) readRequest(view, asked.params);
  const result = isObject(row.result) ? row.result : {};
  if (result.type === "succeeded") readBody(view, result.message);
  else if (isObject(result.error)) view.error = readError(result.error.error || result.error);
  else view.error = { code: asText(result.type) || "error", message: `The request was ${asText(result.type)}.` };
}

function readRunpod(view, row) {
  view.id = idOf(row, ["id"]);
  const input = isObject(row.input) ? row.input : {};
  readRequest(view, isObject(input.openai_input) ? input.openai_input : isObject(input.body) ? input.body : input);
  view.endpoint = view.endpoint || asText(input.openai_route || input.route);
  readBody(view, row.output);
  if (row.error || row.status === "FAILED") view.error = readError(row.error || "failed");
  view.fields = others(row, (key) => !["id", "input", "output", "status", "error"].includes(key));
}

function readBedrock(view, row) {
  view.id = idOf(row, ["recordId"]);
  if (isObject(row.modelInput)) readRequest(view, row.modelInput);
  readBody(view, row.modelOutput);
  if (row.error) view.error = readError(row.error);
  view.fields = others(row, (key) => !["recordId", "modelInput", "modelOutput", "error"].includes(key));
}

function readNone(view, row) {
  view.id = "";
  view.error = readError(row.error === undefined ? "this line is no row" : row.error);
  if (view.input) view.turns = [{ role: "line", text: view.input }];
}

/** The failure in any dialect as {code, message, status, attempts}. */
function readError(error, status) {
  if (!isObject(error)) return { code: "error", message: asText(error), status: status ?? null };
  if (isObject(error.error)) return readError(error.error, status ?? error.status);
  const named = [error.code, error.errorCode, error.type].filter(
    (name) => name !== undefined && name !== null && name !== "",
  );
  const code = named.find((name) => typeof name === "string" && !/^[0-9]+$/.test(name)) ?? named[0] ?? "error"; // a word says more than a number
  return {
    code: asText(code),
    message: asText(error.message ?? error.errorMessage ?? error.detail ?? error),
    status: error.status ?? status ?? (isNumber(error.code) ? error.code : null),
    attempts: error.attempts ?? null,
  };
}

/** What was asked: messages, or a prompt in one of its names, and the options beside it. */
function readRequest(view, body) {
  for (const key of SYSTEM) if (body[key]) view.turns.push(turn({ role: "system", content: body[key] }));
  const kept = typeof body.messages === "string" ? tryJson(body.messages) : body.messages; // a table keeps it as text
  const messages = [kept, body.input].find(
    (list) => Array.isArray(list) && list.some((item) => isObject(item) && item.role),
  );
  if (messages) view.turns.push(...messages.map(turn));
  else {
    for (const key of ASKED) {
      if (body[key] === undefined || SYSTEM.includes(key)) continue;
      const role = key === "prompt" ? "user" : key;
      const list = Array.isArray(body[key]) ? body[key] : [body[key]];
      for (const item of list.slice(0, 500))
        view.turns.push({ role, text: asText(isObject(item) && typeof item.text === "string" ? item.text : item) });
    }
  }
  view.model = asText(body.model);
  const inner = isObject(body.sampling_params) ? Object.entries(body.sampling_params) : [];
  view.options = [
    ...others(body, (key) => isOption(key, body[key]) && key !== "model" && !(key === "sampling_params" && inner.length)),
    ...inner,
  ];
}

const others = (row, wanted) =>
  Object.keys(row)
    .filter((key) => wanted(key))
    .map((key) => [key, row[key]]);
const idOf = (row, keys) => asText(row[keys.find((key) => typeof row[key] === "string" || isNumber(row[key]))]);
