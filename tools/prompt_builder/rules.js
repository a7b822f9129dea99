// What the job accepts of a line, and what it marks: the same rules as the worker's, tried against the same cases.
// Pure functions over text; a check never throws and never changes the line.
import { optionFault, optionNamed, optionNames, shown } from "./fields.js";
import { deeperThan } from "./jsontext.js";

const DEEPEST = 200; // levels of nesting

class RowFault extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const has = (object, key) => Object.hasOwn(object, key);
const fail = (code, message) => { throw new RowFault(code, message); };

/** Check one line: {ok, dialect, code, message, row}. A blank line has dialect "none" and is ok. */
export function checkLine(line, { byTemplate = false } = {}) {
  const text = stripped(line);
  const result = { ok: true, dialect: "none", code: null, message: null, row: null };
  try {
    result.row = parse(text);
    result.dialect = dialectOf(result.row);
    CHECKS[result.dialect](result.row, byTemplate);
  } catch (fault) {
    if (!(fault instanceof RowFault)) throw fault;
    Object.assign(result, { ok: false, code: fault.code, message: fault.message });
  }
  return result;
}

/** Take off what is no part of a line: the byte-order mark, the carriage return. */
export function stripped(line) {
  const start = line.charCodeAt(0) === 0xfeff ? 1 : 0;
  return line.slice(start, line.endsWith("\r") ? -1 : undefined);
}

function parse(text) {
  let row;
  try {
    row = JSON.parse(text);
  } catch (error) {
    fail("invalid_json", `not valid JSON: ${jsonFault(text, error)}`);
  }
  if (deeperThan(text, DEEPEST)) fail("invalid_json", `nested more than ${DEEPEST} levels deep`);
  if (!isObject(row)) fail("not_an_object", `a row must be a JSON object, got ${shown(row)}`);
  return row;
}

/** Say in words where JSON text breaks. */
export function jsonFault(text, error) {
  const at = /position (\d+)/.exec(error.message);
  const number = at && /^-?(NaN|Infinity)/.exec(text.slice(Number(at[1]) - (text[at[1]] === "I" && text[at[1] - 1] === "-" ? 1 : 0)));
  if (number) return `${number[0]} is no JSON number`;
  if (at) return `it breaks at character ${Number(at[1]) + 1}`;
  return /end of JSON/i.test(error.message) ? "it ends too early" : "a quote, comma or bracket is wrong";
}

const RUNPOD_KEYS = ["messages", "prompt", "openai_route", "route"];

/** Tell the dialect of a row. A row with a prompt of its own is a prompt row, whatever else it carries. */
export function dialectOf(row) {
  const own = ["prompt", "text", "messages"].some((key) => has(row, key));
  if (has(row, "url") && isObject(row.body) && (has(row, "custom_id") || has(row, "method"))) return "openai";
  if (own) return "prompt";
  if (has(row, "custom_id") && has(row, "url")) return "openai";
  if (has(row, "custom_id") && has(row, "params")) return "anthropic";
  if (has(row, "recordId") && has(row, "modelInput")) return "bedrock";
  if (isObject(row.input) && RUNPOD_KEYS.some((key) => has(row.input, key))) return "runpod";
  return "prompt";
}

const CHECKS = { prompt: checkPrompt, openai: checkOpenai, anthropic: checkAnthropic, runpod: checkRunpod, bedrock: checkBedrock };

function checkPrompt(row, byTemplate) {
  if (has(row, "messages") && row.messages !== null) messages(row.messages, '"messages"');
  else if (has(row, "prompt") && row.prompt !== null) text(row.prompt, '"prompt"');
  else if (has(row, "text") && row.text !== null) text(row.text, '"text"');
  else if (!byTemplate) fail("missing_field", 'a row needs "prompt", "text" or "messages"');
  if (has(row, "system") && row.system !== null && typeof row.system !== "string") {
    fail("invalid_value", `"system" must be a string, got ${shown(row.system)}`);
  }
  options(row);
  if (has(row, "sampling_params") && row.sampling_params !== null) options(object(row.sampling_params, '"sampling_params"'));
}

