// What each dialect asks of a row before it is sent: one function a dialect, as in the worker's scripts/dialects/.
import {
  ROUTES,
  beams,
  checkMessages,
  checkOptions,
  fail,
  fromJsonText,
  generating,
  has,
  isSet,
  isText,
  isTrue,
  mergeExtraBody,
  need,
  noContent,
  postOnly,
  refuseStream,
  routeOf,
  sendable,
} from "./checks.js";
import { columnsAreData } from "./data_columns.js";
import { isRead } from "./values.js";
import { OPTIONS, RULES } from "../../../scripts/page/kit/rules.js";
import { fillTemplate, inspectTemplate } from "./jinja.js";
import { isObject } from "../../../scripts/page/kit/exact.js";
import { rawAt } from "../../../scripts/page/kit/jsontext.js";

/** Checks by dialect: each takes {row, text, job} and throws a RowFault for what cannot be asked. */
export const ASKS = {
  prompt: askPrompt,
  openai: askOpenai,
  anthropic: askAnthropic,
  runpod: askRunpod,
  bedrock: askBedrock,
};

/** The fields of a row that make the body of a comparing endpoint, by its name. */
const pairsOf = (endpoint) => RULES.pairs[RULES.endpoints[endpoint]];

function askPrompt({ row, text, job }) {
  const endpoint = job.endpoint && job.endpoint !== "auto" ? job.endpoint : ownEndpoint(row, job);
  const columns = columnsAreData(job) ? {} : row;
  const nested = mergeExtraBody(
    isTrue(row.sampling_params) ? need(row.sampling_params, isObject, "sampling_params", "an object", text) : {},
  );
  refuseStream(nested, text, ["sampling_params", "stream"]);
  const set = optionsOf(row, columns, nested).filter(([name]) => isRead(name, endpoint));
  noContent(Object.fromEntries(set));
  const options = set.filter(([name, value]) => name !== "system" && value !== null);
  checkOptions(options, text);
  if (isSet(nested.system)) need(nested.system, isText, "sampling_params.system", "a text", text);
  if (pairsOf(endpoint)) return askPair(row, options, endpoint, text);
  const content = contentOf(row, text, job);
  if (isSet(columns.model))
    need(columns.model, isText, "model", "the name of a model or adapter that is served", text);
  const generates = has(ROUTES, endpoint);
  if (endpoint === "completions" && Array.isArray(content))
    fail("invalid_value", '"messages" cannot be asked on completions; write a "prompt"');
  if (generates && endpoint !== "messages") beams(Object.fromEntries(options));
  const system = typeof columns.system === "string" ? columns.system : nested.system;
  sendable([content, columns.model, generates ? system : null, ...options], text);
}

/** Return what `auto` asks of a server that suits the row: a pair without a prompt is compared. */
function ownEndpoint(row, job) {
  if (job.template || ["messages", "prompt", "text"].some((name) => isSet(row[name]))) return "chat";
  if (has(row, "query") && has(row, "documents")) return "rerank";
  return has(row, "text_1") || has(row, "queries") ? "score" : "chat";
}

/** Tell whether a field is the log-probabilities of an earlier job and not the option of that name. */
const isResult = (name, row) =>
  RULES.always.every((given) => has(row, given)) &&
  ((name === "logprobs" && isObject(row[name])) || (name === "prompt_logprobs" && Array.isArray(row[name])));

/** List the options of a prompt row as [name, value, path]: those of sampling_params before those of its columns. */
function optionsOf(row, columns, nested) {
  const extra = isObject(columns.extra_body) ? mergeExtraBody({ extra_body: columns.extra_body }) : {};
  const own = [...OPTIONS.keys()].filter((name) => has(columns, name) && !isResult(name, row));
  const found = new Map([
    ...own.map((name) => [name, [columns[name], [name]]]),
    ...Object.entries(extra).map(([name, value]) => [name, [value, ["extra_body", name]]]),
    ...Object.entries(nested).map(([name, value]) => [name, [value, pathOf(row, name)]]),
  ]);
  return [...found].map(([name, [value, path]]) => [name, value, path]);
}

const pathOf = (row, name) =>
  isObject(row.sampling_params.extra_body) && has(row.sampling_params.extra_body, name)
    ? ["sampling_params", "extra_body", name]
    : ["sampling_params", name];

function askPair(row, set, endpoint, text) {
  const pair = pairsOf(endpoint).filter((name) => has(row, name));
  const words =
    endpoint === "rerank" ? '"query" and "documents"' : '"queries" and "documents" (or "text_1" and "text_2")';
  if (row.model !== null && row.model !== undefined)
    need(row.model, isText, "model", "the name of a model or adapter that is served", text);
  if (pair.length < 2) fail("missing_field", `the row needs ${words} for /v1/${endpoint}`);
  sendable([...set, ...pair.map((name) => row[name])], text);
}

function contentOf(row, text, job) {
  if (job.template) return fromTemplate(text, job.template);
  if (isSet(row.messages)) return checkMessages(fromJsonText(row.messages), "messages", text);
  for (const name of ["prompt", "text"]) {
    if (!isSet(row[name])) continue;
    need(row[name], isText, name, "a text", text);
    return row[name] || fail("invalid_value", `"${name}" is empty; write what to ask`);
  }
  return fail("missing_field", 'the row needs "prompt", "text" or "messages" (or the job a PromptTemplateFile)');
}

