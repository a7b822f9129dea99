// The part of the form that holds what is asked: a prompt or a conversation, a system message, images by URL.
import { freshId, make } from "./dom.js";
import { isObject } from "./fields.js";
import { insert, remove, setRaw, swap } from "./jsontext.js";

const ROLES = ["system", "developer", "user", "assistant", "tool"];
const quote = (text) => JSON.stringify(text);

/** Return what the form's build depends on: which parts there are, not what they say. */
export function conversationShape(draft) {
  const talk = talkOf(draft);
  const system = systemPath(draft, talk);
  return [typeof valueOf(draft, "prompt"), system, system && typeof draft.value(system), talk?.map((message) => [typeof message?.content, partKinds(message), typeof message?.role])];
}

const partKinds = (message) => (Array.isArray(message?.content) ? message.content.map(kindOf) : null);
const valueOf = (draft, name) => (draft.lens[name] ? draft.value(draft.lens[name]) : undefined);

function talkOf(draft) {
  const talk = valueOf(draft, "messages");
  return Array.isArray(talk) ? talk : null;
}

function systemPath(draft, talk) {
  const first = talk?.[0];
  if (isObject(first) && (first.role === "system" || first.role === "developer") && typeof first.content === "string") return [...draft.lens.messages, 0, "content"];
  return draft.lens.system;
}

/** Build the fields for what is asked. */
export function conversation(draft) {
  const talk = talkOf(draft);
  const nodes = [];
  if (draft.lens.url) nodes.push(...line(draft, "Endpoint", draft.lens.url));
  if (draft.lens.both) nodes.push(modeSwitch(draft, talk));
  if (talk || draft.lens.system) nodes.push(...system(draft, talk));
  if (talk) nodes.push(...messages(draft, talk));
  else if (draft.lens.prompt && ["string", "undefined"].includes(typeof valueOf(draft, "prompt"))) {
    nodes.push(...textField(draft, "Prompt", draft.lens.prompt, 6));
    if (draft.lens.both) nodes.push(button("Add an image by URL", () => toTalk(draft, true)));
  }
  return nodes;
}

function modeSwitch(draft, talk) {
  const option = (label, pressed, act) => make("button", { type: "button", "aria-pressed": String(pressed), text: label, on: { click: () => { if (!pressed) act(); } } });
  return make("div", { class: "switch", role: "group", "aria-label": "What is asked" },
    [option("Prompt", !talk, () => toPrompt(draft, talk)), option("Conversation", Boolean(talk), () => toTalk(draft, false))]);
}

/** Turn a prompt into a conversation of one message; the prompt's text moves, nothing else does. */
function toTalk(draft, withImage) {
  const { prompt, messages: path } = draft.lens;
  const words = draft.rawAt(prompt) ?? '""';
  const content = withImage ? `[{"type": "text", "text": ${words}}, ${imagePart(draft)}]` : words;
  const asked = `[{"role": "user", "content": ${content}}]`;
  draft.replace(draft.rawAt(prompt) === undefined ? setRaw(draft.raw, path, asked) : replaceMember(draft.raw, prompt, path, asked), "mode");
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
}

const textOf = (content) => (Array.isArray(content) ? content.filter((part) => typeof part?.text === "string").map((part) => part.text).join("\n") : "");

function replaceMember(raw, from, to, value) {
  const owner = from.slice(0, -1);
  const marked = setRaw(raw, from, value);
  return from.at(-1) === to.at(-1) ? marked : setRaw(remove(marked, from), [...owner, to.at(-1)], value);
}

function system(draft, talk) {
  const label = make("label", { text: "System message" });
  const area = make("textarea", { id: freshId(), rows: "2", dir: "auto", "data-path": "system", placeholder: "Empty: the job’s SystemPrompt" });
  label.htmlFor = area.id;
  const path = systemPath(draft, talk);
  const now = path ? draft.value(path) : undefined;
  if (now !== undefined && typeof now !== "string") return [jsonField(draft, "System message", path)];
  draft.follow(area, () => { const value = path ? draft.value(path) : undefined; return typeof value === "string" ? value : ""; });
  area.addEventListener("input", () => writeSystem(draft, area.value));
  return [label, area];
}

function writeSystem(draft, words) {
  const talk = talkOf(draft);
  const path = systemPath(draft, talk);
  const first = path && path !== draft.lens.system;
  if (first && words === "") draft.replace(remove(draft.raw, path.slice(0, -1)), "system");
  else if (first) draft.write(path, quote(words));
  else if (path && (!talk || path.length > 1 || draft.value(path) !== undefined)) draft.write(path, words === "" ? undefined : quote(words));
  else if (words) draft.replace(insert(draft.raw, draft.lens.messages, `{"role": "system", "content": ${quote(words)}}`, { index: 0 }), "system");
}

function messages(draft, talk) {
  const path = draft.lens.messages;
  const skip = systemPath(draft, talk)?.[path.length] === 0 ? 1 : 0;
  const cards = talk.map((message, i) => (i < skip ? null : oneMessage(draft, message, i, skip, talk.length))).filter(Boolean);
  const next = talk.at(-1)?.role === "user" ? "assistant" : "user";
  return [make("p", { class: "label", text: "Messages" }), make("div", { class: "messages" }, cards),
    button("Add a message", () => draft.replace(insert(draft.raw, path, `{"role": "${next}", "content": ""}`), "message"))];
}

