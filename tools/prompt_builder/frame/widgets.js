// What several parts of the page show or need: a message in passing, tab lists, ids.
import { byId, setText } from "../../../scripts/page/kit/dom.js";

let serial = 0;

/** Make an id that no other element has. */
export const freshId = () => `f${(serial += 1)}`;

let toastTimer = 0;

/** Say something in passing, with one thing to do about it. */
export function toast(text, label = "", act = null) {
  setText(byId("toast-text"), text);
  const button = byId("toast-act");
  button.hidden = !act;
  button.textContent = label;
  button.onclick = () => {
    byId("toast").hidden = true;
    act?.();
  };
  byId("toast").hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => {
    byId("toast").hidden = true;
  }, 8_000);
}

/** Make a tab list work: arrow keys, selection, and the panel shown. */
export function wireTabs(list, choose) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = tabs.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = tabs[(at + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
  for (const tab of tabs) tab.addEventListener("click", () => choose(tab));
}

/** Mark the chosen tab of a list. */
export function markTab(list, chosen) {
  for (const tab of list.querySelectorAll("[role=tab]")) {
    tab.setAttribute("aria-selected", String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
  }
}