function fromTemplate(text, template) {
  const { fault, beyond } = inspectTemplate(template);
  if (fault) fail("template_error", `PromptTemplateFile: ${fault}`);
  if (beyond) return "";
  const filled = fillTemplate(template, text);
  if (filled.missing !== null)
    fail("template_error", `PromptTemplateFile: '${filled.missing}' is undefined; the row has no such field`);
  return filled.text;
}

function askOpenai({ row, text }) {
  need(row.custom_id, isText, "custom_id", "a string", text);
  postOnly(row, "method", text);
  const body = need(row.body, isObject, "body", "the request's JSON object", text);
  const route = has(row, "url") ? routeOf(row.url, rawAt(text, ["url"])) : routeOf(unnamedUrl(body));
  refuseStream(body, text, ["body", "stream"]);
  if (RULES.audio.includes(route)) need(body.file_url, isText, "body.file_url", "an http, https or data URL", text);
  generating(route, body, text);
}

/** Return what a line without a url asks, by what it asks. */
const unnamedUrl = (body) => Object.entries(RULES.unnamed).find(([name]) => has(body, name))?.[1];

function askAnthropic({ row, text }) {
  need(row.custom_id, isText, "custom_id", "a string", text);
  const params = need(row.params, isObject, "params", "the request's JSON object", text);
  checkMessages(params.messages, "params.messages", text);
  refuseStream(params, text, ["params", "stream"]);
  generating(ROUTES.messages, params, text);
}

function askRunpod({ row, text }) {
  const { input } = row;
  if (has(input, "openai_route") || has(input, "openai_input"))
    return passThrough(input, "openai_route", "openai_input", text);
  if (has(input, "route")) {
    postOnly(input, "input.method", text);
    return passThrough(input, "route", "body", text);
  }
  const options = isTrue(input.sampling_params)
    ? need(input.sampling_params, isObject, "input.sampling_params", "an object", text)
    : {};
  noContent(options);
  checkOptions(
    Object.entries(options).map(([name, value]) => [name, value, ["input", "sampling_params", name]]),
    text,
  );
  const chat = has(input, "messages");
  if (chat) checkMessages(input.messages, "input.messages", text);
  else need(input.prompt, isText, "input.prompt", "a text", text);
  generating(ROUTES.chat, { content: chat ? input.messages : input.prompt, ...options }, text);
}

function passThrough(input, routeName, bodyName, text) {
  const body = need(input[bodyName], isObject, `input.${bodyName}`, "the request's JSON object", text);
  const route = routeOf(input[routeName], rawAt(text, ["input", routeName]));
  generating(
    route,
    Object.fromEntries(Object.entries(body).filter(([name]) => !RULES.streaming.includes(name))),
    text,
  );
}

const { renamed: RENAMED, own: BEDROCK_OWN, nested: BEDROCK_NESTED, embedding: EMBEDDING } = RULES.bedrock;

function askBedrock({ row, text }) {
  const input = need(row.modelInput, isObject, "modelInput", "the request's JSON object", text);
  refuseStream(input, text, ["modelInput", "stream"]);
  const chat = has(input, "messages");
  if (!chat && (has(input, "texts") || (has(input, "inputText") && EMBEDDING.some((name) => has(input, name)))))
    if (!has(input, "message")) return embedBedrock(input, text);
  const options = bedrockOptions(input, text);
  noContent(Object.fromEntries(options));
  checkOptions(options, text);
  const asked = askedBedrock(input, chat, text);
  beams(Object.fromEntries(options));
  sendable([asked, options.filter(([, value]) => value !== null)], text);
}

function embedBedrock(input, text) {
  const many = has(input, "texts");
  const [name, is, must] = many ? ["texts", Array.isArray, "a list of texts"] : ["inputText", isText, "a text"];
  sendable([need(input[name], is, `modelInput.${name}`, must, text), input.dimensions], text);
}

/** List a record's options as [name, value, path], by the server's names. */
function bedrockOptions(input, text) {
  const set = new Map();
  const take = (owner, path, left) =>
    Object.entries(owner)
      .filter(([name]) => !left.includes(name))
      .forEach(([name, value]) => set.set(name, [value, [...path, name]]));
  take(input, ["modelInput"], [...BEDROCK_OWN, ...BEDROCK_NESTED]);
  for (const name of BEDROCK_NESTED) {
    if (!isTrue(input[name])) continue;
    const inner = need(input[name], isObject, `modelInput.${name}`, "an object", text);
    take(inner, ["modelInput", name], BEDROCK_NESTED);
    if (!isTrue(inner.inferenceConfig)) continue;
    const deep = [name, "inferenceConfig"];
    take(need(inner.inferenceConfig, isObject, `modelInput.${deep.join(".")}`, "an object", text), ["modelInput", ...deep], []);
  }
  const renamed = new Map([...set].map(([name, found]) => [has(RENAMED, name) ? RENAMED[name] : name, found]));
  return [...renamed].map(([name, [value, path]]) => [name, value, path]);
}

/** Return what a record asks: its conversation, its message or its prompt. */
function askedBedrock(input, chat, text) {
  if (chat) return [checkMessages(input.messages, "modelInput.messages", text), input.system];
  if (has(input, "message")) return need(input.message, isText, "modelInput.message", "a text", text);
  const prompt = has(input, "prompt") ? input.prompt : input.inputText;
  return need(prompt, isText, "modelInput.prompt", "a text (or modelInput.messages a conversation)", text);
}
