// On paper: the overview, then the rows that are shown, in full, up to a bound.
import { byId, make, put } from "../kit/dom.js";
import { count, plural } from "../kit/words.js";
import { detailPane } from "../views/detail.js";

const PRINT_ROWS = 100;

/** Fill the print area with rows when the browser is about to print, and empty it afterwards. */
export function acceptPrinting(source) {
  const fillPages = async () => {
    const { store, rows } = source();
    const shown = [...rows.slice(0, PRINT_ROWS)];
    const views = await Promise.all(shown.map((at) => store.view(at)));
    put(
      byId("print"),
      make(
        "h2",
        {},
        rows.length > shown.length
          ? `The first ${count(shown.length)} of ${plural(rows.length, "row")}`
          : plural(rows.length, "row"),
      ),
      views.map((view, n) =>
        make(
          "article",
          {},
          make("h3", {}, `Line ${view.line}`, view.id ? ` · ${view.id}` : ""),
          detailPane(store, view, shown[n], { manner: "markdown", words: [] }),
        ),
      ),
    );
    for (const part of byId("print").querySelectorAll("details")) part.open = true;
  };
  byId("printbutton").addEventListener("click", async () => {
    await fillPages();
    print();
  });
  addEventListener("afterprint", () => put(byId("print")));
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "p") {
      event.preventDefault();
      byId("printbutton").click();
    }
  });
}
