// Answers in the shapes of Bedrock's families of models: Converse and Nova, Titan, Mistral, Cohere and Jurassic.
import { asText, isObject, numeric, toJson } from "../kit/exact.js";

/** List the texts of a modelOutput as {text, finish, toolCalls}, or return null for what is no family's own shape. */
export function readFamily(body) {
  if (isObject(body.output?.message)) return [readConverse(body)];
  const list = [body.results, body.outputs, body.generations, body.completions].find(
    (value) => Array.isArray(value) && value.length > 0 && value.every(isObject),
  );
  return list ? list.map(readOne) : null;
}

/** Return the tokens that a family counts under names of its own, as [in, out]. */
export function countFamily(body) {
  const { usage, inputTextTokenCount, prompt_token_count, generation_token_count, results } = body;
  const one = Array.isArray(results) && results.length === 1 && isObject(results[0]) ? results[0].tokenCount : null;
  return [
    numeric(usage?.inputTokens ?? inputTextTokenCount ?? prompt_token_count),
    numeric(usage?.outputTokens ?? generation_token_count ?? one),
  ];
}

function readOne(item) {
  const text = item.outputText ?? item.text ?? item.data?.text ?? "";
  const finish = item.completionReason ?? item.stop_reason ?? item.finish_reason ?? item.finishReason?.reason ?? "";
  return { text: asText(text), finish: asText(finish) };
}

function readConverse(body) {
  const parts = Array.isArray(body.output.message.content) ? body.output.message.content.filter(isObject) : [];
  const used = parts.map((part) => part.toolUse).filter(isObject);
  return {
    text: parts
      .filter((part) => typeof part.text === "string")
      .map((part) => part.text)
      .join("\n\n"),
    toolCalls: used.map((call) => ({ name: asText(call.name), arguments: toJson(call.input ?? {}) })),
    finish: asText(body.stopReason ?? ""),
  };
}
