// The controls that the parts of a row's form are made of.
import { make } from "../../../scripts/page/kit/dom.js";
import { freshId } from "../frame/widgets.js";

/** Write a text as JSON. */
export const quote = (text) => JSON.stringify(text);

/** Make a text area that follows the text at `path`. */
export function area(draft, label, path, rows) {
  const element = make("textarea", {
    "aria-label": label,
    rows: String(rows),
    dir: "auto",
    "data-path": path.join("/"),
  });
  draft.follow(element, () => String(draft.value(path) ?? ""));
  element.addEventListener("input", () => draft.write(path, quote(element.value)));
  return element;
}

/** Make a labelled text area. */
export function textField(draft, label, path, rows) {
  const element = area(draft, label, path, rows);
  element.removeAttribute("aria-label");
  element.classList.add("tall");
  element.id = freshId();
  return [make("label", { for: element.id, text: label }), element];
}

/** Make a labelled field of one line. */
export function line(draft, label, path) {
  const input = make("input", { id: freshId(), "data-path": path.join("/"), spellcheck: "false", autocomplete: "off" });
  draft.follow(input, () => String(draft.value(path) ?? ""));
  input.addEventListener("input", () => draft.write(path, quote(input.value)));
  return [make("label", { for: input.id, text: label }), input];
}

/** Show a value that the form cannot edit, as JSON. */
export function jsonField(draft, label, path) {
  const element = make("textarea", {
    "aria-label": `${label}, as JSON`,
    rows: "3",
    class: "mono",
    spellcheck: "false",
    readonly: true,
    "data-path": path.join("/"),
  });
  draft.follow(element, () => draft.rawAt(path) ?? "");
  return element;
}

/** Make a button with a word on it. */
export function button(text, act) {
  return make("button", { type: "button", class: "small", text, onclick: act });
}

/** Make a button with a sign on it and a name for screen readers. */
export function icon(sign, name, act, off) {
  return make("button", { type: "button", class: "icon small", disabled: off, onclick: act }, [
    make("span", { "aria-hidden": "true", text: sign }),
    make("span", { class: "sr", text: name }),
  ]);
}
