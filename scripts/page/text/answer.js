// Texts as people read them: Markdown or plain, JSON indented, long ones folded; conversations, tool calls, reasoning, choices, tokens.
import { markdown } from "./markdown.js";
import { prettyJson } from "./pretty.js";
import { make } from "../kit/dom.js";
import { asText, isNumber, isObject, tryPlain } from "../kit/exact.js";
import { bytes, count, oneLine, plural } from "../kit/words.js";

const FOLD_CHARS = 2400; // longer texts start folded
const FOLD_LINES = 40;
const RENDER_CHARS = 30000; // rendered at once; the rest on request

/** A text in the chosen manner: "markdown" or "plain". */
export function textBlock(text, manner, limit = RENDER_CHARS) {
  const body = make("div", { class: `text ${manner}`, dir: "auto" });
  const trimmed = text.trim();
  const shown = text.length > limit ? text.slice(0, limit) : text;
  if (/^[[{]/.test(trimmed) && tryPlain(trimmed) !== undefined && manner === "markdown")
    body.append(prettyJson(trimmed, limit * 4));
  else if (manner === "markdown") body.append(markdown(shown));
  else body.append(shown);
  if (shown.length < text.length) body.append(moreButton(body, text, manner));
  return folded(body, text);
}

function moreButton(body, text, manner) {
  const show = () =>
    body.closest(".fold, .text").replaceWith(textBlock(text, text.length > 300000 ? "plain" : manner, Infinity));
  return make(
    "button",
    { type: "button", class: "small", onclick: show },
    `Show the other ${count(text.length - RENDER_CHARS)} characters`,
  );
}

/** Fold what is long, with a button to unfold it. */
function folded(body, text) {
  if (text.length < FOLD_CHARS && text.split("\n", FOLD_LINES + 1).length <= FOLD_LINES) return body;
  const box = make("div", { class: "fold" }, make("div", { class: "folded" }, body));
  const button = make(
    "button",
    { type: "button", class: "small unfold", "aria-expanded": "false" },
    `Show all (${count(text.length)} characters)`,
  );
  button.addEventListener("click", () => {
    const open = box.classList.toggle("open");
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "Show less" : `Show all (${count(text.length)} characters)`;
  });
  box.append(button);
  return box;
}

const ROLE_NAMES = {
  user: "User",
  system: "System",
  assistant: "Assistant",
  tool: "Tool",
  developer: "Developer",
  text_1: "Text",
  text_2: "Document",
  documents: "Document",
  items: "Document",
  data_2: "Document",
  data_1: "Query",
  queries: "Query",
  query: "Query",
  line: "Input line",
};

/** What was asked: one prompt, or the turns of a conversation. */
export function conversation(turns, manner) {
  if (!turns.length) return make("p", { class: "none" }, "The line holds no prompt.");
  return make(
    "div",
    { class: "turns" },
    turns.map((item) => turnBlock(item, manner, turns.length > 1)),
  );
}

function turnBlock(item, manner, named) {
  const name = ROLE_NAMES[item.role] || item.role;
  return make(
    "div",
    { class: `turn ${/^[a-z_0-9]+$/.test(item.role) ? "role-" + item.role : ""}` },
    named || item.role !== "user" ? make("div", { class: "role" }, name, item.name ? ` · ${item.name}` : "") : null,
    item.text ? textBlock(item.text, manner) : null,
    (item.images || []).map(imageBlock),
    (item.toolCalls || []).map(toolCall),
  );
}

/** An image of a prompt: pictures inside the row can be shown, addresses stay text. */
function imageBlock(address) {
  if (!/^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/.test(address))
    return make("p", { class: "image" }, "Media: ", make("span", { class: "address", dir: "ltr" }, oneLine(address, 300)));
  const button = make(
    "button",
    {
      type: "button",
      class: "small",
      onclick: () => button.replaceWith(make("img", { src: address, alt: "Image in the prompt" })),
    },
    `Show the image (${bytes(address.length * 0.75)})`,
  );
  return make("p", { class: "image" }, button);
}

function toolCall(call) {
  const parsed = tryPlain(call.arguments);
  return make(
    "div",
    { class: "tool" },
    make("div", { class: "role" }, "Tool call · ", make("code", {}, call.name)),
    parsed === undefined ? make("pre", { dir: "ltr", tabindex: "0" }, call.arguments) : prettyJson(call.arguments),
  );
}

/** An answer with all it brought. */
export function answerBlock(answer, manner, title) {
  return make(
    "div",
    { class: "answer" },
    title
      ? make("div", { class: "role" }, title, answer.finish ? make("span", { class: "chip" }, answer.finish) : null)
      : null,
    answer.reasoning
      ? make(
          "details",
          { class: "reasoning" },
          make("summary", {}, `Reasoning (${plural(answer.reasoning.length, "character")})`),
          textBlock(answer.reasoning, manner),
        )
      : null,
    answer.refusal ? make("p", { class: "refusal" }, `Refused: ${answer.refusal}`) : null,
    answer.text
      ? textBlock(answer.text, manner)
      : answer.toolCalls?.length || answer.refusal
        ? null
        : make("p", { class: "none" }, "The answer is empty."),
    (answer.toolCalls || []).map(toolCall),
    tokenBlock(answer.logprobs),
  );
}

/** Tokens with their probabilities: [{token, logprob, others}], from the chat or the completions form. */
function tokensOf(logprobs) {
  if (!isObject(logprobs)) return Array.isArray(logprobs) ? logprobs.filter(isObject) : [];
  if (Array.isArray(logprobs.content))
    return logprobs.content.filter(isObject).map((item) => ({
      token: asText(item.token),
      logprob: item.logprob,
      others: (item.top_logprobs || []).filter(isObject).map((top) => [asText(top.token), top.logprob]),
    }));
  if (!Array.isArray(logprobs.tokens)) return [];
  return logprobs.tokens.map((token, i) => ({
    token: asText(token),
    logprob: logprobs.token_logprobs?.[i],
    others: Object.entries(logprobs.top_logprobs?.[i] || {}),
  }));
}

const percent = (logprob) => (isNumber(logprob) ? `${(Math.exp(Number(logprob)) * 100).toFixed(1)} %` : "–");

function tokenBlock(logprobs) {
  const list = tokensOf(logprobs).slice(0, 2000);
  if (!list.length) return null;
  const shown = list.map(({ token, logprob, others: rest = [] }) => {
    const level = isNumber(logprob) ? Math.min(9, Math.floor(Math.exp(Number(logprob)) * 10)) : 9;
    const hint = [
      `${percent(logprob)}`,
      ...rest.slice(0, 8).map(([other, value]) => `${JSON.stringify(other)} ${percent(value)}`),
    ].join("\n");
    return make("span", { class: `token p${level}`, title: hint }, token);
  });
  return make(
    "details",
    { class: "tokens" },
    make("summary", {}, `Token probabilities (${plural(list.length, "token")})`),
    make("p", { class: "hint" }, "The darker, the less sure. Point at a token for its alternatives."),
    make("div", { class: "tokenlist", dir: "auto" }, shown),
  );
}
