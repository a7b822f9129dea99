// What the job would make of the rows, the exported file, and the command that submits it.
import { submitCommand, wholeRange } from "./command.js";
import { byId, download, make, setText, put } from "../../../scripts/page/kit/dom.js";
import { count, plural } from "../../../scripts/page/kit/words.js";
import { checkOf, survey } from "../frame/state.js";
import { toast } from "../frame/widgets.js";
import { parsedOf } from "../rows/faces.js";
import { countDataColumns } from "../rules/data_columns.js";
import { lensOf, valueAt } from "../rules/lens.js";
import { RULES, dialectOf } from "../../../scripts/page/kit/rules.js";

const LISTED = 200; // problems listed
const LABELS = {
  prompt: "prompt row",
  openai: "OpenAI Batch line",
  anthropic: "Anthropic line",
  runpod: "RunPod line",
  bedrock: "Bedrock record",
  none: "broken line",
};
const SETTINGS = ["name", "bundle", "output", "model", "endpoint", "options", "shell"];

export class SubmitView {
  constructor(workspace, act) {
    Object.assign(this, { workspace, act });
    put(
      byId("set-endpoint"),
      Object.keys(RULES.endpoints).map((name) => make("option", { text: name })),
    );
    byId("set-model").placeholder = RULES.defaults.ModelName;
    for (const name of SETTINGS)
      byId(`set-${name}`).addEventListener("input", (event) => workspace.set({ [name]: event.target.value }));
    byId("copy").addEventListener("click", () => this.copy());
    byId("export-again").addEventListener("click", () => this.save());
    byId("problems").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) act.open(Number(button.dataset.id), { reveal: true });
    });
  }

  update() {
    for (const name of SETTINGS) {
      const input = byId(`set-${name}`);
      if (input !== document.activeElement) input.value = this.workspace.settings[name];
    }
    setText(byId("command"), this.command());
    byId("with-template").hidden = !(this.workspace.settings.byTemplate && this.workspace.settings.template);
    this.showChecks();
  }

  command() {
    const { rows, settings } = this.workspace;
    const template = settings.byTemplate && settings.template ? "prompt_template.jinja" : "";
    return submitCommand(
      settings.bundle,
      [
        ["InputFile", fileName(settings.name)],
        ["Prompts", wholeRange(rows.length)],
        ["OutputDir", settings.output],
        ["ModelName", settings.model],
        ["Endpoint", settings.endpoint === "auto" ? "" : settings.endpoint],
        ["OptionsInRows", settings.options === RULES.defaults.OptionsInRows ? "" : settings.options],
        ["PromptTemplateFile", template],
      ],
      settings.shell,
    );
  }

  showChecks() {
    const { rows, settings } = this.workspace;
    const { bad, dialects } = survey(rows, settings);
    const shared = sharedIds(rows);
    const kinds = [...dialects].map(([dialect, n]) => plural(n, LABELS[dialect])).join(", ");
    const verdicts = [[rows.length > 0 ? "good" : "bad", rows.length ? `${plural(rows.length, "row")}: ${kinds}` : "No rows yet"]];
    if (rows.length)
      verdicts.push([
        bad.length === 0 ? "good" : "bad",
        bad.length ? `${plural(bad.length, "row")} would fail` : "Every row passes the job’s checks",
      ]);
    if (shared.length)
      verdicts.push([
        "bad",
        `${plural(shared.length, "name is", "names are")} used by more than one row: ${shared.slice(0, 5).join(", ")}`,
      ]);
    for (const column of countDataColumns(rows, (row) => checkOf(row, settings))) verdicts.push(["doubt", doubt(column)]);
    byId("verdicts").replaceChildren(...verdicts.map(([kind, text]) => make("li", { class: kind }, [text])));
    byId("problems").replaceChildren(
      ...bad
        .slice(0, LISTED)
        .map((i) =>
          make("li", {}, [
            make("button", { type: "button", class: "link", "data-id": rows[i].id, text: `Line ${i + 1}` }),
            ` ${checkOf(rows[i], settings).message}`,
          ]),
        ),
    );
    byId("problems").hidden = bad.length === 0;
    setText(
      byId("problems-more"),
      bad.length > LISTED
        ? `and ${count(bad.length - LISTED)} more: “Problems” above the rows shows them all.`
        : "",
    );
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.command());
      toast("The command is on the clipboard");
    } catch {
      getSelection().selectAllChildren(byId("command"));
      toast("Press Ctrl+C: the command is selected");
    }
  }

  /** Hand out the rows as JSONL, byte for byte where nothing was edited. */
  save() {
    const { rows, settings } = this.workspace;
    download(fileName(settings.name), "application/jsonl", exportParts(rows));
    const bad = survey(rows, settings).bad.length;
    toast(
      bad ? `Exported. ${plural(bad, "row")} would fail.` : `Exported ${plural(rows.length, "row")}`,
      "Command",
      () => this.act.show("submit"),
    );
  }
}

/** Say of a column that it may not be the option that it is taken for. */
function doubt({ name, count: rows, lines, shown }) {
  const on = `${lines.length > 1 ? "lines" : "line"} ${lines.join(", ")}${rows > lines.length ? ", ..." : ""}`;
  return (
    `${plural(rows, "row has", "rows have")} a column “${name}” that looks like data, such as ${shown} (${on}), and is ` +
    "taken for an option. If it is data, let options stand in sampling_params alone."
  );
}

const fileName = (name) => name.trim().replace(/^.*[\\/]/, "") || "prompts.jsonl";

/** List what the exported file is made of. */
export function exportParts(rows) {
  return rows.flatMap((row) => [row.bytes ?? row.raw, "\n"]);
}

/** List the names that more than one row carries. */
function sharedIds(rows) {
  const seen = new Map();
  for (const row of rows) {
    const parsed = /"(?:id|custom_id|recordId)"/.test(row.raw) ? parsedOf(row) : null;
    const name = parsed ? valueAt(parsed, lensOf(dialectOf(parsed), parsed).id) : null;
    if (name !== null && name !== undefined) seen.set(String(name), (seen.get(String(name)) ?? 0) + 1);
  }
  return [...seen].filter(([, n]) => n > 1).map(([name]) => name);
}
