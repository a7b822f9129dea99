// Two runs on screen: the panel above the list, and a row's two answers side by side.
import { diffSide, diffTexts } from "./diff.js";
import { COMPARED } from "./comparison.js";
import { exportVotes, voteBar } from "./vote.js";
import { resultText } from "../data/kinds.js";
import { make, put } from "../kit/dom.js";
import { asText } from "../kit/exact.js";
import { count, plural } from "../kit/words.js";
import { conversation } from "../text/answer.js";
import { snippetOf } from "../views/list.js";
import { copyButton } from "../views/toast.js";

const LACKING = 200; // rows of the other run that are listed

/** The panel above the list while two runs are compared. */
export function comparePanel(comparison, query, { change, repair, stop }) {
  const sums = comparison.figures();
  const mean = ([sum, n]) => (n ? count(Math.round(sum / n)) : "–");
  const row = (name, left, right) =>
    make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, left), make("td", {}, right));
  const votes = { left: 0, right: 0, tie: 0 };
  for (const vote of comparison.votes.values()) votes[vote]++;
  return [
    make(
      "div",
      { class: "comparehead" },
      make("h2", {}, "Compared with ", make("bdi", {}, comparison.name)),
      make(
        "p",
        {},
        `${plural(sums.paired, "pair")}: ${plural(sums.differ, "answer differs", "answers differ")}, ${plural(sums.changed, "row was", "rows were")} changed, ${count(sums.paired - sums.differ - sums.changed)} are the same; ${count(comparison.left.size - sums.paired)} only here, ${count(comparison.right.size - sums.paired)} only there.`,
      ),
    ),
    make(
      "table",
      { class: "plain" },
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          make("td"),
          make("th", { scope: "col" }, "Left: this page"),
          make("th", { scope: "col" }, "Right: ", make("bdi", {}, comparison.name)),
        ),
      ),
      make(
        "tbody",
        {},
        row("Mean tokens out", mean(sums.left), mean(sums.right)),
        row("Failed", count(sums.left[2]), count(sums.right[2])),
        row("Votes", count(votes.left), `${count(votes.right)} · ties ${count(votes.tie)}`),
      ),
    ),
    make(
      "div",
      { class: "comparetools" },
      make(
        "label",
        {},
        "Pair by ",
        make(
          "select",
          { onchange: (event) => repair(event.target.value) },
          ["line", "id"].map((by) => make("option", { value: by, selected: comparison.by === by }, by)),
        ),
      ),
      narrowing(comparison, sums, query, change),
      make(
        "button",
        { type: "button", onclick: () => exportVotes(comparison), disabled: comparison.votes.size === 0 },
        "Export votes",
      ),
      make("button", { type: "button", onclick: stop }, "Stop comparing"),
    ),
    lackingRows(comparison),
  ];
}

/** Buttons that narrow the list to what differs, of the kinds that there are. */
function narrowing(comparison, sums, query, change) {
  const counts = { differs: Infinity, changed: sums.changed, here: comparison.left.size - sums.paired };
  return Object.entries(COMPARED)
    .filter(([kind]) => counts[kind] > 0)
    .map(([kind, title]) => {
      const on = query.compare === kind;
      const onclick = () => change({ compare: on ? "" : kind });
      return make("button", { type: "button", "aria-pressed": String(on), onclick }, title);
    });
}

/** The rows that only the other run has, listed when they are asked for. */
function lackingRows(comparison) {
  const lacking = comparison.lacking();
  if (!lacking.length) return null;
  const list = make("ul", { class: "lacking" });
  const box = make("details", { class: "lackingbox" }, make("summary", {}, `${plural(lacking.length, "row")} only there`), list);
  box.addEventListener("toggle", async () => {
    if (!box.open || list.firstChild) return;
    const { right } = comparison;
    const views = await Promise.all(lacking.slice(0, LACKING).map((at) => right.view(at)));
    const items = views.map((view) => [view, snippetOf(view, [])]).map(([view, { prompt, reply }]) =>
      make("li", {}, make("b", {}, `Line ${count(view.line)}`), view.id ? [" ", make("bdi", { class: "muted" }, view.id)] : null, " ", make("bdi", {}, prompt), " → ", make("bdi", {}, reply)),
    );
    put(list, items, lacking.length > LACKING ? make("li", {}, `and ${count(lacking.length - LACKING)} more: open the file here to see them`) : null);
  });
  return box;
}

/** What both sides ask and hold of their own, where the row was changed between the runs. */
function changedRow(left, right) {
  const [own, others] = [left, right].map((view) =>
    [...view.turns.map((turn) => turn.text), ...view.fields.map(([name, value]) => `${name}: ${asText(value)}`)].join("\n\n"),
  );
  const pieces = diffTexts(own, others);
  return [
    make("p", { class: "muted" }, "The row itself was changed, so its answers are to different questions."),
    make("div", { class: "pair even" }, make("div", {}, diffSide(pieces, "left")), make("div", {}, diffSide(pieces, "right"))),
  ];
}

/** Both answers of a row, differences marked, with the vote below. */
export function comparedBlock(comparison, at, left, right, vote) {
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
    make(
      "div",
      { class: "head" },
      make("h3", {}, name),
      view
        ? [
            view.finish ? make("span", { class: "chip" }, view.finish) : null,
            make(
              "span",
              { class: "muted" },
              view.tokensOut === null ? `${count(text.length)} characters` : `${count(view.tokensOut)} tokens`,
            ),
            copyButton("Copy", "Answer", text),
          ]
        : null,
    );
  const side = (name, view, text, which) =>
    make(
      "section",
      { "aria-label": name },
      head(name, view, text),
      view ? diffSide(pieces, which) : make("p", { class: "none" }, "The other run has no such row."),
    );
  return make(
    "div",
    { class: "compared" },
    make(
      "section",
      { class: "asked", "aria-label": "Prompt" },
      make("h3", {}, "Prompt"),
      right && comparison.kind(at) === "changed" ? changedRow(left, right) : conversation(left.turns, "markdown"),
    ),
    make("div", { class: "pair even" }, side("Left", left, texts[0], "left"), side("Right", right, texts[1], "right")),
    voteBar(comparison.votes.get(at), vote),
  );
}
