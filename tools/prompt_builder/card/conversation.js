// The part of the form that holds what is asked: a prompt or a conversation, a system message, images by URL.
import { button, jsonField, line, quote, textField } from "./controls.js";
import { imagePart, kindOf, messages } from "./messages.js";
import { make } from "../../../scripts/page/kit/dom.js";
import { isObject } from "../../../scripts/page/kit/exact.js";
import { insert, remove, setRaw } from "../../../scripts/page/kit/jsontext.js";
import { freshId, toast } from "../frame/widgets.js";

/** Return what the form's build depends on: which parts there are, not what they say. */
export function conversationShape(draft) {
  const talk = talkOf(draft);
  const system = systemPath(draft, talk);
  return [
    typeof valueOf(draft, "prompt"),
    system,
    system && typeof draft.value(system),
    talk?.map((message) => [typeof message?.content, partKinds(message), typeof message?.role]),
  ];
}

const partKinds = (message) => (Array.isArray(message?.content) ? message.content.map(kindOf) : null);
const valueOf = (draft, name) => (draft.lens[name] ? draft.value(draft.lens[name]) : undefined);

function talkOf(draft) {
  const talk = valueOf(draft, "messages");
  return Array.isArray(talk) ? talk : null;
}

function systemPath(draft, talk) {
  const first = talk?.[0];
  if (isObject(first) && (first.role === "system" || first.role === "developer") && typeof first.content === "string")
    return [...draft.lens.messages, 0, "content"];
  return draft.lens.system;
}

/** Build the fields for what is asked. */
export function conversation(draft) {
  const talk = talkOf(draft);
  const nodes = [];
  if (draft.lens.url) nodes.push(...line(draft, "Endpoint", draft.lens.url));
  if (draft.lens.both) nodes.push(modeSwitch(draft, talk));
  if (talk || draft.lens.system) nodes.push(...system(draft, talk));
  if (talk) nodes.push(...messages(draft, talk, systemPath(draft, talk)?.[draft.lens.messages.length] === 0 ? 1 : 0));
  else if (draft.lens.prompt && ["string", "undefined"].includes(typeof valueOf(draft, "prompt"))) {
    nodes.push(...textField(draft, "Prompt", draft.lens.prompt, 6));
    if (draft.lens.both) nodes.push(button("Add an image by URL", () => toTalk(draft, true)));
  }
  return nodes;
}

function modeSwitch(draft, talk) {
  const option = (label, pressed, act) =>
    make("button", {
      type: "button",
      "aria-pressed": String(pressed),
      text: label,
      onclick: () => {
        if (!pressed) act();
      },
    });
  return make("div", { class: "switch", role: "group", "aria-label": "What is asked" }, [
    option("Prompt", !talk, () => toPrompt(draft, talk)),
    option("Conversation", Boolean(talk), () => toTalk(draft, false)),
  ]);
}

/** Turn a prompt into a conversation of one message; the prompt's text moves, nothing else does. */
function toTalk(draft, withImage) {
  const { prompt, messages: path } = draft.lens;
  const words = draft.rawAt(prompt) ?? '""';
  const content = withImage ? `[{"type": "text", "text": ${words}}, ${imagePart(draft)}]` : words;
  const asked = `[{"role": "user", "content": ${content}}]`;
  draft.replace(
    draft.rawAt(prompt) === undefined ? setRaw(draft.raw, path, asked) : replaceMember(draft.raw, prompt, path, asked),
    "mode",
  );
}

/** Turn a conversation into its last user message, when that is text. */
function toPrompt(draft, talk) {
  const at = talk.findLastIndex((message) => isObject(message) && message.role === "user");
  const words = talk[at]?.content;
  const text = typeof words === "string" ? draft.rawAt([...draft.lens.messages, at, "content"]) : quote(textOf(words));
  let raw = replaceMember(draft.raw, draft.lens.messages, draft.lens.prompt, text);
  const path = systemPath(draft, talk);
  if (draft.lens.system && path && path !== draft.lens.system) raw = setRaw(raw, draft.lens.system, draft.rawAt(path));
  draft.replace(raw, "mode");
  if (talk.length > 1) toast("The last user message is kept.", "Undo", () => draft.workspace.undo());
}

const textOf = (content) =>
  Array.isArray(content)
    ? content
        .filter((part) => typeof part?.text === "string")
        .map((part) => part.text)
        .join("\n")
    : "";

function replaceMember(raw, from, to, value) {
  const owner = from.slice(0, -1);
  const marked = setRaw(raw, from, value);
  return from.at(-1) === to.at(-1) ? marked : setRaw(remove(marked, from), [...owner, to.at(-1)], value);
}

function system(draft, talk) {
  const label = make("label", { text: "System message" });
  const area = make("textarea", {
    id: freshId(),
    rows: "2",
    dir: "auto",
    "data-path": "system",
    placeholder: "Empty: the job’s SystemPrompt",
  });
  label.htmlFor = area.id;
  const path = systemPath(draft, talk);
  const now = path ? draft.value(path) : undefined;
  if (now !== undefined && typeof now !== "string") return [jsonField(draft, "System message", path)];
  draft.follow(area, () => {
    const value = path ? draft.value(path) : undefined;
    return typeof value === "string" ? value : "";
  });
  area.addEventListener("input", () => writeSystem(draft, area.value));
  return [label, area];
}

function writeSystem(draft, words) {
  const talk = talkOf(draft);
  const path = systemPath(draft, talk);
  const first = path && path !== draft.lens.system;
  if (first && words === "") draft.replace(remove(draft.raw, path.slice(0, -1)), "system");
  else if (first) draft.write(path, quote(words));
  else if (path && (!talk || path.length > 1 || draft.value(path) !== undefined))
    draft.write(path, words === "" ? undefined : quote(words));
  else if (words)
    draft.replace(
      insert(draft.raw, draft.lens.messages, `{"role": "system", "content": ${quote(words)}}`, { index: 0 }),
      "system",
    );
}
