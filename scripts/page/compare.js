// Two runs side by side: rows pair by line or by id, differences are marked, and a summary says how the runs differ.

class Comparison {
  /** `left` is this page's store, `right` the dropped one. */
  constructor(left, right, name) {
    Object.assign(this, { left, right, name, votes: new Map() });
    this.pair(this.looksPaired());
  }

  /** Ids where every row of both has one and they meet, else lines. */
  looksPaired() {
    const ids = new Set(this.right.ids.filter(Boolean));
    const met = this.left.ids.filter((id) => id && ids.has(id)).length;
    return met && ids.size === this.right.size && met >= Math.min(this.left.size, this.right.size) / 2 ? "id" : "line";
  }

  pair(by) {
    this.by = by;
    const [left, right] = by === "id" ? [this.left.ids, this.right.ids] : this.lineKeys();
    const places = new Map();
    for (let at = 0; at < this.right.size; at++) if (!places.has(right[at])) places.set(right[at], at);
    this.pairs = Int32Array.from({ length: this.left.size }, (_, at) =>
      left[at] === "" ? -1 : (places.get(left[at]) ?? -1),
    );
  }

  /** Lines of the input on both sides; an output.jsonl does not tell them, so its lines pair with the rows in their order. */
  lineKeys() {
    const whole = held.held === held.rows || this.left.counted;
    if (!this.right.counted || this.left.counted || !whole) return [this.left.line, this.right.line];
    const ranks = new Float64Array(this.left.size);
    const order = Uint32Array.from(ranks, (_, at) => at).sort((a, b) => this.left.line[a] - this.left.line[b]);
    order.forEach((at, rank) => (ranks[at] = rank + 1));
    return [ranks, this.right.line];
  }

  /** Whether the two answers of a row differ; a row that the other run lacks does. */
  differs(at) {
    const other = this.pairs[at];
    return (
      other < 0 ||
      this.left.sum[at] !== this.right.sum[other] ||
      this.left.name("status", at) !== this.right.name("status", other)
    );
  }

  /** Figures over all pairs. */
  figures() {
    const sums = { paired: 0, differ: 0, left: [0, 0, 0], right: [0, 0, 0] };
    const add = (side, store, at) => {
      if (store.tokensOut[at] >= 0) ((side[0] += store.tokensOut[at]), side[1]++);
      if (store.name("status", at) !== "succeeded") side[2]++;
    };
    for (let at = 0; at < this.left.size; at++) {
      if (this.pairs[at] < 0) continue;
      sums.paired++;
      if (this.differs(at)) sums.differ++;
      add(sums.left, this.left, at);
      add(sums.right, this.right, this.pairs[at]);
    }
    return sums;
  }
}

/** The panel above the list while two runs are compared. */
function comparePanel(comparison, query, { change, repair, stop }) {
  const sums = comparison.figures();
  const mean = ([sum, n]) => (n ? count(Math.round(sum / n)) : "–");
  const row = (name, left, right) =>
    el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, left), el("td", {}, right));
  const votes = { left: 0, right: 0, tie: 0 };
  for (const vote of comparison.votes.values()) votes[vote]++;
  return [
    el(
      "div",
      { class: "comparehead" },
      el("h2", {}, "Compared with ", el("bdi", {}, comparison.name)),
      el(
        "p",
        {},
        `${plural(sums.paired, "pair")}: ${count(sums.differ)} differ, ${count(sums.paired - sums.differ)} are the same; ${count(comparison.left.size - sums.paired)} only here, ${count(comparison.right.size - sums.paired)} only there.`,
      ),
    ),
    el(
      "table",
      { class: "plain" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("td"),
          el("th", { scope: "col" }, "Left: this page"),
          el("th", { scope: "col" }, "Right: ", el("bdi", {}, comparison.name)),
        ),
      ),
      el(
        "tbody",
        {},
        row("Mean tokens out", mean(sums.left), mean(sums.right)),
        row("Failed", count(sums.left[2]), count(sums.right[2])),
        row("Votes", count(votes.left), `${count(votes.right)} · ties ${count(votes.tie)}`),
      ),
    ),
    el(
      "div",
      { class: "comparetools" },
      el(
        "label",
        {},
        "Pair by ",
        el(
          "select",
          { onchange: (event) => repair(event.target.value) },
          ["line", "id"].map((by) => el("option", { value: by, selected: comparison.by === by }, by)),
        ),
      ),
      el(
        "button",
        {
          type: "button",
          "aria-pressed": String(query.compare === "differs"),
          onclick: () => change({ compare: query.compare === "differs" ? "" : "differs" }),
        },
        "Differences only",
      ),
      el(
        "button",
        { type: "button", onclick: () => exportVotes(comparison), disabled: comparison.votes.size === 0 },
        "Export votes",
      ),
      el("button", { type: "button", onclick: stop }, "Stop comparing"),
    ),
  ];
}

/** Both answers of a row, differences marked, with the vote below. */
function comparedBlock(comparison, at, left, right, vote) {
  const texts = [left, right].map((view) =>
    view
      ? view.answers
          .map(
            (answer) =>
              answer.text || (answer.toolCalls || []).map((call) => `${call.name}(${call.arguments})`).join("\n"),
          )
          .join("\n\n") || (view.error ? `${view.error.code}: ${view.error.message}` : resultText(view))
      : "",
  );
  const pieces = diffTexts(texts[0], texts[1]);
  const head = (name, view, text) =>
    el(
      "div",
      { class: "head" },
      el("h3", {}, name),
      view
        ? [
            view.finish ? el("span", { class: "chip" }, view.finish) : null,
            el(
              "span",
              { class: "muted" },
              view.tokensOut === null ? `${count(text.length)} characters` : `${count(view.tokensOut)} tokens`,
            ),
            copyButton("Copy", "Answer", text),
          ]
        : null,
    );
  const side = (name, view, text, which) =>
    el(
      "section",
      { "aria-label": name },
      head(name, view, text),
      view ? diffSide(pieces, which) : el("p", { class: "none" }, "The other run has no such row."),
    );
  return el(
    "div",
    { class: "compared" },
    el(
      "section",
      { class: "asked", "aria-label": "Prompt" },
      el("h3", {}, "Prompt"),
      conversation(left.turns, "markdown"),
    ),
    el("div", { class: "pair even" }, side("Left", left, texts[0], "left"), side("Right", right, texts[1], "right")),
    voteBar(comparison.votes.get(at), vote),
  );
}
