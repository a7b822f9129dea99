// Charts of the answers' fields, and a table of one field against another. A click filters the rows.
import { bars, card, histogram } from "./charts.js";
import { columnNames } from "./filters.js";
import { crossColumns, numberBins, tallyColumn } from "../data/tally.js";
import { make, put } from "../kit/dom.js";
import { count, plural, short } from "../kit/words.js";

const MOST_CHARTS = 4;
let chosen = null; // the columns of the table: [one, other] as "of:name"

/** The charts of the answers' fields that hold labels or numbers, and the cross table. */
export function answerCharts(store, pick) {
  if (!store.split) return [];
  const charts = [...store.answers.keys()].map((name) => fieldChart(store, name, pick)).filter(Boolean);
  return [...charts.slice(0, MOST_CHARTS), store.complete ? crossCard(store, pick) : null].filter(Boolean);
}

const is = (of, name, value) => ({ of, how: "is", name, value });

function fieldChart(store, name, pick) {
  const found = tallyColumn(store, "answer", name);
  if (found.kind === "labels")
    return card(
      name,
      "answers",
      bars(found.counts.map(([label, value]) => ({ name: label, value, pick: () => pick({}, {}, [is("answer", name, label)]) }))),
    );
  if (found.kind !== "numbers") return null;
  const bins = numberBins(store, "answer", name);
  return card(
    name,
    "answers",
    histogram(bins, {
      label: (value) => (Math.abs(value) < 1000 ? String(value) : short.format(value)),
      unit: "",
      sentence: `${name} of ${plural(found.filled, "answer")}, from ${found.low} to ${found.high}`,
      pick: (bin) =>
        pick({}, {}, [
          { of: "answer", how: "min", name, value: String(bin.from) },
          { of: "answer", how: "below", name, value: String(bin.to) },
        ]),
    }),
  );
}

/** One column of labels against another, to be chosen; nothing where there are no two. */
function crossCard(store, pick) {
  const names = columnNames(store).filter(([of, name]) => tallyColumn(store, of, name).kind === "labels");
  const keys = names.map(([of, name]) => `${of}:${name}`);
  if (names.length < 2 || names[0][0] !== "answer") return null;
  const other = keys.find((key) => key.startsWith("field:")) || keys[1];
  if (!chosen || !chosen.every((key) => keys.includes(key))) chosen = [keys[0], other];
  const body = make("div", { class: "crossbody" });
  const draw = () => put(body, crossTable(store, chosen.map((key) => names[keys.indexOf(key)]), pick));
  const select = (place, label) =>
    make(
      "select",
      { "aria-label": label, onchange: (event) => ((chosen[place] = event.target.value), draw()) },
      keys.map((key, n) => make("option", { value: key, selected: key === chosen[place] }, names[n][1])),
    );
  draw();
  const figure = card("Cross table", null, make("p", { class: "crosshead" }, select(0, "Rows of the table"), " by ", select(1, "Columns of the table")), body);
  figure.classList.add("cross");
  return figure;
}

function crossTable(store, [one, other], pick) {
  const { rows, columns, counts } = crossColumns(store, one, other);
  const cell = (row, column, n) =>
    make(
      "td",
      {},
      n ? make("button", { type: "button", title: "Show these rows", onclick: () => pick({}, {}, [is(...one, row), is(...other, column)]) }, count(n)) : "",
    );
  return make(
    "table",
    {},
    make("thead", {}, make("tr", {}, make("th", {}), columns.map((name) => make("th", { scope: "col", dir: "auto" }, name)))),
    make(
      "tbody",
      {},
      rows.map((row, n) =>
        make("tr", {}, make("th", { scope: "row", dir: "auto" }, row), columns.map((column, m) => cell(row, column, counts[n][m]))),
      ),
    ),
  );
}
