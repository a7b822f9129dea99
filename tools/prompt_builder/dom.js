// The few ways in which this page touches the document. Text goes in as text; nothing is ever parsed as markup.

/** Find an element of the page by its id. */
export const byId = (id) => document.getElementById(id);

/** Make an element. `props` are attributes, except text, on (listeners) and value. */
export function make(tag, props = {}, children = []) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "text") element.textContent = value;
    else if (name === "on")
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Copy the content of a <template>. */
export const copyOf = (id) => byId(id).content.cloneNode(true);

/** Set text only where it differs, so that nothing is announced or selected anew for no reason. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let serial = 0;

/** Make an id that no other element has. */
export const freshId = () => `f${(serial += 1)}`;

/** Hand the user a file. */
export function download(name, parts, type) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = make("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

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

/** Write a number for people. */
export const counted = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

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
