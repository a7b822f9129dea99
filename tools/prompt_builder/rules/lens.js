// Where a row of each dialect keeps its prompt, its conversation, its options and its name.
import { isObject } from "../../../scripts/page/kit/exact.js";
import { RULES } from "../../../scripts/page/kit/rules.js";

/**
 * Describe a parsed row: paths of prompt, messages, system, id and options, and the members the card already shows.
 * Where `columnsAreData`, a prompt row's options stand in its `sampling_params` alone. */
export function lensOf(dialect, row, columnsAreData = false) {
  const lens = LENSES[dialect]?.(row ?? {}) ?? null;
  if (dialect !== "prompt" || !columnsAreData) return lens;
  return { ...lens, base: ["sampling_params"], nested: null, system: ["sampling_params", "system"] };
}

/** The names that an option goes by in Bedrock records, the server's own first. */
const BEDROCK_NAMES = {};
for (const [other, name] of Object.entries(RULES.bedrock.renamed)) (BEDROCK_NAMES[name] ??= [name]).push(other);

const LENSES = {
  prompt(row) {
    const prompt = Object.hasOwn(row, "text") && !Object.hasOwn(row, "prompt") ? ["text"] : ["prompt"];
    return {
      label: "Prompt row",
      base: [],
      nested: isObject(row.sampling_params) ? ["sampling_params"] : null,
      prompt,
      messages: ["messages"],
      system: ["system"],
      id: ["id"],
      both: true,
    };
  },
  openai(row) {
    const url = typeof row.url === "string" ? row.url : "";
    const chat = /chat\/completions$/.test(url) || (!Object.hasOwn(row, "url") && Array.isArray(row.body?.messages));
    const prompt = /responses$|embeddings$|pooling$|classify$/.test(url) ? ["body", "input"] : ["body", "prompt"];
    return {
      label: "OpenAI Batch",
      base: ["body"],
      id: ["custom_id"],
      url: ["url"],
      prompt: chat ? null : prompt,
      messages: chat ? ["body", "messages"] : null,
      system: null,
    };
  },
  anthropic() {
    return {
      label: "Anthropic batch",
      base: ["params"],
      id: ["custom_id"],
      prompt: null,
      messages: ["params", "messages"],
      system: ["params", "system"],
      only: [...RULES.messagesOptions, "tools", "model"],
      names: { stop: ["stop_sequences"] },
    };
  },
  runpod(row) {
    const input = isObject(row.input) ? row.input : {};
    const route = Object.hasOwn(input, "openai_route") ? "openai_input" : Object.hasOwn(input, "route") ? "body" : null;
    const inside = route ? ["input", route] : ["input"];
    return {
      label: "RunPod",
      base: route ? inside : ["input", "sampling_params"],
      id: ["id"],
      both: !route,
      prompt: [...inside, "prompt"],
      messages: [...inside, "messages"],
      system: null,
    };
  },
  bedrock(row) {
    const input = isObject(row.modelInput) ? row.modelInput : {};
    const nested = RULES.bedrock.nested.find((name) => isObject(input[name]));
    const prompt = Object.hasOwn(input, "inputText") && !Object.hasOwn(input, "prompt") ? "inputText" : "prompt";
    return {
      label: "Bedrock",
      base: ["modelInput"],
      id: ["recordId"],
      both: true,
      nested: nested ? ["modelInput", nested] : null,
      names: BEDROCK_NAMES,
      prompt: ["modelInput", prompt],
      messages: ["modelInput", "messages"],
      system: ["modelInput", "system"],
    };
  },
};

/** Return the value at `path` of a parsed row, or undefined. Only a row's own members count. */
export function valueAt(row, path) {
  let value = row;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = value[step];
  }
  return value;
}

/** List the names an option goes by in the dialect, its own first. */
export function namesOf(lens, option) {
  return lens.names?.[option.name] ?? [option.name, ...(option.also ?? [])];
}

/** Find where an option of a row stands, or would stand: nested parameters and other spellings are looked at first. */
export function optionPath(lens, row, option) {
  const bases = lens.nested ? [lens.nested, lens.base] : [lens.base];
  for (const base of bases) {
    for (const name of namesOf(lens, option)) if (valueAt(row, [...base, name]) !== undefined) return [...base, name];
  }
  return [...lens.base, namesOf(lens, option)[0]];
}

/** Tell whether the dialect knows the option. */
export function offers(lens, option) {
  return !lens.only || lens.only.includes(option.name);
}

/** Write the words that stand for a row in the table. */
export function summaryOf(lens, row) {
  if (!lens) return "";
  const talk = lens.messages ? valueAt(row, lens.messages) : undefined;
  if (Array.isArray(talk)) return lastWords(talk);
  const prompt = lens.prompt ? valueAt(row, lens.prompt) : undefined;
  if (typeof prompt === "string") return prompt;
  return inShort(prompt ?? valueAt(row, lens.base) ?? row);
}

/** Write a value as JSON, or say that it is nested too deeply to be written. */
export function inShort(value) {
  try {
    return JSON.stringify(value);
  } catch {
    return "(nested too deeply to show)";
  }
}

function lastWords(talk) {
  const asked = talk.findLast((message) => isObject(message) && message.role === "user") ?? talk.at(-1);
  return isObject(asked) ? contentText(asked.content) : "";
}

/** Return the text of a message's content: a string, or the text parts of a list. */
function contentText(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part) => (isObject(part) && typeof part.text === "string" ? part.text : ""))
    .filter(Boolean)
    .join(" ");
}
