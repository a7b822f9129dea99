// What the worker hands on unread and the server would refuse: the bodies of OpenAI, Anthropic and passed-through lines.
import { optionFault } from "./values.js";
import { OPTIONS } from "../../../scripts/page/kit/rules.js";
import { lensOf, valueAt } from "./lens.js";
import { isObject } from "../../../scripts/page/kit/exact.js";
import { rawAt } from "../../../scripts/page/kit/jsontext.js";

const BODY_MESSAGES = /chat\/completions$/;

/** Say what the server would refuse in a row that the worker sends, or return null. */
export function serverFault(raw, dialect) {
  if (dialect !== "openai" && dialect !== "anthropic" && dialect !== "runpod") return null;
  const row = JSON.parse(raw.replace(/^\ufeff/, ""));
  const { base } = lensOf(dialect, row);
  const body = valueAt(row, base);
  if (!isObject(body)) return null;
  const fault =
    optionsFault(body, raw, base) ??
    (BODY_MESSAGES.test(row.url ?? row.input?.openai_route ?? "") ? talkFault(body) : null);
  return fault && `the model’s server would refuse it: ${fault}`;
}

function optionsFault(body, raw, base) {
  for (const name of OPTIONS.keys()) {
    const fault = Object.hasOwn(body, name) ? optionFault(name, body[name], () => rawAt(raw, [...base, name])) : null;
    if (fault) return fault;
  }
  return null;
}

function talkFault({ messages }) {
  if (!Array.isArray(messages) || messages.length === 0) return '"messages" must be a list of messages';
  const at = messages.findIndex((message) => !isObject(message) || typeof message.role !== "string");
  return at < 0 ? null : `message ${at + 1} must be an object with a "role"`;
}
