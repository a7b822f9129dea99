// Puts the page together: what is shown, what a press or a key does. One `update` draws it all and may run at any time.
import { byId, make, setText } from "../../scripts/page/kit/dom.js";
import { count, plural } from "../../scripts/page/kit/words.js";
import { Card } from "./card/card.js";
import { isNarrow, makeActions } from "./frame/actions.js";
import { wireKeys } from "./frame/keys.js";
import { EXAMPLE, KINDS } from "./frame/kinds.js";
import { pure } from "./frame/pure.js";
import { Workspace, survey } from "./frame/state.js";
import { Store } from "./frame/store.js";
import { markTab, toast, wireTabs } from "./frame/widgets.js";
import { ImportView } from "./importing/import_view.js";
import { wireBulk } from "./rows/bulk.js";
import { Table } from "./rows/table.js";
import { SubmitView } from "./submit/submit_view.js";
import { TemplateView } from "./submit/template_view.js";

const SURVEY_MS = 200; // counts follow the typing at this distance

const workspace = new Workspace();
const ui = {
  view: "rows",
  active: null,
  anchor: null,
  selection: new Set(),
  find: "",
  onlyBad: false,
  cardTab: "form",
  cardOpen: false,
};

const page = { workspace, ui, update };
const act = makeActions(page);
const table = (page.table = new Table(workspace, ui, act));
const card = (page.card = new Card(workspace, ui, act));
const importer = new ImportView(workspace, (rows, needTemplate) => {
  const bad = survey(rows, workspace.settings).bad.length;
  if (needTemplate)
    toast(`${plural(rows.length, "row")} imported: a template can make their prompts`, "Template", () =>
      act.show("template"),
    );
  else if (bad)
    toast(`${plural(rows.length, "row")} imported, ${plural(bad, "line")} to mend`, "Show", () => {
      ui.onlyBad = true;
      act.open(rows[survey(rows, workspace.settings).bad[0]].id);
    });
  else toast(`${plural(rows.length, "row")} imported`, "Undo", act.undo);
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
  if (ui.view === "rows" && !empty) {
    table.update();
    card.update();
    foot();
  }
  if (ui.view === "template") templateView.update();
  if (ui.view === "submit") submitView.update();
  clearTimeout(counting);
  counting = setTimeout(showCounts, SURVEY_MS);
}

let counting = 0;

function showCounts() {
  const { bad } = survey(workspace.rows, workspace.settings);
  setText(byId("count"), workspace.rows.length ? plural(workspace.rows.length, "row") : "No rows yet");
  byId("bad-count").hidden = bad.length === 0;
  setText(byId("bad-count"), plural(bad.length, "problem"));
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
  const some = ui.selection.size ? `${count(ui.selection.size)} selected · ` : "";
  const shown = table.filtered
    ? `${count(table.shown.length)} of ${plural(workspace.rows.length, "row")} shown · `
    : "";
  setText(byId("foot"), `${some}${shown}`);
  byId("nothing").hidden = table.shown.length > 0;
}

function tellSaved(state, error) {
  const words = {
    saving: "Saving…",
    saved: "Saved in this browser",
    failed: "Not saved in this browser",
    elsewhere: "Not saved: open in another tab",
  };
  setText(byId("saved"), words[state]);
  byId("saved").className = `saved ${state}`;
  byId("elsewhere").hidden = state !== "elsewhere";
  if (state === "elsewhere")
    setText(
      byId("elsewhere-text"),
      "The prompt builder is open in another tab, which keeps the work. Changes made here are not kept.",
    );
  if (state === "failed" && error)
    toast(`This browser keeps nothing for this page (${error.name ?? "error"}): export your rows before you leave.`);
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
  press("empty-example", () => {
    workspace.add(
      EXAMPLE.map((raw) => workspace.makeRow(raw)),
      0,
      "example",
    );
    if (isNarrow()) act.show("rows");
    else act.open(workspace.rows[0].id);
  });
  press("export", () => submitView.save());
  press("bad-count", () => {
    ui.onlyBad = true;
    act.show("rows");
  });
  press("clear", () => byId("clear-dialog").showModal());
  press("take-over", async () => {
    if (await store.takeOver())
      toast("Here is what the other tab kept. Undo brings back the rows of this one.", "Undo", act.undo);
  });
  byId("clear-dialog").addEventListener("close", () => {
    if (byId("clear-dialog").returnValue === "yes") clear();
  });
  byId("find").addEventListener("input", (event) => {
    ui.find = event.target.value;
    update();
  });
  byId("only-bad").addEventListener("change", (event) => {
    ui.onlyBad = event.target.checked;
    update();
  });
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
store.start().then(() => {
  document.documentElement.dataset.ready = "yes";
});

globalThis.promptBuilder = { ...pure, workspace };