function oneMessage(draft, message, i, first, count) {
  const path = [...draft.lens.messages, i];
  if (!isObject(message)) return jsonField(draft, `Message ${i + 1}`, path);
  const label = `message ${i + 1 - first}`;
  const bar = make("div", { class: "message-bar" }, [roleField(draft, label, [...path, "role"]), make("span", { class: "grow" }),
    icon("↑", `Move ${label} up`, () => draft.replace(swap(draft.raw, draft.lens.messages, i, i - 1), "message"), i === first),
    icon("↓", `Move ${label} down`, () => draft.replace(swap(draft.raw, draft.lens.messages, i, i + 1), "message"), i === count - 1),
    icon("✕", `Delete ${label}`, () => draft.replace(remove(draft.raw, path), "message"), false)]);
  return make("div", { class: "message", role: "group", "aria-label": label }, [bar, ...content(draft, message, path, label)]);
}

function roleField(draft, label, path) {
  const select = make("select", { "aria-label": `Role of ${label}`, "data-path": path.join("/") });
  const now = draft.value(path);
  for (const role of new Set([...ROLES, String(now)])) select.append(make("option", { value: role, text: role }));
  draft.follow(select, () => String(draft.value(path)));
  select.addEventListener("change", () => draft.write(path, quote(select.value)));
  return select;
}

function content(draft, message, path, label) {
  const place = [...path, "content"];
  const add = button("Add an image by URL", () => addImage(draft, place));
  if (typeof message.content === "string") return [area(draft, `Text of ${label}`, place, 3), add];
  if (!Array.isArray(message.content)) return [jsonField(draft, `Content of ${label}`, place)];
  return [...message.content.map((part, i) => partField(draft, part, [...place, i], label)), add];
}

function kindOf(part) {
  if ((part?.type === "text" || part?.type === undefined) && typeof part?.text === "string") return "text";
  if (part?.type === "image_url" && typeof part.image_url?.url === "string") return "image_url";
  return part?.type === "image" && typeof part.source?.url === "string" ? "image" : "other";
}

function partField(draft, part, path, label) {
  const kind = kindOf(part);
  if (kind === "text") return area(draft, `Text of ${label}`, [...path, "text"], 3);
  if (kind === "other") return jsonField(draft, `Part of ${label}`, path);
  const place = [...path, ...(kind === "image" ? ["source", "url"] : ["image_url", "url"])];
  const input = make("input", { "aria-label": `Image URL in ${label}`, "data-path": place.join("/"), placeholder: "https://… or data:image/…", spellcheck: "false", autocomplete: "off" });
  draft.follow(input, () => String(draft.value(place) ?? ""));
  input.addEventListener("input", () => draft.write(place, quote(input.value)));
  return make("div", { class: "image" }, [make("span", { class: "pill", text: "image" }), input, icon("✕", `Delete the image from ${label}`, () => draft.replace(remove(draft.raw, path), "part"), false)]);
}

const imagePart = (draft) => (draft.dialect === "anthropic" ? '{"type": "image", "source": {"type": "url", "url": ""}}' : '{"type": "image_url", "image_url": {"url": ""}}');

function addImage(draft, place) {
  const now = draft.rawAt(place);
  const list = now.startsWith("[") ? draft.raw : setRaw(draft.raw, place, `[{"type": "text", "text": ${now}}]`);
  draft.replace(insert(list, place, imagePart(draft)), "part");
}

function area(draft, label, path, rows) {
  const element = make("textarea", { "aria-label": label, rows: String(rows), dir: "auto", "data-path": path.join("/") });
  draft.follow(element, () => String(draft.value(path) ?? ""));
  element.addEventListener("input", () => draft.write(path, quote(element.value)));
  return element;
}

function textField(draft, label, path, rows) {
  const element = area(draft, label, path, rows);
  element.removeAttribute("aria-label");
  element.classList.add("tall");
  element.id = freshId();
  return [make("label", { for: element.id, text: label }), element];
}

function line(draft, label, path) {
  const input = make("input", { id: freshId(), "data-path": path.join("/"), spellcheck: "false", autocomplete: "off" });
  draft.follow(input, () => String(draft.value(path) ?? ""));
  input.addEventListener("input", () => draft.write(path, quote(input.value)));
  return [make("label", { for: input.id, text: label }), input];
}

function jsonField(draft, label, path) {
  const element = make("textarea", { "aria-label": `${label}, as JSON`, rows: "3", class: "mono", spellcheck: "false", readonly: true, "data-path": path.join("/") });
  draft.follow(element, () => draft.rawAt(path) ?? "");
  return element;
}

function button(text, act) {
  return make("button", { type: "button", class: "small", text, on: { click: act } });
}

function icon(sign, name, act, off) {
  return make("button", { type: "button", class: "icon small", disabled: off, on: { click: act } },
    [make("span", { "aria-hidden": "true", text: sign }), make("span", { class: "sr", text: name })]);
}
