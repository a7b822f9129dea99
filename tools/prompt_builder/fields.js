// The options a row may set: kind, bounds, meaning. The rules check by this table and the card draws its form from it.

const INT64 = 2 ** 63;

/** Each option: name, kind, bounds (min, above, max), group, label, help, and where it is known. */
export const OPTIONS = [
  { name: "max_tokens", kind: "integer", min: 1, group: "Length", label: "Max tokens", hint: "1 or more", also: ["max_completion_tokens"],
    help: "The longest answer, in tokens. Longer answers are cut and say “length”." },
  { name: "min_tokens", kind: "integer", min: 0, group: "Length", label: "Min tokens", hint: "0 or more",
    help: "No end of answer before this many tokens." },
  { name: "stop", kind: "strings", group: "Length", label: "Stop", hint: "one text a line", also: ["stop_sequences"],
    help: "The answer ends where one of these texts appears." },
  { name: "temperature", kind: "number", min: 0, group: "Sampling", label: "Temperature", hint: "0 or more, often 0 to 1",
    help: "0 always takes the likeliest token; higher is more varied." },
  { name: "top_p", kind: "number", above: 0, max: 1, group: "Sampling", label: "Top p", hint: "above 0, up to 1",
    help: "Draw from the likeliest tokens that together reach this share. 1 is all." },
  { name: "top_k", kind: "integer", min: -1, group: "Sampling", label: "Top k", hint: "1 or more; 0 or -1 is off",
    help: "Draw from this many of the likeliest tokens." },
  { name: "min_p", kind: "number", min: 0, max: 1, group: "Sampling", label: "Min p", hint: "0 to 1",
    help: "Leave out tokens less likely than this share of the likeliest one. 0 is off." },
  { name: "seed", kind: "integer", min: -INT64, max: INT64, group: "Sampling", label: "Seed", hint: "a whole number",
    help: "The same seed and settings draw the same answer again." },
  { name: "n", kind: "integer", min: 1, group: "Sampling", label: "Answers (n)", hint: "1 or more",
    help: "How many answers to draw for this row. All are kept." },
  { name: "presence_penalty", kind: "number", min: -2, max: 2, group: "Repetition", label: "Presence penalty", hint: "-2 to 2",
    help: "Above 0 steers away from tokens that were already used." },
  { name: "frequency_penalty", kind: "number", min: -2, max: 2, group: "Repetition", label: "Frequency penalty", hint: "-2 to 2",
    help: "Above 0 steers away the more, the oftener a token was used." },
  { name: "repetition_penalty", kind: "number", above: 0, group: "Repetition", label: "Repetition penalty", hint: "above 0; 1 is off",
    help: "Above 1 discourages what the prompt and the answer hold already." },
  { name: "logprobs", kind: "logprobs", group: "Output", label: "Log probabilities", hint: "true, or how many",
    help: "Give each token’s log probability with the answer." },
  { name: "top_logprobs", kind: "integer", min: 0, group: "Output", label: "Top log probabilities", hint: "0 or more",
    help: "How many likely alternatives to give for each token. Needs log probabilities." },
  { name: "response_format", kind: "object", group: "Output", label: "Response format", hint: '{"type": "json_object"}', wide: true,
    help: "Make the answer JSON, or JSON that satisfies a schema." },
  { name: "structured_outputs", kind: "object", group: "Output", label: "Structured outputs", hint: '{"choice": ["yes", "no"]}', wide: true,
    help: "vLLM’s own form: json, regex, choice or grammar." },
  { name: "tools", kind: "list", group: "Output", label: "Tools", hint: "a JSON list", wide: true,
    help: "Functions the model may call, as the chat API describes them." },
  { name: "model", kind: "string", group: "Output", label: "Model or adapter", hint: "a served name",
    help: "Ask a LoRA adapter or another name the server knows. Empty is the job’s model." },
];

/** Options the rules check but the form leaves to raw JSON. */
export const FURTHER = [
  { name: "stop_token_ids", kind: "list" },
  { name: "ignore_eos", kind: "boolean" },
  { name: "use_beam_search", kind: "boolean" },
  { name: "length_penalty", kind: "number" },
  { name: "logit_bias", kind: "object" },
  { name: "skip_special_tokens", kind: "boolean" },
  { name: "spaces_between_special_tokens", kind: "boolean" },
  { name: "chat_template_kwargs", kind: "object" },
];

const TABLE = new Map();
for (const option of [...OPTIONS, ...FURTHER]) {
  for (const name of [option.name, ...(option.also ?? [])]) TABLE.set(name, { ...option, name });
}

/** Return what is known of the option `name`, or undefined. */
export function optionNamed(name) {
  return TABLE.get(name);
}

/** List the names of all options, newer and other spellings included. */
export function optionNames() {
  return [...TABLE.keys()];
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

const KINDS = {
  integer: { test: (v) => isNumber(v) && Number.isInteger(v), words: "a whole number" },
  number: { test: isNumber, words: "a number" },
  boolean: { test: (v) => typeof v === "boolean", words: "true or false" },
  string: { test: (v) => typeof v === "string", words: "a string" },
  object: { test: isObject, words: "an object" },
  list: { test: Array.isArray, words: "a list" },
  strings: { test: (v) => typeof v === "string" || (Array.isArray(v) && v.every((x) => typeof x === "string")), words: "a string or a list of strings" },
  logprobs: { test: (v) => typeof v === "boolean" || (isNumber(v) && Number.isInteger(v) && v >= -1), words: "true, false or a whole number" },
};

function boundsWords({ min, above, max }) {
  if (above !== undefined && max !== undefined) return ` above ${above} and at most ${max}`;
  if (above !== undefined) return ` above ${above}`;
  if (max === INT64) return " of 64 bits";
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  return min !== undefined ? ` of ${min} or more` : "";
}

function within({ min, above, max }, value) {
  if (typeof value !== "number") return true;
  return !(value < min) && !(value <= above) && !(value > max);
}

/** Write a value for a message: as JSON, cut short. */
export function shown(value) {
  const text = typeof value === "number" ? String(value) : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

/** Say what is wrong with `value` for the option, or return null. Null always means: not set. */
export function optionFault(option, value) {
  const kind = KINDS[option.kind];
  if (value === null || (kind.test(value) && within(option, value))) return null;
  return `"${option.name}" must be ${kind.words}${boundsWords(option)}, got ${shown(value)}`;
}
