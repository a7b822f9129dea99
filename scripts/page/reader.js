// Opening a row from the list, a link or a key, and how the pane shows it.

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
  const [view, other] = await Promise.all([
    state.store.view(at),
    state.comparison && state.comparison.pairs[at] >= 0
      ? state.comparison.right.view(state.comparison.pairs[at])
      : null,
  ]);
  if (state.at !== at) return;
  const compared = state.comparison && comparedBlock(state.comparison, at, view, other, (value) => vote(value));
  put(
    $("body"),
    detailPane(state.store, view, at, {
      manner: state.manner,
      words: wordsOf(state.query.q),
      points: state.points,
      open: (row) => openPosition(positionOf(row), true),
      compared,
    }),
  );
  $("body").scrollTop = 0;
  $("title").textContent = `Line ${count(view.line)}`;
  put(
    $("subtitle"),
    el("span", { class: `chip ${{ failed: "bad", missing: "bad" }[view.status] || "good"}` }, view.status),
    view.id ? el("bdi", { class: "muted" }, view.id) : null,
  );
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

const rowLink = () => location.href.replace(/#.*$/, "") + `#row=${state.view.line}`;
const answerText = () => state.view.answers.map((answer) => answer.text || "").join("\n\n");
const onlyFailed = () =>
  change(
    statusOf(state.query) === "failed"
      ? { status: undefined }
      : { status: new Set(["failed", "missing"]), finish: undefined },
  );
