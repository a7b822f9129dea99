// Puts the page together: what is shown, what a press or a key does. One `update` draws it all and may run at any time.
import { byId, counted, make, markTab, setText, toast, wireTabs } from "./dom.js";
import { wireBulk } from "./bulk.js";
import { Card } from "./card.js";
import { EXAMPLE, KINDS } from "./kinds.js";
import { ImportView } from "./import_view.js";
import { wireKeys } from "./keys.js";
import { CHECKED, mustBe } from "./fields.js";
import { decodeBytes, guessFormat, readText } from "./importer.js";
import { fillTemplate } from "./jinja.js";
import { rawAt, remove, setRaw } from "./jsontext.js";
import { checkLine } from "./rules.js";
import { submitCommand } from "./command.js";
import { Store } from "./store.js";
import { exportParts, SubmitView } from "./submit_view.js";
import { Table } from "./table.js";
import { TemplateView } from "./template_view.js";
import { survey, Workspace } from "./state.js";

const SURVEY_MS = 200; // counts follow the typing at this distance

const workspace = new Workspace();
const ui = { view: "rows", active: null, anchor: null, selection: new Set(), find: "", onlyBad: false, cardTab: "form", cardOpen: false };

const isNarrow = () => matchMedia("(max-width: 46rem)").matches;

const act = {
  /** Show a row in the card; with `reveal`, bring it into view in the table too. */
  open(id, { reveal = true, focus = false } = {}) {
    ui.active = id;
    ui.anchor = id;
    ui.cardOpen = true;
    act.show("rows");
    if (reveal) table.reveal(id);
    if (focus) card.focus();
  },
  /** A row is pressed: beside an open card, and on a phone, it opens; in the table alone it becomes the active one. */
  press(id) {
    if (ui.cardOpen || isNarrow()) return act.open(id, { reveal: false });
    ui.active = id;
    ui.anchor = id;
    return update();
  },
  close() {
    ui.cardOpen = false;
    update();
    byId("grid").focus();
  },
  walk(by) {
    const id = table.neighbour(by);
    if (id !== null) act.open(id);
  },
  show(view) {
    if (ui.view !== view) byId("toast").hidden = true;
    ui.view = view;
    update();
  },
  select(id, through) {
    const ids = workspace.rows.map((row) => row.id);
    const [from, to] = [ids.indexOf(through && ui.anchor !== null ? ui.anchor : id), ids.indexOf(id)];
    if (through) for (let i = Math.min(from, to); i <= Math.max(from, to); i += 1) ui.selection.add(ids[i]);
    else if (!ui.selection.delete(id)) ui.selection.add(id);
    ui.active = id;
    ui.anchor = id;
    update();
  },
  selectAll(on) {
    ui.selection = new Set(on ? table.shown.map((i) => workspace.rows[i].id) : []);
    update();
  },
  drop(id, target) {
    workspace.moveTo(ui.selection.has(id) ? ui.selection : new Set([id]), target);
  },
  chosen() {
    return ui.selection.size ? ui.selection : new Set(ui.active === null ? [] : [ui.active]);
  },
  add(raw = KINDS.find((kind) => kind.value === byId("new-kind").value).raw) {
    const row = workspace.makeRow(raw);
    const at = workspace.indexOf(ui.active);
    ui.find = "";
    ui.onlyBad = false;
    ui.cardTab = "form";
    workspace.add([row], at < 0 ? workspace.rows.length : at + 1, "new row");
    act.open(row.id, { focus: true });
  },
  duplicate() {
    if (act.chosen().size === 0) return;
    const copies = workspace.duplicate(act.chosen());
    if (ui.selection.size) ui.selection = copies;
    act.open([...copies][0]);
  },
  remove() {
    const ids = act.chosen();
    if (ids.size === 0) return;
    const next = workspace.rows.slice(workspace.rows.findLastIndex((row) => ids.has(row.id)) + 1)[0] ?? workspace.rows.findLast((row) => !ids.has(row.id));
    ui.selection = new Set();
    ui.active = next?.id ?? null;
    workspace.remove(ids);
    toast(`${counted(ids.size, "row")} deleted`, "Undo", act.undo);
  },
  nudge(by) {
    if (table.filtered || act.chosen().size === 0) return;
    workspace.nudge(act.chosen(), by);
    table.reveal(ui.active);
  },
  undo() {
    const label = workspace.undo();
    if (label) toast(`Undone: ${label}`);
  },
  redo() {
    const label = workspace.redo();
    if (label) toast(`Done again: ${label}`);
  },
};

const table = new Table(workspace, ui, act);
const card = new Card(workspace, ui, act);
const importer = new ImportView(workspace, (rows) => {
  const bad = survey(rows, workspace.settings).bad.length;
  if (bad) toast(`${counted(rows.length, "row")} imported, ${counted(bad, "line")} to mend`, "Show", () => { ui.onlyBad = true; act.open(rows[survey(rows, workspace.settings).bad[0]].id); });
  else toast(`${counted(rows.length, "row")} imported`, "Undo", act.undo);
  ui.active = rows[0].id;
  ui.view = "rows";
  ui.cardOpen = !isNarrow();
  update();
  table.reveal(rows[0].id);
});
const templateView = new TemplateView(workspace);
const submitView = new SubmitView(workspace, act);
const store = new Store(workspace, tellSaved);

