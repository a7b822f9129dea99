// The state of the page, one update() that brings the screen in line with it, and the bars around the list.

const page = JSON.parse($("data").textContent);
const { summary, held, tally, defaults } = page;
const state = {
  store: new Store(summary),
  query: emptyQuery(),
  rows: new Uint32Array(0),
  at: -1,
  line: null,
  manner: "markdown",
  comparison: null,
  points: null,
  turn: 0,
};

/** Change the query: `null` clears it, a `field` is added, `undefined` takes a part off. */
function change(parts) {
  const query =
    parts === null ? { ...emptyQuery(), sort: state.query.sort, down: state.query.down } : { ...state.query, ...parts };
  if (parts?.field) query.fields = [...state.query.fields, parts.field];
  delete query.field;
  for (const name of Object.keys(query)) if (query[name] === undefined) delete query[name];
  state.query = query;
  if ($("search").value !== query.q) $("search").value = query.q;
  return update();
}

/** Show only what a tile or a chart names. */
function pick(choices, ranges = {}) {
  const sets = Object.fromEntries(Object.entries(choices).map(([name, values]) => [name, new Set(values)]));
  return change({ ...sets, ...ranges }).then(() => $("reader").scrollIntoView());
}

/** Bring everything on screen in line with the state. A later call overtakes an earlier one. */
async function update() {
  const turn = ++state.turn;
  const words = wordsOf(state.query.q);
  performance.mark("query");
  const extra =
    state.query.compare && state.comparison
      ? (at) => (state.query.compare === "differs" ? state.comparison.differs(at) : state.comparison.votes.has(at))
      : null;
  const rows = await runQuery(state.store, state.query, () => turn === state.turn, extra);
  if (!rows || turn !== state.turn) return;
  performance.measure("query", "query");
  state.rows = rows;
  document.documentElement.dataset.words = words.join(" ");
  drawBars();
  list.reset();
  if (state.line !== null && state.at < 0) openLine(state.line);
  else if (state.at < 0 && rows.length && wide()) openPosition(0, false);
  else drawPlace();
  remember();
}

/** The toolbar's counts, chips and panels. */
function drawBars() {
  const { store, query, rows } = state;
  const whole = state.store.complete ? "" : `, reading … ${Math.round((store.size / Math.max(1, held.held)) * 100)} %`;
  $("count").textContent =
    (isOpen(query) ? plural(rows.length, "row") : `${count(rows.length)} of ${plural(store.size, "row")}`) + whole;
  put($("chips"), queryChips(query, change));
  if (!$("filters").hidden && !$("filters").contains(document.activeElement)) drawFilters();
  $("empty").hidden = rows.length > 0;
  drawSort();
  drawSegments();
  $("compare").hidden = !state.comparison;
  if (state.comparison)
    put($("compare"), comparePanel(state.comparison, query, { change, repair, stop: stopComparing }));
}

/** The three commonest filters, with how many rows each has. */
function drawSegments() {
  const { store, query } = state;
  const sum = (column, names) =>
    tallyNames(store, column).reduce((all, [name, n]) => all + (names.includes(name) ? n : 0), 0);
  const counts = { all: store.size, failed: sum("status", ["failed", "missing"]), cut: sum("finish", CUT) };
  for (const button of document.querySelectorAll("[data-status]")) {
    button.setAttribute("aria-pressed", String(statusOf(query) === button.dataset.status));
    button.lastElementChild.textContent = count(counts[button.dataset.status]);
  }
}

function statusOf({ status, finish }) {
  if (finish && [...finish].every((name) => CUT.includes(name))) return "cut";
  if (!status) return "all";
  return status.has("failed") && status.has("missing") && status.size === 2 ? "failed" : "";
}

function drawFilters() {
  put(
    $("filters"),
    filterPanel(state.store, state.query, (parts) => change(parts).then(drawFilters)),
  );
}

function drawSort() {
  const options = sortOptions(state.store);
  const select = $("sort");
  const value = state.query.sort;
  if (select.options.length !== options.length || select.value !== value)
    put(
      select,
      options.map(([name, title]) => el("option", { value: name, selected: name === value }, title)),
    );
  $("direction").textContent = state.query.down ? "↓" : "↑";
  $("direction").setAttribute("aria-label", state.query.down ? "Descending; turn round" : "Ascending; turn round");
}

/** Keep filter and row in the address. */
function remember() {
  const hash = formatHash(state.query, state.line);
  if (hash !== location.hash && !(hash === "#" && !location.hash)) history.replaceState(null, "", hash);
}
