// What a person can do with the rows: each action changes the rows or the view, and draws the page anew.
import { KINDS } from "./kinds.js";
import { toast } from "./widgets.js";
import { byId } from "../../../scripts/page/kit/dom.js";
import { plural } from "../../../scripts/page/kit/words.js";

/** Tell whether the screen is a phone's. */
export const isNarrow = () => matchMedia("(max-width: 46rem)").matches;

/** Make the actions over `page`: {workspace, ui, table, card, update}. */
export function makeActions(page) {
  const { workspace, ui, update } = page;
  const act = {
    /** Show a row in the card; with `reveal`, bring it into view in the table too. */
    open(id, { reveal = true, focus = false } = {}) {
      ui.active = id;
      ui.anchor = id;
      ui.cardOpen = true;
      if (isNarrow()) byId("toast").hidden = true;
      act.show("rows");
      if (reveal) page.table.reveal(id);
      if (focus) page.card.focus();
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
      const id = page.table.neighbour(by);
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
      ui.selection = new Set(on ? page.table.shown.map((i) => workspace.rows[i].id) : []);
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
      const next =
        workspace.rows.slice(workspace.rows.findLastIndex((row) => ids.has(row.id)) + 1)[0] ??
        workspace.rows.findLast((row) => !ids.has(row.id));
      ui.selection = new Set();
      ui.active = next?.id ?? null;
      workspace.remove(ids);
      toast(`${plural(ids.size, "row")} deleted`, "Undo", act.undo);
    },
    nudge(by) {
      if (page.table.filtered || act.chosen().size === 0) return;
      workspace.nudge(act.chosen(), by);
      page.table.reveal(ui.active);
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
  return act;
}
