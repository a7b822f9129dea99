// Sets one field in many rows at once: where each row's dialect keeps it, when it is an option.
import { parsedOf } from "./faces.js";
import { byId, make, setText } from "../../../scripts/page/kit/dom.js";
import { onOneLine, remove, setRaw } from "../../../scripts/page/kit/jsontext.js";
import { plural } from "../../../scripts/page/kit/words.js";
import { toast } from "../frame/widgets.js";
import { jobOf } from "../frame/state.js";
import { columnsAreData } from "../rules/data_columns.js";
import { FORM, optionFault } from "../rules/values.js";
import { OPTIONS, dialectOf } from "../../../scripts/page/kit/rules.js";
import { lensOf, offers, optionPath } from "../rules/lens.js";

/** Make the dialog work. `chosen` gives the ids of the rows it is for. */
export function wireBulk(workspace, chosen, undo) {
  const dialog = byId("bulk-dialog");
  byId("bulk-names").append(...FORM.map((option) => make("option", { value: option.name })));
  byId("bulk").addEventListener("click", () => {
    setText(byId("bulk-title"), `Set a field in ${plural(chosen().size, "row")}`);
    dialog.showModal();
    mark();
  });
  byId("bulk-close").addEventListener("click", () => dialog.close());
  for (const id of ["bulk-name", "bulk-value"]) byId(id).addEventListener("input", mark);
  byId("bulk-form").addEventListener("submit", () => apply(workspace, chosen(), undo));
}

function typed() {
  const text = byId("bulk-value").value.trim();
  return { name: byId("bulk-name").value.trim(), raw: text === "" ? undefined : asJson(text) };
}

function asJson(text) {
  try {
    JSON.parse(text);
    return onOneLine(text);
  } catch {
    return JSON.stringify(text);
  }
}

function mark() {
  const { name, raw } = typed();
  setText(
    byId("bulk-fault"),
    (raw === undefined ? null : optionFault(name, JSON.parse(raw), () => raw, OPTIONS.get(name))) ?? "",
  );
}

function apply(workspace, ids, undo) {
  const { name, raw } = typed();
  let changed = 0;
  const rows = workspace.rows.map((row) => {
    const text = ids.has(row.id) ? rewritten(row, name, raw, jobOf(workspace.settings)) : row.raw;
    if (text === row.raw) return row;
    changed += 1;
    return Object.freeze({ ...row, raw: text });
  });
  if (changed) workspace.commit(rows, `set ${name}`);
  toast(
    changed
      ? `${name} ${raw === undefined ? "taken out of" : "set in"} ${plural(changed, "row")}`
      : "Nothing to change",
    changed ? "Undo" : "",
    changed ? undo : null,
  );
}

function rewritten(row, name, raw, job) {
  const parsed = row.bytes ? null : parsedOf(row);
  if (!parsed) return row.raw;
  const lens = lensOf(dialectOf(parsed), parsed, columnsAreData(job));
  const option = FORM.find((known) => known.name === name && offers(lens, known));
  const path = option ? optionPath(lens, parsed, option) : [name];
  return raw === undefined ? remove(row.raw, path) : setRaw(row.raw, path, raw);
}
