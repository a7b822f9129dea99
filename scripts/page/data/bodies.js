// Response bodies of every endpoint: chat, completions, Anthropic messages, embeddings, scores, ranks, classification.
import { asText, isObject, numeric, toJson } from "../kit/exact.js";
import { countFamily, readFamily } from "./families.js";

/** Put what a response body says into the view. */
export function readBody(view, body) {
  const answer = Array.isArray(body) && body.length === 1 ? body[0] : body;
  if (typeof answer === "string") view.answers = [{ text: answer }];
  if (!isObject(answer)) return;
  view.body = answer;
  if (isObject(answer.usage)) readUsage(view, answer.usage);
  view.model = view.model || asText(answer.model);
  const [tokensIn, tokensOut] = countFamily(answer);
  view.tokensIn ??= tokensIn;
  view.tokensOut ??= tokensOut;
  const family = Array.isArray(answer.choices) ? null : readFamily(answer);
  if (family) view.answers = family;
  else if (Array.isArray(answer.choices)) view.answers = answer.choices.map(readChoice);
  else if (Array.isArray(answer.content)) view.answers = [readContent(answer)];
  else if (Array.isArray(answer.output)) view.answers = [readResponse(answer)];
  else {
    const text = ["generated_text", "generation", "outputText", "completion", "text", "output_text"]
      .map((key) => answer[key])
      .find((value) => typeof value === "string");
    if (text !== undefined) view.answers = [{ text, finish: asText(answer.stop_reason || answer.finish_reason) }];
  }
}

export function readUsage(view, usage) {
  view.tokensIn = numeric(usage.prompt_tokens ?? usage.input_tokens) ?? view.tokensIn;
  view.tokensOut = numeric(usage.completion_tokens ?? usage.output_tokens) ?? view.tokensOut;
}

/** A choice of chat or text completions. */
export function readChoice(choice) {
  if (!isObject(choice)) return { text: asText(choice) };
  const message = isObject(choice.message) ? choice.message : {};
  const text =
    choice.text ??
    message.content ??
    choice.generated_text ??
    (Array.isArray(choice.tokens) ? choice.tokens.join("") : "");
  return {
    text: typeof text === "string" ? text : contentText(text),
    reasoning: asText(message.reasoning ?? message.reasoning_content ?? choice.reasoning ?? ""),
    refusal: asText(message.refusal ?? ""),
    toolCalls: calls(message.tool_calls ?? choice.tool_calls),
    logprobs: choice.logprobs,
    finish: asText(choice.finish_reason ?? ""),
  };
}

/** The content blocks of an Anthropic message. */
function readContent(message) {
  const of = (type) => message.content.filter((part) => isObject(part) && part.type === type);
  return {
    text: of("text")
      .map((part) => asText(part.text))
      .join("\n\n"),
    reasoning: of("thinking")
      .map((part) => asText(part.thinking))
      .join("\n\n"),
    toolCalls: of("tool_use").map((part) => ({ name: asText(part.name), arguments: toJson(part.input ?? {}) })),
    finish: asText(message.stop_reason ?? ""),
  };
}

/** The output items of OpenAI's responses. */
function readResponse(body) {
  const of = (type) => body.output.filter((item) => isObject(item) && item.type === type);
  return {
    text: of("message")
      .map((item) => contentText(item.content ?? ""))
      .join("\n\n"),
    reasoning: of("reasoning")
      .map((item) => contentText(item.content ?? item.summary ?? ""))
      .join("\n\n"),
    toolCalls: calls(of("function_call")),
    finish: asText(body.incomplete_details?.reason ?? body.status ?? ""),
  };
}

/** Tool calls as {name, arguments}. */
export function calls(list) {
  if (!Array.isArray(list)) return [];
  return list.filter(isObject).map((call) => {
    const of = isObject(call.function) ? call.function : call;
    return { name: asText(of.name ?? "tool"), arguments: asText(of.arguments ?? of.input ?? "") };
  });
}

/** One message of a conversation. */
export function turn(message) {
  if (!isObject(message)) return { role: "user", text: asText(message) };
  const content = message.content ?? "";
  const parts = Array.isArray(content) ? content : [];
  return {
    role: asText(message.role ?? "user"),
    name: asText(message.name ?? ""),
    text: Array.isArray(content) ? contentText(content) : asText(content),
    images: parts.map(imageOf).filter(Boolean),
    toolCalls: [
      ...calls(message.tool_calls),
      ...calls(parts.filter((part) => isObject(part) && part.type === "tool_use")),
    ],
  };
}

/** The texts among content parts; tool results are text, too. */
function contentText(parts) {
  if (!Array.isArray(parts)) return asText(parts);
  return parts
    .map((part) => {
      if (!isObject(part)) return asText(part);
      if (typeof part.text === "string") return part.text;
      if (part.type === "tool_result") return contentText(part.content ?? "");
      return imageOf(part) || part.type === "tool_use" ? "" : toJson(part);
    })
    .filter(Boolean)
    .join("\n\n");
}

/** The address of an image, audio or video part, as text. */
function imageOf(part) {
  if (!isObject(part)) return "";
  for (const key of ["image_url", "audio_url", "video_url", "input_audio"]) {
    if (part[key] !== undefined)
      return asText(isObject(part[key]) ? (part[key].url ?? part[key].data ?? "") : part[key]) || key;
  }
  return part.type === "image" && isObject(part.source)
    ? `data:${asText(part.source.media_type)};base64,${asText(part.source.data)}`
    : "";
}
