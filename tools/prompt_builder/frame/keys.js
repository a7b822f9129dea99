// Keys, pastes and drops.
import { byId } from "../../../scripts/page/kit/dom.js";
import { acceptKeys, isTyping, keyList } from "../../../scripts/page/kit/keys.js";

/** Listen to the whole page, and list its keys for people. */
export function wireKeys(page) {
  const bindings = [...inGrid(page), ...anywhere(page)];
  acceptKeys(bindings);
  byId("keys-title").after(keyList(bindings));
  addEventListener("paste", (event) => {
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const files = [...event.clipboardData.files];
    const text = event.clipboardData.getData("text/plain");
    if (files.length) page.importer.files(files);
    else if (text) page.importer.open(text);
  });
  wireDrop(page);
}

const STEPS = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };

/** What keys do among the rows. */
function inGrid({ act, table, ui, update }) {
  const where = (event) => event.target === byId("grid");
  const step = (event) =>
    STEPS[event.key] ?? { PageDown: table.pageSize(), PageUp: -table.pageSize() }[event.key];
  const leave = () => {
    ui.selection = new Set();
    ui.cardOpen = false;
    update();
  };
  return [
    {
      keys: [...Object.keys(STEPS), "PageDown", "PageUp"],
      shown: "↑ ↓ PgUp PgDn Home End",
      title: "Walk through the rows",
      run: (event) => walk(step(event), event.shiftKey, { table, ui, update }),
    },
    { keys: ["Enter"], title: "Edit the row", run: () => act.open(ui.active, { focus: true }) },
    {
      keys: ["F2"],
      shown: "F2, double click",
      title: "Edit in the table",
      run: () => table.editActive() || act.open(ui.active, { focus: true }),
    },
    { keys: ["Escape"], title: "Back to the rows", run: leave },
    { keys: [" "], shown: "Space, Shift+↑ ↓", title: "Select", run: () => act.select(ui.active, false) },
    {
      keys: ["Alt+ArrowUp", "Alt+ArrowDown"],
      shown: "Alt+↑ ↓",
      title: "Move rows",
      run: (event) => act.nudge(STEPS[event.key]),
    },
    { keys: ["Delete"], shown: "Del", title: "Delete", run: () => act.remove() },
  ].map((binding) => ({ ...binding, where }));
}

/** What keys do wherever nobody types. */
function anywhere({ act }) {
  const find = () => {
    act.show("rows");
    byId("find").focus();
  };
  return [
    {
      keys: ["Escape"],
      typing: true,
      where: (event) => event.target.closest?.("#card"),
      run: () => act.close(),
    },
    { keys: ["n"], shown: "N", title: "New row", run: () => act.add() },
    { keys: ["Ctrl+d"], shown: "Ctrl+D", title: "Duplicate", run: () => act.duplicate() },
    {
      keys: ["Ctrl+z"],
      shown: "Ctrl+Z, Ctrl+Y",
      title: "Undo, redo",
      run: (event) => (event.shiftKey ? act.redo() : act.undo()),
    },
    { keys: ["Ctrl+y"], run: () => act.redo() },
    { keys: ["/"], title: "Find", run: find },
    { keys: ["?"], title: "This list", run: () => byId("keys-dialog").showModal() },
  ];
}

function walk(step, extend, { table, ui, update }) {
  const before = ui.active;
  ui.active = table.neighbour(step);
  if (extend) {
    ui.selection.add(before);
    ui.selection.add(ui.active);
  }
  update();
  table.reveal(ui.active);
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
