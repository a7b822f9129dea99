// The options a row may set: kind, bounds, meaning. The same names and bounds as the worker's scripts/job/options.py.
// The rules check by this table and the card draws its form from it.
import { isObject } from "../../../scripts/page/kit/exact.js";
import { items } from "../../../scripts/page/kit/jsontext.js";

const integer = (min, max) => ({ kind: "integer", min, max });
const number = (min, max = Infinity, above = false) => ({ kind: "number", min, max, above });
const SEED_LIMIT = 2n ** 63n;

/** The options of the form, in the order shown. */
export const OPTIONS = [
  {
    name: "max_tokens",
    ...integer(0),
    group: "Basics",
    label: "Max tokens",
    hint: "1 or more; 0 scores a text with echo",
    also: ["max_completion_tokens", "max_output_tokens"],
    help: "The longest answer, in tokens. Longer answers are cut and say “length”.",
  },
  {
    name: "temperature",
    ...number(0),
    group: "Basics",
    label: "Temperature",
    hint: "0 or more, often up to 1",
    help: "0 always takes the likeliest token; higher is more varied.",
  },
  {
    name: "seed",
    ...integer(-SEED_LIMIT, SEED_LIMIT - 1n),
    group: "Basics",
    label: "Seed",
    hint: "a whole number",
    help: "The same seed and settings draw the same answer again.",
  },
  {
    name: "n",
    ...integer(1),
    group: "Basics",
    label: "Answers",
    hint: "1 or more",
    help: "How many answers to draw for this row. All are kept.",
  },
  {
    name: "stop",
    kind: "strings",
    group: "Basics",
    label: "Stop",
    hint: "one text a line, \\n for a line break",
    wide: true,
    help: "The answer ends where one of these texts appears.",
  },
  {
    name: "top_p",
    ...number(0, 1, true),
    group: "Sampling",
    label: "Top p",
    hint: "above 0, up to 1",
    help: "Draw from the likeliest tokens that together reach this share. 1 is all.",
  },
  {
    name: "top_k",
    ...integer(-1),
    group: "Sampling",
    label: "Top k",
    hint: "1 or more; 0 or -1 is off",
    help: "Draw from this many of the likeliest tokens.",
  },
  {
    name: "min_p",
    ...number(0, 1),
    group: "Sampling",
    label: "Min p",
    hint: "0 to 1; 0 is off",
    help: "Leave out tokens less likely than this share of the likeliest one.",
  },
  {
    name: "min_tokens",
    ...integer(0),
    group: "Sampling",
    label: "Min tokens",
    hint: "0 or more",
    help: "No end of answer before this many tokens.",
  },
  {
    name: "presence_penalty",
    ...number(-2, 2),
    group: "Repetition",
    label: "Presence penalty",
    hint: "-2 to 2; 0 is off",
    help: "Above 0 steers away from tokens that were already used.",
  },
  {
    name: "frequency_penalty",
    ...number(-2, 2),
    group: "Repetition",
    label: "Frequency penalty",
    hint: "-2 to 2; 0 is off",
    help: "Above 0 steers away the more, the oftener a token was used.",
  },
  {
    name: "repetition_penalty",
    ...number(0, Infinity, true),
    group: "Repetition",
    label: "Repetition penalty",
    hint: "above 0; 1 is off",
    help: "Above 1 discourages what the prompt and the answer hold already.",
  },
  {
    name: "logprobs",
    kind: "logprobs",
    group: "Output",
    label: "Log probabilities",
    hint: "true, or how many",
    help: "Give each token’s log probability with the answer.",
  },
  {
    name: "top_logprobs",
    ...integer(-1),
    group: "Output",
    label: "Top log probabilities",
    hint: "0 or more",
    help: "How many likely alternatives to give for each token.",
  },
  {
    name: "response_format",
    kind: "object",
    group: "Output",
    label: "Response format",
    hint: "a JSON object",
    wide: true,
    help: "Make the answer JSON, or JSON that satisfies a schema.",
  },
  {
    name: "structured_outputs",
    kind: "object",
    group: "Output",
    label: "Structured outputs",
    hint: "a JSON object",
    wide: true,
    help: "vLLM’s own form: json, regex, choice or grammar.",
  },
  {
    name: "tools",
    kind: "objects",
    group: "Output",
    label: "Tools",
    hint: "a JSON list",
    wide: true,
    help: "Functions the model may call, as the chat API describes them.",
  },
  {
    name: "model",
    kind: "string",
    group: "Output",
    label: "Model or adapter",
    hint: "a served name",
    wide: true,
    named: true,
    help: "Ask a LoRA adapter or another name the server knows. Empty is the job’s model.",
  },
];

