// Two runs on screen: the panel above the list, and a row's two answers side by side.
import { diffSide, diffTexts } from "./diff.js";
import { exportVotes, voteBar } from "./vote.js";
import { resultText } from "../data/kinds.js";
import { make } from "../kit/dom.js";
import { count, plural } from "../kit/words.js";
import { conversation } from "../text/answer.js";
import { copyButton } from "../views/toast.js";

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
        `${plural(sums.paired, "pair")}: ${count(sums.differ)} differ, ${count(sums.paired - sums.differ)} are the same; ${count(comparison.left.size - sums.paired)} only here, ${count(comparison.right.size - sums.paired)} only there.`,
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
      make(
        "button",
        {
          type: "button",
          "aria-pressed": String(query.compare === "differs"),
          onclick: () => change({ compare: query.compare === "differs" ? "" : "differs" }),
        },
        "Differences only",
      ),
      make(
        "button",
        { type: "button", onclick: () => exportVotes(comparison), disabled: comparison.votes.size === 0 },
        "Export votes",
      ),
      make("button", { type: "button", onclick: stop }, "Stop comparing"),
    ),
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
      conversation(left.turns, "markdown"),
    ),
    make("div", { class: "pair even" }, side("Left", left, texts[0], "left"), side("Right", right, texts[1], "right")),
    voteBar(comparison.votes.get(at), vote),
  );
}
