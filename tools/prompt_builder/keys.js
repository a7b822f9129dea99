// Keys, pastes and drops.
import { byId } from "./dom.js";

const typing = (target) => target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");

/** Listen to the whole page. */
export function wireKeys(page) {
  addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    if (
      always(event, page) ||
      (!typing(event.target) && anywhere(event, page)) ||
      (event.target === byId("grid") && inGrid(event, page))
    )
      event.preventDefault();
  });
  addEventListener("paste", (event) => {
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    const files = [...event.clipboardData.files];
    const text = event.clipboardData.getData("text/plain");
    if (files.length) page.importer.files(files);
    else if (text) page.importer.open(text);
  });
  wireDrop(page);
}

function always(event, { act }) {
  if (event.key === "Escape" && event.target.closest?.("#card")) return act.close() ?? true;
  return false;
}

function anywhere(event, { act }) {
  const command = event.ctrlKey || event.metaKey;
  const key = event.key.toLowerCase();
  if (command && key === "z") return (event.shiftKey ? act.redo() : act.undo()) ?? true;
  if (command && key === "y") return act.redo() ?? true;
  if (command && key === "d") return act.duplicate() ?? true;
  if (command || event.altKey) return false;
  if (event.key === "/") return act.show("rows") ?? byId("find").focus() ?? true;
  if (event.key === "?") return byId("keys-dialog").showModal() ?? true;
  if (key === "n") return act.add() ?? true;
  return false;
}

const STEPS = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };

function inGrid(event, { act, table, ui, update }) {
  if (event.altKey && event.key.startsWith("Arrow")) return act.nudge(STEPS[event.key]) ?? true;
  const page = { PageDown: table.pageSize(), PageUp: -table.pageSize() }[event.key];
  const step = STEPS[event.key] ?? page;
  if (step) return walk(step, event.shiftKey, { act, table, ui, update });
  if (event.key === "F2" && table.editActive()) return true;
  if (event.key === "Enter" || event.key === "F2") return act.open(ui.active, { focus: true }) ?? true;
  if (event.key === " ") return act.select(ui.active, false) ?? true;
  if (event.key === "Delete") return act.remove() ?? true;
  if (event.key === "Escape") {
    ui.selection = new Set();
    ui.cardOpen = false;
    return update() ?? true;
  }
  return false;
}

function walk(step, extend, { act, table, ui, update }) {
  const before = ui.active;
  ui.active = table.neighbour(step);
  if (extend) {
    ui.selection.add(before);
    ui.selection.add(ui.active);
  }
  update();
  table.reveal(ui.active);
  return true;
}

function wireDrop({ importer }) {
  const shade = byId("drop");
  let depth = 0;
  const show = (on) => {
    depth = Math.max(0, depth + (on ? 1 : -1));
    shade.hidden = depth === 0;
  };
  addEventListener("dragenter", (event) => {
    event.preventDefault();
    show(true);
  });
  addEventListener("dragleave", () => show(false));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    shade.hidden = true;
    const files = [...event.dataTransfer.files];
    const text = event.dataTransfer.getData("text/plain");
    if (files.length) importer.files(files);
    else if (text) importer.open(text);
  });
}
