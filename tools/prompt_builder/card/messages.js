// The messages of a conversation: roles, texts, images by URL, their order.
import { area, button, icon, jsonField, quote } from "./controls.js";
import { make } from "../../../scripts/page/kit/dom.js";
import { isObject } from "../../../scripts/page/kit/exact.js";
import { insert, remove, setRaw, swap } from "../../../scripts/page/kit/jsontext.js";

const ROLES = ["system", "developer", "user", "assistant", "tool"];

/** Build the list of messages; the first is left out when it is shown as the system message. */
export function messages(draft, talk, skip) {
  const path = draft.lens.messages;
  const cards = talk
    .map((message, i) => (i < skip ? null : oneMessage(draft, message, i, skip, talk.length)))
    .filter(Boolean);
  const next = talk.at(-1)?.role === "user" ? "assistant" : "user";
  return [
    make("p", { class: "label", text: "Messages" }),
    make("div", { class: "messages" }, cards),
    button("Add a message", () =>
      draft.replace(insert(draft.raw, path, `{"role": "${next}", "content": ""}`), "message"),
    ),
  ];
}

function oneMessage(draft, message, i, first, count) {
  const path = [...draft.lens.messages, i];
  if (!isObject(message)) return jsonField(draft, `Message ${i + 1}`, path);
  const label = `message ${i + 1 - first}`;
  const bar = make("div", { class: "message-bar" }, [
    roleField(draft, label, [...path, "role"]),
    make("span", { class: "grow" }),
    icon(
      "↑",
      `Move ${label} up`,
      () => draft.replace(swap(draft.raw, draft.lens.messages, i, i - 1), "message"),
      i === first,
    ),
    icon(
      "↓",
      `Move ${label} down`,
      () => draft.replace(swap(draft.raw, draft.lens.messages, i, i + 1), "message"),
      i === count - 1,
    ),
    icon("✕", `Delete ${label}`, () => draft.replace(remove(draft.raw, path), "message"), false),
  ]);
  return make("div", { class: "message", role: "group", "aria-label": label }, [
    bar,
    ...content(draft, message, path, label),
  ]);
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

/** Tell what a part of a message's content is. */
export function kindOf(part) {
  if ((part?.type === "text" || part?.type === undefined) && typeof part?.text === "string") return "text";
  if (part?.type === "image_url" && typeof part.image_url?.url === "string") return "image_url";
  return part?.type === "image" && typeof part.source?.url === "string" ? "image" : "other";
}

function partField(draft, part, path, label) {
  const kind = kindOf(part);
  if (kind === "text") return area(draft, `Text of ${label}`, [...path, "text"], 3);
  if (kind === "other") return jsonField(draft, `Part of ${label}`, path);
  const place = [...path, ...(kind === "image" ? ["source", "url"] : ["image_url", "url"])];
  const input = make("input", {
    "aria-label": `Image URL in ${label}`,
    "data-path": place.join("/"),
    placeholder: "https://… or data:image/…",
    spellcheck: "false",
    autocomplete: "off",
  });
  draft.follow(input, () => String(draft.value(place) ?? ""));
  input.addEventListener("input", () => draft.write(place, quote(input.value)));
  return make("div", { class: "image" }, [
    make("span", { class: "pill", text: "image" }),
    input,
    icon("✕", `Delete the image from ${label}`, () => draft.replace(remove(draft.raw, path), "part"), false),
  ]);
}

/** Write an empty image part as the row's dialect has it. */
export const imagePart = (draft) =>
  draft.dialect === "anthropic"
    ? '{"type": "image", "source": {"type": "url", "url": ""}}'
    : '{"type": "image_url", "image_url": {"url": ""}}';

function addImage(draft, place) {
  const now = draft.rawAt(place);
  const list = now.startsWith("[") ? draft.raw : setRaw(draft.raw, place, `[{"type": "text", "text": ${now}}]`);
  draft.replace(insert(list, place, imagePart(draft)), "part");
}