/** Draw the page as the rows, the settings and `ui` now have it. */
function update() {
  const empty = workspace.rows.length === 0;
  for (const id of ["rows", "template", "submit"]) byId(id).hidden = id !== ui.view;
  markTab(byId("tabs"), byId(`tab-${ui.view}`));
  byId("empty").hidden = !empty;
  byId("work").hidden = empty;
  document.body.classList.toggle("editing", ui.cardOpen && ui.active !== null && ui.view === "rows" && !empty);
  if (workspace.indexOf(ui.active) < 0) ui.active = workspace.rows[0]?.id ?? null;
  bars();
  if (ui.view === "rows" && !empty) { table.update(); card.update(); foot(); }
  if (ui.view === "template") templateView.update();
  if (ui.view === "submit") submitView.update();
  clearTimeout(counting);
  counting = setTimeout(count, SURVEY_MS);
}

let counting = 0;

function count() {
  const { bad } = survey(workspace.rows, workspace.settings);
  setText(byId("count"), workspace.rows.length ? counted(workspace.rows.length, "row") : "No rows yet");
  byId("bad-count").hidden = bad.length === 0;
  setText(byId("bad-count"), counted(bad.length, "problem"));
}

function bars() {
  const none = act.chosen().size === 0 || workspace.rows.length === 0;
  byId("undo").disabled = workspace.past.length === 0;
  byId("redo").disabled = workspace.future.length === 0;
  byId("export").disabled = workspace.rows.length === 0;
  byId("export-again").disabled = workspace.rows.length === 0;
  for (const id of ["duplicate", "delete", "bulk"]) byId(id).disabled = none;
  for (const id of ["up", "down"]) byId(id).disabled = none || Boolean(ui.find || ui.onlyBad);
  byId("open").hidden = ui.cardOpen;
  document.body.classList.toggle("selecting", ui.selection.size > 0);
  byId("only-bad").checked = ui.onlyBad;
  if (byId("find") !== document.activeElement) byId("find").value = ui.find;
}

function foot() {
  const some = ui.selection.size ? `${ui.selection.size.toLocaleString("en")} selected · ` : "";
  const shown = table.filtered ? `${table.shown.length.toLocaleString("en")} of ${counted(workspace.rows.length, "row")} shown · ` : "";
  setText(byId("foot"), `${some}${shown}`);
  byId("nothing").hidden = table.shown.length > 0;
}

function tellSaved(state, error) {
  const words = { saving: "Saving…", saved: "Saved in this browser", failed: "Not saved in this browser", elsewhere: "Not saved: open in another tab" };
  setText(byId("saved"), words[state]);
  byId("saved").className = `saved ${state}`;
  byId("elsewhere").hidden = state !== "elsewhere";
  if (state === "elsewhere") setText(byId("elsewhere-text"), "The prompt builder is open in another tab, which keeps the work. Changes made here are not kept.");
  if (state === "failed" && error) toast(`This browser keeps nothing for this page (${error.name ?? "error"}): export your rows before you leave.`);
}

function wire() {
  for (const { value, label } of KINDS) byId("new-kind").append(make("option", { value, text: label }));
  const press = (id, listener) => byId(id).addEventListener("click", listener);
  for (const name of ["undo", "redo", "duplicate"]) press(name, () => act[name]());
  press("add", () => act.add());
  press("open", () => act.open(ui.active, { focus: true }));
  press("delete", () => act.remove());
  press("up", () => act.nudge(-1));
  press("down", () => act.nudge(1));
  press("import", () => importer.open());
  press("empty-paste", () => importer.open());
  press("empty-file", () => byId("file").click());
  press("empty-add", () => act.add(KINDS[0].raw));
  press("empty-example", () => { workspace.add(EXAMPLE.map((raw) => workspace.makeRow(raw)), 0, "example"); act.open(workspace.rows[0].id); });
  press("export", () => submitView.save());
  press("bad-count", () => { ui.onlyBad = true; act.show("rows"); });
  press("clear", () => byId("clear-dialog").showModal());
  press("take-over", async () => { if (await store.takeOver()) toast("Here is what the other tab kept. Undo brings back the rows of this one.", "Undo", act.undo); });
  byId("clear-dialog").addEventListener("close", () => { if (byId("clear-dialog").returnValue === "yes") clear(); });
  byId("find").addEventListener("input", (event) => { ui.find = event.target.value; update(); });
  byId("only-bad").addEventListener("change", (event) => { ui.onlyBad = event.target.checked; update(); });
  wireTabs(byId("tabs"), (tab) => act.show(tab.getAttribute("aria-controls")));
  press("keys", () => byId("keys-dialog").showModal());
  wireBulk(workspace, act.chosen, act.undo);
  wireKeys({ act, table, ui, importer, update });
}

function clear() {
  const fresh = new Workspace();
  workspace.settings = fresh.settings;
  workspace.rows = fresh.rows;
  workspace.past = [];
  workspace.future = [];
  Object.assign(ui, { active: null, selection: new Set(), cardOpen: false, view: "rows", find: "", onlyBad: false });
  workspace.changed("rows");
  toast("Everything was cleared");
}

workspace.onChange(() => {
  const known = new Set(workspace.rows.map((row) => row.id));
  for (const id of ui.selection) if (!known.has(id)) ui.selection.delete(id);
  update();
});
wire();
update();
tellSaved("saved");
store.start().then(() => { document.documentElement.dataset.ready = "yes"; });

/** For tests and for the console: the page's pure functions. */
const optionWords = () => Object.fromEntries([...CHECKED].map(([name, option]) => [name, mustBe(option)]));
globalThis.promptBuilder = { checkLine, readText, guessFormat, decodeBytes, fillTemplate, submitCommand, exportParts, optionWords, workspace,
  jsontext: { setRaw, rawAt, remove } };
