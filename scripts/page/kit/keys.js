// The keyboard: a page has one table of keys, from which both what they do and the list of them come.
// A binding: {keys, run, title, shown, typing, where}. `run` returns false to leave the key to the browser.
import { make } from "./dom.js";

const FIELDS = "input:not([type=checkbox]), textarea, select, [contenteditable]";
const SIGNS = { ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc", PageDown: "Page ↓", PageUp: "Page ↑" };

/** Tell whether someone writes there. */
export const isTyping = (target) => Boolean(target.closest?.(FIELDS));

/** Name a pressed key with Ctrl (or Command) and Alt: "j", "Ctrl+z", "Alt+ArrowUp". Shift is left to `run`. */
function nameOf(event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.altKey ? "Alt+" : ""}${key}`;
}

/** Send keys to the first binding that has them; while someone types only to those with `typing`, in a dialog to none. */
export function acceptKeys(bindings) {
  addEventListener("keydown", (event) => {
    if (event.isComposing || document.querySelector("dialog[open]")) return;
    const [name, typing] = [nameOf(event), isTyping(event.target)];
    const found = bindings.find(
      (binding) =>
        binding.keys.includes(name) && (binding.typing || !typing) && (binding.where ? binding.where(event) : true),
    );
    if (found && found.run(event) !== false) event.preventDefault();
  });
}

/** List the keys for people: those with a title. `shown` stands for keys that are best told together. */
export function keyList(bindings) {
  const told = bindings.filter((binding) => binding.title);
  return make(
    "dl",
    { class: "keys" },
    told.map(({ keys, shown, title }) =>
      make(
        "div",
        {},
        make("dt", {}, shown ?? keys.map((key) => make("kbd", {}, SIGNS[key] || key))),
        make("dd", {}, title),
      ),
    ),
  );
}
