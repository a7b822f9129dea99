// The import dialog: text or files in, a look at what they hold, rows out.
import { FORMATS, decodeBytes, guessFormat, readText } from "./importer.js";
import { byId, make, setText } from "../../../scripts/page/kit/dom.js";
import { plural } from "../../../scripts/page/kit/words.js";
import { checkOf } from "../frame/state.js";
import { countDataColumns } from "../rules/data_columns.js";
import { toast } from "../frame/widgets.js";

const TYPED = 1_000_000; // characters up to which a file's text is shown in the box
const LISTED = 200; // problems listed
const LATER = "later"; // a prompt that a template will make

export class ImportView {
  constructor(workspace, after) {
    Object.assign(this, { workspace, after, source: null, chosen: null, read: null });
    this.dialog = byId("import-dialog");
    for (const { value, label } of FORMATS) byId("import-format").append(make("option", { value, text: label }));
    byId("import-text").addEventListener("input", () =>
      this.take({ text: byId("import-text").value, name: "", typed: true }),
    );
    byId("import-format").addEventListener("change", () => {
      this.chosen = null;
      this.look();
    });
    byId("import-header").addEventListener("change", () => {
      this.chosen = null;
      this.look();
    });
    byId("import-prompt").addEventListener("change", () => this.choosePrompt());
    byId("import-choose").addEventListener("click", () => byId("file").click());
    byId("import-close").addEventListener("click", () => this.dialog.close());
    byId("import-add").addEventListener("click", () => this.finish(false));
    byId("import-replace").addEventListener("click", () => this.finish(true));
    byId("file").addEventListener("change", () => {
      this.files([...byId("file").files]);
      byId("file").value = "";
    });
  }

  /** Open the dialog, empty or with text. */
  open(text = "", name = "") {
    byId("import-text").value = text.length <= TYPED ? text : "";
    if (!this.dialog.open) this.dialog.showModal();
    this.take({ text, name, typed: true });
    byId(text ? "import-add" : "import-text").focus();
  }

  /** Read files, one after the other as if they were one. */
  async files(files) {
    if (files.length === 0) return;
    try {
      const read = await Promise.all(files.map(readFile));
      const text = read.map((file) => file.text).join("\n");
      const name = files.map((file) => file.name).join(", ");
      byId("import-text").value = "";
      if (!this.dialog.open) this.dialog.showModal();
      this.take({
        text,
        name,
        documents: read.map((file, i) => ({ name: files[i].name, text: file.western ?? file.text })),
        note: read
          .map((file) => file.note)
          .filter(Boolean)
          .join(" "),
        badLines: read.length === 1 ? read[0].badLines : new Map(),
        western: read.length === 1 ? read[0].western : null,
      });
      byId("import-add").focus();
    } catch (error) {
      toast(`The file could not be read: ${error.message}`);
    }
  }

  take(source) {
    this.source = source;
    this.chosen = null;
    byId("import-format").value = guessFormat(source.text, source.name, source.documents);
    this.look();
  }

  /** Read the text as it now stands and show what comes of it. */
  look() {
    const format = byId("import-format").value;
    this.tabular = format === "csv" || format === "tsv";
    const western = format === "jsonl" || format === "array" ? null : this.source.western;
    this.read = readText(western ?? this.source.text, format, {
      header: byId("import-header").checked,
      chosen: this.chosen,
      documents: this.source.documents,
    });
    byId("import-header-box").hidden = !this.tabular;
    byId("import-columns").hidden = !this.tabular || this.read.columns.length === 0;
    if (this.tabular && !this.chosen) this.listColumns();
    this.rows = this.read.parts.map((part) => ({ part, row: this.makeRow(part, format) }));
    this.tell(western ? "Not UTF-8: read as Windows-1252." : "");
  }

  makeRow(part, format) {
    const bytes = format === "jsonl" ? (this.source.badLines?.get(part.line) ?? null) : null;
    return Object.freeze({ id: 0, raw: part.raw, note: part.note, bytes });
  }