/** Options the rules check but the form leaves to the fields and to raw JSON. */
const FURTHER = {
  max_completion_tokens: integer(0),
  max_output_tokens: integer(0),
  length_penalty: number(-Infinity),
  best_of: integer(1),
  stop_token_ids: { kind: "integers" },
  bad_words: { kind: "texts" },
  allowed_token_ids: { kind: "integers" },
  logit_bias: { kind: "object" },
  prompt_logprobs: integer(-1),
  echo: { kind: "boolean" },
  suffix: { kind: "string" },
  ignore_eos: { kind: "boolean" },
  include_stop_str_in_output: { kind: "boolean" },
  skip_special_tokens: { kind: "boolean" },
  spaces_between_special_tokens: { kind: "boolean" },
  truncate_prompt_tokens: integer(-1),
  add_special_tokens: { kind: "boolean" },
  add_generation_prompt: { kind: "boolean" },
  continue_final_message: { kind: "boolean" },
  use_beam_search: { kind: "boolean" },
  early_stopping: { kind: "stopping" },
  guided_json: { kind: "schema" },
  guided_regex: { kind: "string" },
  guided_choice: { kind: "texts" },
  guided_grammar: { kind: "string" },
  guided_json_object: { kind: "boolean" },
  guided_whitespace_pattern: { kind: "string" },
  tool_choice: { kind: "choice" },
  parallel_tool_calls: { kind: "boolean" },
  reasoning_effort: { kind: "string" },
  include_reasoning: { kind: "boolean" },
  chat_template_kwargs: { kind: "object" },
  mm_processor_kwargs: { kind: "object" },
  dimensions: integer(1),
  encoding_format: { kind: "string" },
};

/** What the rules check, by name. */
export const CHECKED = new Map([
  ...OPTIONS.filter((option) => !option.named).map((option) => [option.name, option]),
  ...Object.entries(FURTHER),
]);

const isWholeText = (raw) => /^-?\d+$/.test(raw);
const isText = (value) => typeof value === "string";
const isFlag = (value) => typeof value === "boolean";
const everyItem = (raw, test) => items(raw, 0).every((item) => test(raw.slice(item.start, item.end)));
const bigEnough = (raw, { min, max }) =>
  BigInt(raw) >= BigInt(min) && (max === undefined || BigInt(raw) <= BigInt(max));
const isNumber = (value, raw) => typeof value === "number" && (Number.isFinite(value) || isWholeText(raw()));

/** Tests by kind: (value, raw(), option). `raw` gives the value's JSON text: 1 is a whole number, 1.0 is none. */
const TESTS = {
  integer: (v, raw, option) => typeof v === "number" && isWholeText(raw()) && bigEnough(raw(), option),
  number: (v, raw, { min, max, above }) => isNumber(v, raw) && (above ? v > min : v >= min) && v <= max,
  boolean: isFlag,
  string: isText,
  object: isObject,
  objects: (v) => Array.isArray(v) && v.every(isObject),
  texts: (v) => Array.isArray(v) && v.every(isText),
  integers: (v, raw) => Array.isArray(v) && everyItem(raw(), isWholeText),
  strings: (v) => isText(v) || (Array.isArray(v) && v.every(isText)),
  logprobs: (v, raw) => isFlag(v) || (typeof v === "number" && isWholeText(raw()) && v >= -1),
  stopping: (v) => isFlag(v) || v === "never",
  schema: (v) => isObject(v) || isText(v),
  choice: (v) => isObject(v) || isText(v),
};