function checkOpenai(row) {
  string(row, "custom_id");
  if (has(row, "method") && row.method !== "POST") {
    fail("unsupported_method", `"method" must be POST, got ${shown(row.method)}`);
  }
  if (!string(row, "url").startsWith("/")) fail("invalid_value", `"url" must begin with a slash, got ${shown(row.url)}`);
  const body = object(needed(row, "body"), '"body"');
  if (body.stream === true) fail("stream_not_supported", '"stream": true cannot be answered in a batch');
  whole(body, '"body"');
  options(body);
}

function checkAnthropic(row) {
  string(row, "custom_id");
  const params = object(needed(row, "params"), '"params"');
  if (params.stream === true) fail("stream_not_supported", '"stream": true cannot be answered in a batch');
  messages(needed(params, "messages", "params."), '"params.messages"');
  needed(params, "max_tokens", "params.");
  whole(params, '"params"');
  options(params);
}

function checkRunpod(row) {
  const input = row.input;
  if (has(input, "openai_route")) object(needed(input, "openai_input", "input."), '"input.openai_input"');
  else if (has(input, "route")) { if (has(input, "body")) object(input.body, '"input.body"'); }
  else if (has(input, "messages")) messages(input.messages, '"input.messages"');
  else text(input.prompt, '"input.prompt"');
  whole(input, '"input"');
  if (has(input, "sampling_params") && input.sampling_params !== null) options(object(input.sampling_params, '"input.sampling_params"'));
}

function checkBedrock(row) {
  const body = object(row.modelInput, '"modelInput"');
  if (has(body, "messages")) messages(body.messages, '"modelInput.messages"');
  else if (has(body, "prompt")) text(body.prompt, '"modelInput.prompt"');
  else fail("missing_field", '"modelInput" needs "messages" or "prompt"');
  whole(body, '"modelInput"');
  options(body);
}

function needed(row, key, inside = "") {
  if (!has(row, key)) fail("missing_field", `"${inside}${key}" is missing`);
  return row[key];
}

function string(row, key) {
  const value = needed(row, key);
  if (typeof value !== "string") fail("invalid_value", `"${key}" must be a string, got ${shown(value)}`);
  return whole(value, `"${key}"`);
}

function object(value, name) {
  if (!isObject(value)) fail("invalid_value", `${name} must be an object, got ${shown(value)}`);
  return value;
}

function text(value, name) {
  if (typeof value !== "string" || value === "") fail("invalid_value", `${name} must be a string with text in it, got ${shown(value)}`);
  return whole(value, name);
}

function messages(value, name) {
  if (!Array.isArray(value) || value.length === 0) fail("invalid_value", `${name} must be a list of messages, got ${shown(value)}`);
  value.forEach((message, i) => {
    if (!isObject(message) || typeof message.role !== "string") {
      fail("invalid_value", `${name}[${i}] must be an object with a "role", got ${shown(message)}`);
    }
    const silent = has(message, "tool_calls") || message.role === "assistant";
    if (!(typeof message.content === "string" || Array.isArray(message.content) || silent)) {
      fail("invalid_value", `${name}[${i}] needs a "content": a string or a list of parts`);
    }
  });
  whole(value, name);
}

/** Refuse half of a surrogate pair, which is no text and cannot be sent, anywhere in `value`. */
function whole(value, name) {
  const stack = [value];
  while (stack.length) {
    const next = stack.pop();
    if (typeof next === "string" && !next.isWellFormed()) fail("invalid_value", `${name} holds half of a surrogate pair, which is no text`);
    if (typeof next !== "object" || next === null) continue;
    for (const [key, inner] of Object.entries(next)) stack.push(key, inner);
  }
  return value;
}

function options(owner) {
  for (const name of optionNames()) {
    if (!has(owner, name)) continue;
    const fault = optionFault(optionNamed(name), owner[name]);
    if (fault) fail("invalid_value", fault);
    whole(owner[name], `"${name}"`);
  }
}
