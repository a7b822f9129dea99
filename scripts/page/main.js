// Puts the parts together: the state, one update(), and what every button does.

const page = JSON.parse($("data").textContent);
const { summary, held, tally, defaults } = page;
const state = { store: new Store(summary), query: emptyQuery(), rows: new Uint32Array(0), at: -1, line: null, manner: "markdown", comparison: null, points: null, turn: 0 };

const list = new RowList($("list"), () => ({ store: state.store, rows: state.rows, at: state.at, words: wordsOf(state.query.q), differs: state.comparison && ((at) => state.comparison.differs(at)) }), (position, byHand) => openPosition(position, byHand));

/** Change the query: `null` clears it, a `field` is added, `undefined` takes a part off. */
function change(parts) {
  const query = parts === null ? { ...emptyQuery(), sort: state.query.sort, down: state.query.down } : { ...state.query, ...parts };
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
  const extra = state.query.compare && state.comparison ? (at) => (state.query.compare === "differs" ? state.comparison.differs(at) : state.comparison.votes.has(at)) : null;
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
  $("count").textContent = (isOpen(query) ? plural(rows.length, "row") : `${count(rows.length)} of ${plural(store.size, "row")}`) + whole;
  put($("chips"), queryChips(query, change));
  if (!$("filters").hidden && !$("filters").contains(document.activeElement)) drawFilters();
  $("empty").hidden = rows.length > 0;
  drawSort();
  drawSegments();
  $("compare").hidden = !state.comparison;
  if (state.comparison) put($("compare"), comparePanel(state.comparison, query, { change, repair, stop: stopComparing }));
}

/** The three commonest filters, with how many rows each has. */
function drawSegments() {
  const { store, query } = state;
  const sum = (column, names) => tallyNames(store, column).reduce((all, [name, n]) => all + (names.includes(name) ? n : 0), 0);
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
  put($("filters"), filterPanel(state.store, state.query, (parts) => change(parts).then(drawFilters)));
}

function drawSort() {
  const options = sortOptions(state.store);
  const select = $("sort");
  const value = state.query.sort;
  if (select.options.length !== options.length || select.value !== value) put(select, options.map(([name, title]) => el("option", { value: name, selected: name === value }, title)));
  $("direction").textContent = state.query.down ? "↓" : "↑";
  $("direction").setAttribute("aria-label", state.query.down ? "Descending; turn round" : "Ascending; turn round");
}

/** Keep filter and row in the address. */
function remember() {
  const hash = formatHash(state.query, state.line);
  if (hash !== location.hash && !(hash === "#" && !location.hash)) history.replaceState(null, "", hash);
}

const wide = () => matchMedia("(min-width: 900px)").matches;
const positionOf = (at) => state.rows.indexOf(at);

function openLine(line) {
  const at = state.store.find(line);
  if (at < 0) return;
  const position = positionOf(at);
  if (position < 0) return openRow(at);
  openRow(at).then(() => list.reveal(position, true));
}

function openPosition(position, byHand) {
  if (position < 0 || position >= state.rows.length) return;
  if (byHand || state.line !== null) state.line = state.store.line[state.rows[position]];
  if (byHand) {
    document.body.classList.add("reading");
    list.reveal(position);
  }
  return openRow(state.rows[position]);
}

/** Show a row in the pane. */
async function openRow(at) {
  state.at = at;
  const [view, other] = await Promise.all([state.store.view(at), state.comparison && state.comparison.pairs[at] >= 0 ? state.comparison.right.view(state.comparison.pairs[at]) : null]);
  if (state.at !== at) return;
  const compared = state.comparison && comparedBlock(state.comparison, at, view, other, (value) => vote(value));
  put($("body"), detailPane(state.store, view, at, { manner: state.manner, words: wordsOf(state.query.q), points: state.points, open: (row) => openPosition(positionOf(row), true), compared }));
  $("body").scrollTop = 0;
  $("title").textContent = `Line ${count(view.line)}`;
  put($("subtitle"), el("span", { class: `chip ${{ failed: "bad", missing: "bad" }[view.status] || "good"}` }, view.status), view.id ? el("bdi", { class: "muted" }, view.id) : null);
  state.view = view;
  drawPlace();
  list.draw();
  remember();
}

function drawPlace() {
  const position = positionOf(state.at);
  $("place").textContent = position < 0 ? "" : `${count(position + 1)} of ${count(state.rows.length)}`;
}

const step = (by) => openPosition(Math.max(0, Math.min(state.rows.length - 1, positionOf(state.at) + by)), true);

/** Draw the overview; again while rows are read. */
function drawOverview() {
  put($("cards"), outcome(summary, pick), figures(summary));
  put($("remarks"), remarks(summary, held));
  put($("run"), howItWasRun(summary));
  put($("failures"), failures());
}

function drawCharts(map) {
  put($("charts"), rowCharts(state.store, pick), timeCharts(tally, pick), map);
}

/** What failed, and how to run it again. */
function failures() {
  if (!held.failed) return [];
  const known = state.store.complete && held.failed_held === held.failed; // else the summary knows more than the page
  const codes = known ? tallyNames(state.store, "code").filter(([name]) => name) : Object.entries(summary.errors || {}).sort((a, b) => b[1] - a[1]);
  const command = (title, text) => text && el("div", { class: "command" }, el("span", {}, title), el("code", { dir: "ltr", tabindex: "0" }, text.split(/ (?=-p )/).flatMap((part) => [el("span", { class: "word" }, part), " "])), copyButton("Copy command", "Command", text));
  return [el("section", { class: "card", "aria-label": "Failed rows" },
    el("div", { class: "failhead" }, el("h2", {}, plural(held.failed, "failed row")), el("button", { type: "button", class: "primary", onclick: () => exportRetry(state.store) }, "Save failed lines (retry.jsonl)")),
    el("div", { class: "failgrid" },
      el("div", {}, bars(codes.map(([name, value]) => ({ name, value, tone: "bad", pick: () => pick({ code: [name] }) })))),
      el("div", {},
        command("Submit the saved file", retryCommand(summary, defaults, held.failed)),
        command("Or the same lines again", rerunCommand(summary, defaults)))))];
}

