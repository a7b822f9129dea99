// Joins every button, key and file to what it does, and starts the page.

const list = new RowList(
  $("list"),
  () => ({
    store: state.store,
    rows: state.rows,
    at: state.at,
    words: wordsOf(state.query.q),
    differs: state.comparison && ((at) => state.comparison.differs(at)),
  }),
  (position, byHand) => openPosition(position, byHand),
);

/** Close what is open on a phone, or clear the search and go back to the rows. */
function leave() {
  if (document.body.classList.contains("reading") && !wide()) return closeRow();
  if (document.activeElement === $("search")) $("list").focus({ preventScroll: true });
  return change({ q: "" });
}

function showFilters() {
  const panel = $("filters");
  panel.hidden = !panel.hidden;
  $("filterbutton").setAttribute("aria-expanded", String(!panel.hidden));
  if (!panel.hidden) drawFilters();
}

/** The pane keeps clear of the toolbar, whatever its height. */
function watchToolbar() {
  new ResizeObserver(() => document.body.style.setProperty("--sticky", `${Math.ceil(stickyHeight())}px`)).observe(
    $("toolbar"),
  );
}

/** Join the buttons to what they do. */
function connect() {
  let wait = 0;
  $("search").addEventListener("input", (event) => {
    clearTimeout(wait);
    wait = setTimeout(() => change({ q: event.target.value }), 30);
  });
  $("filterbutton").addEventListener("click", showFilters);
  $("sort").addEventListener("change", (event) => change({ sort: event.target.value }));
  $("direction").addEventListener("click", () => change({ down: !state.query.down }));
  $("previous").addEventListener("click", () => step(-1));
  $("next").addEventListener("click", () => step(1));
  $("manner").addEventListener("click", () => setManner(state.manner === "markdown" ? "plain" : "markdown"));
  $("layout").addEventListener("click", () => setLayout(!document.body.classList.contains("stacked")));
  $("link").addEventListener("click", () => copy(rowLink(), "Link"));
  $("back").addEventListener("click", closeRow);
  $("jsonl").addEventListener("click", () => exportJsonl(state.store, state.rows));
  $("csv").addEventListener("click", () => exportCsv(state.store, state.rows));
  $("retry").addEventListener("click", () => exportRetry(state.store));
  $("skip").addEventListener("click", () => $("list").focus());
  for (const button of document.querySelectorAll("[data-status]")) {
    button.addEventListener("click", () =>
      change(
        {
          all: { status: undefined, finish: undefined },
          failed: { status: new Set(["failed", "missing"]), finish: undefined },
          cut: { status: undefined, finish: new Set(CUT) },
        }[button.dataset.status],
      ),
    );
  }
  addEventListener("hashchange", readAddress);
  acceptFiles(takeFile);
  acceptPrinting(() => state);
  acceptKeys({
    next: () => step(1),
    previous: () => step(-1),
    pageDown: () => step(10),
    pageUp: () => step(-10),
    first: () => step(-Infinity),
    last: () => step(Infinity),
    search: () => $("search").focus(),
    filters: showFilters,
    manner: () => $("manner").click(),
    layout: () => $("layout").click(),
    copy: () => copy(answerText(), "Answer"),
    link: () => copy(rowLink(), "Link"),
    failed: onlyFailed,
    voteLeft: () => vote("left"),
    voteTie: () => vote("tie"),
    voteRight: () => vote("right"),
    help: () => $("help").showModal(),
    escape: leave,
  });
}

function readAddress() {
  const { query, row } = parseHash(location.hash);
  if (row !== null && formatHash(query, null) === formatHash(state.query, null)) {
    state.line = row;
    return openLine(row);
  }
  state.query = query;
  if (row !== state.line || row !== null) Object.assign(state, { line: row, at: row === null ? state.at : -1 });
  $("search").value = query.q;
  return update();
}

const startAddress = parseHash(location.hash);
Object.assign(state, { query: startAddress.query, line: startAddress.row });
$("search").value = state.query.q;
$("chartbox").open = wide();
drawOverview();
connect();
watchToolbar();
readBlocks();
