// Words that pass: what was copied or saved, to people who see and people who listen.
import { byId, download, make } from "../kit/dom.js";

/** Say something to people who see and people who listen. */
let toastTimer = 0;

export function say(message) {
  byId("toast").textContent = message;
  byId("toast").classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => byId("toast").classList.remove("shown"), 2600);
}

/** Copy text; works from disk, where the clipboard interface may be missing. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "offscreen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`${what} copied`);
}

export const copyButton = (label, what, text) =>
  make(
    "button",
    { type: "button", class: "small", onclick: () => copy(typeof text === "function" ? text() : text, what) },
    label,
  );

/** Hand the user a file and say so. */
export function save(name, type, parts) {
  download(name, type, parts);
  say(`${name} saved`);
}