async function drawMap() {
  if (!tallyNames(state.store, "kind").some(([name, n]) => name === "embedding" && n > 2)) return;
  const found = await readVectors(state.store);
  if (found.points.length < 3) return;
  state.points = found.points;
  drawCharts(mapCard(found, (at) => pick({}).then(() => openPosition(positionOf(at), true))));
  if (state.at >= 0) openRow(state.at);
}

function vote(value) {
  if (!state.comparison || state.at < 0) return false;
  state.comparison.votes.set(state.at, value);
  drawBars();
  const position = positionOf(state.at);
  return position + 1 < state.rows.length ? openPosition(position + 1, true) : openRow(state.at);
}

function repair(by) {
  state.comparison.pair(by);
  state.comparison.votes.clear();
  update().then(() => state.at >= 0 && openRow(state.at));
}

function stopComparing() {
  state.comparison = null;
  change({ compare: "" }).then(() => state.at >= 0 && openRow(state.at));
}

/** A file was dropped or chosen. */
async function takeFile(file) {
  const what = await askWhat(file, await isPage(file));
  if (!what) return;
  const progress = (rows, share) => ($("count").textContent = `Reading ${file.name}: ${plural(rows, "row")}${share === null ? "" : `, ${Math.round(share * 100)} %`}`);
  const store = await readFile(file, summary, progress);
  if (!store) return say(`${file.name} holds no rows`);
  if (what === "compare") state.comparison = new Comparison(state.store, store, file.name);
  else Object.assign(state, { store, comparison: null, at: -1, points: null });
  document.body.classList.toggle("foreign", what === "open");
  if (what === "open") drawCharts();
  state.query.compare = "";
  await update();
  if (state.at >= 0) openRow(state.at);
  say(what === "compare" ? `Compared with ${file.name}` : `${plural(store.size, "row")} of ${file.name}`);
}

/** Read the page's blocks, showing the first rows as soon as they are there. */
async function readBlocks() {
  let shown = 0;
  let pause = 400; // milliseconds between drawings, longer each time
  for await (const block of pageBlocks()) {
    await state.store.add(block);
    const now = performance.now();
    if (now - shown > pause) {
      await update();
      drawCharts();
      document.documentElement.dataset.state = "rows";
      if (!shown) performance.mark("first-rows");
      shown = performance.now();
      pause *= 2;
    }
    await breathe();
  }
  state.store.complete = true;
  await update();
  drawCharts();
  drawFilters();
  put($("failures"), failures());
  performance.mark("complete");
  document.documentElement.dataset.state = "ready";
  await drawMap();
}

function setManner(manner) {
  state.manner = manner;
  $("manner").textContent = manner === "markdown" ? "Plain text" : "Markdown";
  if (state.at >= 0) openRow(state.at);
}

function setLayout(stacked) {
  document.body.classList.toggle("stacked", stacked);
  $("layout").textContent = stacked ? "Side by side" : "Stacked";
}

function closeRow() {
  document.body.classList.remove("reading");
  $("list").focus({ preventScroll: true });
}

function showFilters() {
  const panel = $("filters");
  panel.hidden = !panel.hidden;
  $("filterbutton").setAttribute("aria-expanded", String(!panel.hidden));
  if (!panel.hidden) drawFilters();
}

const rowLink = () => location.href.replace(/#.*$/, "") + `#row=${state.view.line}`;
const answerText = () => state.view.answers.map((answer) => answer.text || "").join("\n\n");
const onlyFailed = () => change(statusOf(state.query) === "failed" ? { status: undefined } : { status: new Set(["failed", "missing"]), finish: undefined });

/** The pane keeps clear of the toolbar, whatever its height. */
function watchToolbar() {
  new ResizeObserver(() => document.body.style.setProperty("--sticky", `${Math.ceil(stickyHeight())}px`)).observe($("toolbar"));
}

/** Join the buttons to what they do. */
function connect() {
  let wait = 0;
  $("search").addEventListener("input", (event) => {
    clearTimeout(wait);
    wait = setTimeout(() => change({ q: event.target.value }), 50);
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
    button.addEventListener("click", () => change({ all: { status: undefined, finish: undefined }, failed: { status: new Set(["failed", "missing"]), finish: undefined }, cut: { status: undefined, finish: new Set(CUT) } }[button.dataset.status]));
  }
  addEventListener("hashchange", readAddress);
  acceptFiles(takeFile);
  acceptPrinting(() => state);
  acceptKeys({
    next: () => step(1), previous: () => step(-1), pageDown: () => step(10), pageUp: () => step(-10), first: () => step(-Infinity), last: () => step(Infinity),
    search: () => $("search").focus(), filters: showFilters, manner: () => $("manner").click(), layout: () => $("layout").click(), copy: () => copy(answerText(), "Answer"), link: () => copy(rowLink(), "Link"),
    failed: onlyFailed, voteLeft: () => vote("left"), voteTie: () => vote("tie"), voteRight: () => vote("right"), help: () => $("help").showModal(),
    escape: () => (document.body.classList.contains("reading") && !wide() ? closeRow() : document.activeElement === $("search") && $("search").value === "" ? $("list").focus() : change({ q: "" })),
  });
}

function readAddress() {
  const { query, row } = parseHash(location.hash);
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
