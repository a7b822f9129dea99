// The single checks that the dialects share: each returns what it was given, or throws a RowFault.
import { optionFault, shown } from "./values.js";
import { isObject, tryJson } from "../../../scripts/page/kit/exact.js";
import { rawAt } from "../../../scripts/page/kit/jsontext.js";
import { RULES } from "../../../scripts/page/kit/rules.js";

/** Why a row cannot be asked: a code for programs, a message for people. */
export class RowFault extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export const has = (object, key) => Object.hasOwn(object, key);
export const fail = (code, message) => {
  throw new RowFault(code, message);
};

/** Tell whether Python would take a value for true. */
export const isTrue = (value) => Boolean(value) && !(typeof value === "object" && Object.keys(value).length === 0);

/** The endpoints that generate text, by name, with their routes. */
export const ROUTES = Object.fromEntries(
  Object.entries(RULES.endpoints).filter(([, route]) => RULES.generating.includes(route)),
);

export const isSet = (value) => value !== null && value !== undefined;

export function need(value, test, name, must, text, path = name.split(".")) {
  if (!isSet(value)) fail("missing_field", `"${name}" is missing; it must be ${must}`);
  if (!test(value)) fail("invalid_value", `"${name}" must be ${must}, got ${shown(rawAt(text, path) ?? "")}`);
  return value;
}

/** Return what a table keeps as JSON text, nothing at all as an empty list; any other value as it is. */
export function fromJsonText(value) {
  if (typeof value !== "string") return value;
  return value.trim() ? (tryJson(value) ?? value) : [];
}

export function checkMessages(list, name, text) {
  need(list, Array.isArray, name, "a list of messages", text);
  if (list.length === 0) fail("invalid_value", `"${name}" is empty; it needs at least one message`);
  list.forEach((message, i) => {
    if (!isObject(message) || typeof message.role !== "string")
      fail("invalid_value", `message ${i + 1} of "${name}" must be an object with a "role"`);
    const { content } = message;
    if (isSet(content) && typeof content !== "string" && !Array.isArray(content))
      fail("invalid_value", `"content" of message ${i + 1} must be a text or a list of parts`);
  });
  return list;
}

/** Check options given as [name, value, path]. */
export function checkOptions(set, text) {
  if (set.some(([name]) => name === "guided_decoding_backend"))
    fail("invalid_value", '"guided_decoding_backend" belongs to the server; set it in VllmArgs');
  for (const [name, value, path] of set) {
    const fault = optionFault(name, value, () => rawAt(text, path));
    if (fault) fail("invalid_value", fault);
  }
}

export function beams(body) {
  if (isTrue(body.early_stopping) && !isTrue(body.use_beam_search))
    fail("invalid_value", '"early_stopping" needs "use_beam_search": true');
  const { response_format: format, structured_outputs: structure } = body;
  const structured =
    (isObject(format) && has(format, "type") && format.type !== "text") ||
    (isObject(structure) && Object.keys(structure).length > 0) ||
    RULES.guided.some((name) => isSet(body[name]));
  if (isTrue(body.use_beam_search) && structured)
    fail("invalid_value", '"use_beam_search" enforces no structure; leave one of the two out');
}

/** Refuse what cannot be sent: half of a surrogate pair, a number beyond what JSON's readers hold. */
export function sendable(value, text) {
  const stack = [value];
  while (stack.length) {
    const next = stack.pop();
    if (typeof next === "string" && !next.isWellFormed())
      fail("invalid_value", "a text holds half of a surrogate pair (\\ud800 to \\udfff)");
    if (typeof next === "number" && !Number.isFinite(next) && !/\d{309}/.test(text))
      fail("invalid_value", "a number is too large for JSON (infinity)");
    if (typeof next === "object" && next !== null)
      for (const [key, inner] of Object.entries(next)) stack.push(key, inner);
  }
}

export function refuseStream(body, text, path) {
  if (isTrue(body.stream))
    fail("stream_not_supported", `"stream": ${shown(rawAt(text, path) ?? "true")} has no place in a batch; leave it out`);
}

/** Refuse what is no option: it says what is asked, and stands outside the options. */
export function noContent(options) {
  const stray = RULES.content.find((name) => has(options, name));
  if (stray) fail("invalid_value", `"${stray}" is no option: it says what is asked, and stands outside them`);
}

export function routeOf(url, raw) {
  if (typeof url !== "string" || !url.startsWith("/"))
    fail("invalid_url", `"url" must be a path such as "/v1/chat/completions", got ${shown(raw ?? "null")}`);
  const path = url
    .split("?")[0]
    .replace(/\/+$/, "")
    .replace(/^\/openai(\/deployments\/[^/]+|(?=\/v1\/))/, "");
  const known = [path, `/v1${path}`, path.replace(/^\/v1/, "")].find((route) => RULES.routes.includes(route));
  if (!known)
    fail("invalid_url", `"url" ${shown(raw)} is no endpoint that answers rows; all of them are ROUTES in scripts/engine/routes.py`);
  return known;
}

/** Put what `extra_body` holds in its place, as the openai client does. */
export function mergeExtraBody(body) {
  if (!isObject(body.extra_body)) return body;
  const { extra_body: extra, ...own } = body;
  if (isTrue(extra.stream)) fail("stream_not_supported", '"stream" in "extra_body" has no place in a batch; leave it out');
  return { ...own, ...extra };
}

/** Refuse tools that are no list of objects, each of which, or the whole, may be JSON text. */
function checkTools(tools) {
  const read = fromText(tools);
  if (!Array.isArray(read) || !read.map(fromText).every(isObject))
    fail("invalid_value", `"tools" must be a list of objects, got ${shown(JSON.stringify(tools))}`);
}

function fromText(value) {
  if (typeof value !== "string") return value;
  try {
    return value.trim() ? JSON.parse(value) : [];
  } catch {
    return value;
  }
}

/** Check what every generating endpoint asks of a body. */
export function generating(route, given, text) {
  const body = mergeExtraBody(given);
  if (isSet(body.tools) && RULES.generating.includes(route) && route !== ROUTES.completions) checkTools(body.tools);
  if (RULES.generating.includes(route) && route !== ROUTES.messages) beams(body);
  sendable(
    Object.entries(body).filter(([, value]) => value !== null),
    text,
  );
}

export const isText = (value) => typeof value === "string";

export function postOnly(owner, name, text) {
  if (has(owner, "method") && owner.method !== "POST")
    fail("invalid_method", `"${name}" must be "POST", got ${shown(rawAt(text, name.split(".")))}`);
}
