// The template: a prompt with fields in it, tried on the rows at hand.
import { byId, download, make, setText } from "../../../scripts/page/kit/dom.js";
import { setRaw } from "../../../scripts/page/kit/jsontext.js";
import { count, plural } from "../../../scripts/page/kit/words.js";
import { toast } from "../frame/widgets.js";
import { keysOf, parsedOf } from "../rows/faces.js";
import { fillTemplate, inspectTemplate, placeholder } from "../rules/jinja.js";
import { dialectOf } from "../../../scripts/page/kit/rules.js";

export const TEMPLATE = "prompt_template.jinja";
const FIELDS = 60; // fields offered
const SAMPLED = 500; // rows looked at for their fields

export class TemplateView {
  constructor(workspace) {
    Object.assign(this, { workspace, at: 0 });
    const text = byId("template-text");
    text.addEventListener("input", () => this.write(text.value));
    byId("by-template").addEventListener("change", (event) => workspace.set({ byTemplate: event.target.checked }));
    byId("template-save").addEventListener("click", () => saveTemplate(workspace.settings.template));
    byId("template-apply").addEventListener("click", () => this.apply());
    byId("preview-back").addEventListener("click", () => this.page(-1));
    byId("preview-next").addEventListener("click", () => this.page(1));
  }

  /** Keep the template. One that was just begun is meant for the job: rows that it gives a prompt are no problems. */
  write(template) {
    const begun = template && !this.workspace.settings.template;
    this.workspace.set(begun ? { template, byTemplate: true } : { template });
  }

  page(by) {
    this.at += by;
    this.update();
  }

  update() {
    const { rows, settings } = this.workspace;
    const text = byId("template-text");
    if (text !== document.activeElement) text.value = settings.template;
    byId("by-template").checked = settings.byTemplate;
    this.at = Math.max(0, Math.min(rows.length - 1, this.at));
    this.showFields();
    this.showPreview(inspectTemplate(settings.template));
  }

  showFields() {
    const names = [...new Set(this.workspace.rows.slice(0, SAMPLED).flatMap(keysOf))].slice(0, FIELDS);
    const key = JSON.stringify(names);
    if (key === this.fieldKey) return;
    this.fieldKey = key;
    byId("template-fields").replaceChildren(
      ...names.map((name) => {
        const place = placeholder(name);
        return make("button", {
          type: "button",
          class: "chip",
          text: name,
          disabled: !place,
          title: place ? null : "Not a name a template can use: rename the field first",
          onclick: () => this.putIn(place),
        });
      }),
    );
    if (names.length === 0)
      byId("template-fields").replaceChildren(
        make("span", { class: "quiet", text: "Import rows first, then their fields stand here." }),
      );
  }

  putIn(place) {
    const text = byId("template-text");
    text.setRangeText(place, text.selectionStart, text.selectionEnd, "end");
    text.focus();
    this.write(text.value);
  }

  showPreview(found) {
    const { rows, settings } = this.workspace;
    const row = rows[this.at];
    setText(byId("template-fault"), found.fault ?? found.beyond ?? "");
    setText(byId("preview-which"), row ? `line ${this.at + 1} of ${count(rows.length)}` : "no rows");
    const filled =
      row && settings.template && !found.fault && !found.beyond ? fillTemplate(settings.template, row.raw) : null;
    setText(byId("preview"), filled?.text ?? (settings.template ? "" : "The prompt of each row appears here."));
    const usable = Boolean(settings.template) && !found.fault;
    byId("template-save").disabled = !usable;
    byId("template-apply").disabled = !usable || Boolean(found.beyond) || rows.length === 0;
    byId("preview-back").disabled = this.at <= 0;
    byId("preview-next").disabled = this.at >= rows.length - 1;
    setText(byId("preview-fits"), usable && !found.beyond ? this.fits(filled) : "");
  }

  fits(filled) {
    const rows = this.workspace.rows.filter(isPromptRow);
    const lacking = rows.filter(
      (row) => fillTemplate(this.workspace.settings.template, row.raw).missing !== null,
    ).length;
    const here = filled?.missing ? `This row has no field “${filled.missing}”. ` : "";
    if (rows.length === 0) return here;
    return (
      here +
      (lacking
        ? `${count(lacking)} of ${plural(rows.length, "prompt row")} would fail: a field is missing.`
        : `Every field is there in ${rows.length === 1 ? "the prompt row" : `all ${plural(rows.length, "prompt row")}`}.`)
    );
  }

  /** Write the filled template into each prompt row that has its fields. */
  apply() {
    const { rows, settings } = this.workspace;
    let written = 0;
    this.workspace.commit(
      rows.map((row) => {
        const filled = isPromptRow(row) ? fillTemplate(settings.template, row.raw) : null;
        if (!filled || filled.missing !== null) return row;
        written += 1;
        return Object.freeze({ ...row, raw: setRaw(row.raw, ["prompt"], JSON.stringify(filled.text)), note: null });
      }),
      "write the template into the rows",
    );
    this.workspace.set({ byTemplate: false });
    toast(`${plural(written, "prompt")} written`, "Undo", () => this.workspace.undo());
  }
}

/** Hand out the file the job reads: Jinja drops one line break at the end, so one is put there. */
export function saveTemplate(template) {
  download(TEMPLATE, "text/plain", [`${template}\n`]);
}

function isPromptRow(row) {
  const parsed = row.bytes ? null : parsedOf(row);
  return parsed !== null && dialectOf(parsed) === "prompt";
}
