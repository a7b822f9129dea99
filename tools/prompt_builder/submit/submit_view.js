// What the job would make of the rows, the files to export, and the commands that answer them.
import { localCommand, submitCommand, wholeRange } from "./command.js";
import { TEMPLATE, saveTemplate } from "./template_view.js";
import { byId, download, make, setText, put } from "../../../scripts/page/kit/dom.js";
import { count, plural } from "../../../scripts/page/kit/words.js";
import { checkOf, survey } from "../frame/state.js";
import { toast } from "../frame/widgets.js";
import { parsedOf } from "../rows/faces.js";
import { countDataColumns } from "../rules/data_columns.js";
import { lensOf, valueAt } from "../rules/lens.js";
import { isObject, tryPlain } from "../../../scripts/page/kit/exact.js";
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
const SETTINGS = ["name", "bundle", "output", "model", "endpoint", "options", "shell", "schema"];
const SCHEMA = "answer_schema.json";

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
    byId("copy").addEventListener("click", () => copyText(this.command(), "command"));
    byId("copy-local").addEventListener("click", () => copyText(this.localCommand(), "command-local"));
    byId("export-template").addEventListener("click", () => saveTemplate(workspace.settings.template));
    byId("export-schema").addEventListener("click", () =>
      download(SCHEMA, "application/json", [`${workspace.settings.schema.trim()}\n`]),
    );
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
    setText(byId("command-local"), this.localCommand());
    const { byTemplate, template, schema } = this.workspace.settings;
    byId("export-template").hidden = !(byTemplate && template);
    byId("export-schema").hidden = !isSchema(schema);
    setText(byId("schema-fault"), schema.trim() && !isSchema(schema) ? "This is no JSON object: it goes into no command." : "");
    this.showChecks();
  }

  /** The parameters that both commands set. */
  parameters() {
    const { settings } = this.workspace;
    return [
      ["ModelName", settings.model],
      ["Endpoint", settings.endpoint === "auto" ? "" : settings.endpoint],
      ["OptionsInRows", settings.options === RULES.defaults.OptionsInRows ? "" : settings.options],
      ["PromptTemplateFile", settings.byTemplate && settings.template ? TEMPLATE : ""],
      ["ResponseSchemaFile", isSchema(settings.schema) ? SCHEMA : ""],
    ];
  }

  command() {
    const { rows, settings } = this.workspace;
    const own = [
      ["InputFile", fileName(settings.name)],
      ["Prompts", wholeRange(rows.length)],
      ["OutputDir", settings.output],
    ];
    return submitCommand(settings.bundle, [...own, ...this.parameters()], settings.shell);
  }

  localCommand() {
    const { bundle, name, output, shell } = this.workspace.settings;
    return localCommand(bundle, fileName(name), output, this.parameters(), shell);
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

async function copyText(text, id) {
  try {
    await navigator.clipboard.writeText(text);
    toast("The command is on the clipboard");
  } catch {
    getSelection().selectAllChildren(byId(id));
    toast("Press Ctrl+C: the command is selected");
  }
}

/** Whether a text can be a schema's file. */
const isSchema = (text) => isObject(tryPlain(text));

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