const WORDS = {
  boolean: "true or false",
  string: "a string",
  object: "an object",
  objects: "a list of objects",
  texts: "a list of strings",
  integers: "a list of whole numbers",
  strings: "a string or a list of strings",
  logprobs: "true, false or a whole number",
  stopping: 'true, false or "never"',
  schema: "a JSON schema",
  choice: "a string or an object",
};

/** Say what an option's value must be. */
export function mustBe({ kind, min, max, above }) {
  if (kind === "integer")
    return max === undefined ? `a whole number, ${min} or more` : `a whole number from ${min} to ${max}`;
  if (kind !== "number") return WORDS[kind];
  if (min === -Infinity) return "a number";
  if (max === Infinity) return above ? `a number more than ${min}` : `a number ${min} or more`;
  return above ? `a number more than ${min} and at most ${max}` : `a number from ${min} to ${max}`;
}

/** Write JSON text for a message, cut short. */
export function shown(raw) {
  return raw.length > 60 ? `${raw.slice(0, 57)}...` : raw;
}

/** Say what is wrong with the value of an option, or return null. `raw` gives its JSON text; null means: not set. */
export function optionFault(name, value, raw, option = CHECKED.get(name)) {
  if (!option || value === null || takes(option, value, raw)) return null;
  return `"${name}" must be ${mustBe(option)}, got ${shown(raw())}`;
}

/** Tell whether an option takes a value, or what a table may mean by it: 24 by 24.0, false by 0, a list by its JSON text. */
function takes(option, value, raw) {
  const test = TESTS[option.kind];
  return test(value, raw, option) || meanings(value, raw).some(([meant, text]) => test(meant, () => text, option));
}

/** List what a table may mean by a value, as [value, JSON text]. */
function meanings(value, raw) {
  if (typeof value === "number") {
    const whole = Number.isInteger(value) && !isWholeText(raw()) ? [[value, String(BigInt(value))]] : [];
    return value === 0 || value === 1 ? [...whole, [value === 1, String(value === 1)]] : whole;
  }
  if (Array.isArray(value)) {
    const texts = items(raw(), 0).map((item) => raw().slice(item.start, item.end));
    const meant = value.map((item, i) => meanings(item, () => texts[i])[0] ?? [item, texts[i]]);
    return [[meant.map(([item]) => item), `[${meant.map(([, text]) => text).join(", ")}]`]];
  }
  return typeof value === "string" ? ofText(value) : [];
}

function ofText(text) {
  try {
    const read = JSON.parse(text);
    return [[read, text.trim()], ...(typeof read === "string" ? [] : meanings(read, () => text.trim()))];
  } catch {
    return [];
  }
}

const OF_CHATS = [
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "reasoning_effort",
  "include_reasoning",
  "chat_template_kwargs",
  "mm_processor_kwargs",
  "add_generation_prompt",
  "continue_final_message",
];
const OF_POOLING = ["dimensions", "encoding_format", "truncate_prompt_tokens", "add_special_tokens"];

/** Tell whether an endpoint reads an option; a name that is none here is for the server to judge. */
export function isRead(name, endpoint) {
  if (!CHECKED.has(name)) return true;
  if (!["chat", "completions", "responses", "messages"].includes(endpoint)) return OF_POOLING.includes(name);
  const others = endpoint === "completions" ? OF_CHATS : ["echo", "suffix"];
  return ![...others, "dimensions", "encoding_format"].includes(name);
}
