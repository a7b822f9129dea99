// On paper: the overview, then the rows that are shown, in full, up to a bound.

const PRINT_ROWS = 100;

/** Fill the print area with rows when the browser is about to print, and empty it afterwards. */
function acceptPrinting(source) {
  const fillPages = async () => {
    const { store, rows } = source();
    const shown = [...rows.slice(0, PRINT_ROWS)];
    const views = await Promise.all(shown.map((at) => store.view(at)));
    put(
      $("print"),
      el(
        "h2",
        {},
        rows.length > shown.length
          ? `The first ${count(shown.length)} of ${plural(rows.length, "row")}`
          : plural(rows.length, "row"),
      ),
      views.map((view, n) =>
        el(
          "article",
          {},
          el("h3", {}, `Line ${view.line}`, view.id ? ` · ${view.id}` : ""),
          detailPane(store, view, shown[n], { manner: "markdown", words: [] }),
        ),
      ),
    );
    for (const part of $("print").querySelectorAll("details")) part.open = true;
  };
  $("printbutton").addEventListener("click", async () => {
    await fillPages();
    print();
  });
  addEventListener("afterprint", () => put($("print")));
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "p") {
      event.preventDefault();
      $("printbutton").click();
    }
  });
}
