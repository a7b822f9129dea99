// The runs on the page: reading this one's blocks, drawing its overview, taking a second run in, and voting between the two.

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

async function drawMap() {
  if (!tallyNames(state.store, "kind").some(([name, n]) => name === "embedding" && n > 2)) return;
  const found = await readVectors(state.store);
  if (found.points.length < 3) return;
  state.points = found.points;
  drawCharts(mapCard(found, (at) => pick({}).then(() => openPosition(positionOf(at), true))));
  if (state.at >= 0) openRow(state.at);
}

/** A file was dropped or chosen. */
async function takeFile(file) {
  const what = await askWhat(file, await isPage(file));
  if (!what) return;
  const progress = (rows, share) =>
    ($("count").textContent =
      `Reading ${file.name}: ${plural(rows, "row")}${share === null ? "" : `, ${Math.round(share * 100)} %`}`);
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