  listColumns() {
    const boxes = this.read.columns.map((name, index) => {
      const take = make("input", { type: "checkbox", checked: true, "aria-label": `Take the column ${name}` });
      const field = make("input", {
        value: name,
        "aria-label": `Field name of the column ${name}`,
        autocomplete: "off",
        spellcheck: "false",
      });
      for (const input of [take, field]) input.addEventListener("input", () => this.chooseColumns());
      return { index, take, field };
    });
    this.boxes = boxes;
    const none = make("option", { value: "", text: "no column: I write a template over them" });
    byId("import-prompt").replaceChildren(
      none,
      ...this.read.columns.map((name, index) => make("option", { value: String(index), text: name })),
    );
    const known = this.read.columns.findIndex((name) => name === "prompt" || name === "text");
    byId("import-prompt").value = known < 0 ? "" : String(known);
    byId("import-column-list").replaceChildren(
      ...boxes.map(({ take, field }) => make("div", { class: "column" }, [take, field])),
    );
  }

  /** The chosen column takes the field name that makes it the row's prompt. */
  choosePrompt() {
    const wanted = byId("import-prompt").value;
    this.boxes.forEach(({ index, take, field }) => {
      const name = this.read.columns[index];
      field.value = String(index) === wanted && name !== "text" ? "prompt" : name;
      if (String(index) === wanted) take.checked = true;
    });
    this.chooseColumns();
  }

  chooseColumns() {
    this.chosen = this.boxes
      .filter(({ take, field }) => take.checked && field.value !== "")
      .map(({ index, field }) => ({ index, name: field.value }));
    this.look();
  }

  tell(aside) {
    const faults = this.rows.map(({ part, row }) => ({ part, fault: this.faultOf(row) })).filter(({ fault }) => fault);
    const bad = faults.filter(({ fault }) => fault !== LATER);
    const { name, note } = this.source;
    byId("import-source").hidden = !this.source.typed;
    setText(byId("import-file"), [name, note, aside].filter(Boolean).join(": "));
    const words = [plural(this.rows.length, "row")];
    if (this.read.blank) words.push(`${plural(this.read.blank, "blank line")} left out`);
    if (bad.length < faults.length)
      words.push("no prompt yet: choose its column, or write a template after the import");
    const doubted = countDataColumns(
      this.rows.map(({ row }) => row),
      (row) => checkOf(row, this.workspace.settings),
    );
    if (doubted.length)
      words.push(`taken for options and looks like data: ${doubted.map(({ name, shown }) => `${name} ${shown}`).join(", ")}`);
    if (bad.length) words.push(`${plural(bad.length, "line")} to mend after the import`);
    setText(byId("import-summary"), this.source.text ? words.join(" · ") : "");
    byId("import-problems").replaceChildren(
      ...bad
        .slice(0, LISTED)
        .map(({ part, fault }) => make("li", {}, [make("b", { text: `Line ${part.line}` }), ` ${fault}`])),
    );
    byId("import-problems").hidden = bad.length === 0;
    byId("import-sample").replaceChildren(
      ...this.rows.slice(0, 3).map(({ row }) => make("div", { class: "mono", text: row.raw.slice(0, 400) })),
    );
    byId("import-sample").hidden = this.rows.length === 0;
    byId("import-add").disabled = this.rows.length === 0;
    setText(byId("import-add"), this.rows.length ? `Add ${plural(this.rows.length, "row")}` : "Add rows");
    byId("import-replace").hidden = this.rows.length === 0 || this.workspace.rows.length === 0;
  }

  /** Say what is wrong with a row; a table's row without a prompt is not wrong yet. */
  faultOf(row) {
    const { code, message } = checkOf(row, this.workspace.settings);
    return row.note ?? (code === "missing_field" && this.tabular ? LATER : message);
  }

  finish(replace) {
    const from = this.source.name || "the pasted text";
    const rows = this.rows.map(({ part, row }) =>
      this.workspace.makeRow(row.raw, { ...row, note: row.note && `Line ${part.line} of ${from}: ${row.note}` }),
    );
    if (rows.length === 0) return;
    this.dialog.close();
    if (replace) this.workspace.commit(rows, "replace all rows");
    else this.workspace.add(rows, this.workspace.rows.length, "import");
    if (/\.(jsonl|ndjson)$/i.test(this.source.name ?? "") && rows.length === this.workspace.rows.length)
      this.workspace.set({ name: this.source.name });
    this.after(rows, this.tabular && rows.some((row) => this.faultOf(row) === LATER));
  }
}

async function readFile(file) {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const packed = first === 0x1f && second === 0x8b; // whatever its name
  const stream = packed ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  return decodeBytes(new Uint8Array(await new Response(stream).arrayBuffer()));
}
