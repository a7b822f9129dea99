// The columns of a table of rows: own fields, the answers' fields, details. As tools/table/columns.py plans them for to_table.py.
import { fieldsOf, partsOf } from "./parts.js";

export const MOST_FIELDS = 256; // of answers; objects with more different names are data, not records
const BESIDE = "_beside"; // behind the name of a column that make_rows.py had to rename
const FIRST = ["finish_reason", "prompt_tokens", "completion_tokens"];
const LAST = ["error_code", "error_message"];

/** Whether answers become columns: at least half of the texts are objects, with names that they share. */
export const isSplit = (texts, objects, names) => 2 * objects >= texts && texts > 0 && names > 0 && names <= MOST_FIELDS;

/** Counts names by part, row by row. */
export class Census {
  constructor() {
    this.texts = this.objects = 0;
    this.own = new Set();
    this.text = new Set();
    this.whole = new Set();
    this.field = new Set();
    this.other = new Set();
    this.detail = new Set();
  }
  add(view) {
    const parts = partsOf(view);
    const fields = fieldsOf(parts.text);
    if (parts.text !== null) this.text.add(parts.name);
    if (parts.text) this.texts++;
    if (fields) this.objects++;
    else if (parts.text) this.whole.add(parts.name);
    for (const [name] of parts.own) this.own.add(name);
    for (const [name] of fields || []) if (this.field.size <= MOST_FIELDS) this.field.add(name);
    for (const [name] of parts.others) this.other.add(name);
    for (const [name] of parts.details) this.detail.add(name);
  }
  get split() {
    return isSplit(this.texts, this.objects, this.field.size);
  }
}

/** The columns: [{heading, part, name}]; a user's own keeps its name. */
export function planColumns(census) {
  const list = (part, names = [...census[part]]) => names.map((name) => ({ heading: name, part, name }));
  const own = list("own").map((column) => ({ ...column, heading: ownHeading(column.name, census.own) }));
  const answers = [...(census.split ? [...list("field"), ...list("whole")] : list("text")), ...list("other")];
  const between = [...census.detail].filter((name) => !FIRST.includes(name) && !LAST.includes(name));
  const details = list("detail", [...FIRST, ...between, ...LAST].filter((name) => census.detail.has(name)));
  const taken = new Set();
  for (const [columns, owner] of [
    [own, "own"],
    [answers, "answer"],
    [details, "result"],
  ])
    for (const column of columns) {
      while (taken.has(column.heading)) column.heading = `${owner}.${column.heading}`;
      taken.add(column.heading);
    }
  return [...own, ...answers, ...details];
}

function ownHeading(name, names) {
  const plain = name.endsWith(BESIDE) ? name.slice(0, -BESIDE.length) : name;
  return names.has(plain) ? name : plain;
}

/** A row's values for the columns, undefined where it has none. */
export function cellsOf(view, columns, split) {
  const parts = partsOf(view);
  const fields = split ? fieldsOf(parts.text) : null;
  const text = parts.text === null ? {} : { [parts.name]: parts.text };
  const values = {
    own: Object.fromEntries(parts.own),
    text,
    whole: split && !fields ? text : {},
    field: Object.fromEntries(fields || []),
    other: Object.fromEntries(parts.others),
    detail: Object.fromEntries(parts.details),
  };
  return columns.map(({ part, name }) => (Object.hasOwn(values[part], name) ? values[part][name] : undefined));
}
