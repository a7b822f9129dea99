// One row in full: what was asked beside what came back, whatever kind of answer it is, and everything else the line holds.
import { bars, clock, sparkline } from "./charts.js";
import { copyButton } from "./toast.js";
import { DOCUMENTS, classesOf, kindOf, ranksOf, vectorsOf } from "../data/kinds.js";
import { nearest, norm } from "../data/vectors.js";
import { make } from "../kit/dom.js";
import { asText, isObject, tryPlain } from "../kit/exact.js";
import { count, duration, oneLine, plural } from "../kit/words.js";
import { answerBlock, conversation, textBlock } from "../text/answer.js";
import { markHits } from "../text/hits.js";
import { prettyJson } from "../text/pretty.js";

/** The whole pane for a row. `options`: {manner, words, points, compared}. */
export function detailPane(store, view, at, options) {
  const nodes = [
    view.error ? errorBox(view) : null,
    options.compared ||
      make(
        "div",
        { class: "pair" },
        make(
          "section",
          { class: "asked", "aria-label": "Prompt" },
          make("h3", {}, askedTitle(view.turns)),
          conversation(view.turns, options.manner),
        ),
        make("section", { class: "given", "aria-label": "Answer" }, givenHead(view), given(store, view, at, options)),
      ),
    fieldsBlock(view),
    factsBlock(store, view),
    rawBlock("Output line", view.output),
    view.input ? rawBlock("Input line", view.input) : null,
  ].filter(Boolean);
  for (const node of nodes) markHits(node, options.words);
  return nodes;
}

function askedTitle(turns) {
  if (turns.some((turn) => turn.role === "query" || DOCUMENTS.includes(turn.role))) return "Query and documents";
  return turns.length > 1 ? "Conversation" : "Prompt";
}

function errorBox(view) {
  const { code, message, status, attempts } = view.error;
  const facts = [status ? `HTTP ${asText(status)}` : null, attempts ? plural(Number(attempts), "attempt") : null]
    .filter(Boolean)
    .join(" · ");
  return make(
    "section",
    { class: "error", "aria-label": "Error" },
    make("h3", {}, make("code", {}, code), facts ? make("span", {}, facts) : null),
    make("p", { dir: "auto" }, oneLine(message, 20000) === message ? message : textBlock(message, "plain")),
  );
}

function givenHead(view) {
  const text = view.answers.map((answer) => answer.text || "").join("\n\n");
  return make(
    "div",
    { class: "head" },
    make("h3", {}, view.answers.length > 1 ? `${view.answers.length} answers` : "Answer"),
    text ? copyButton("Copy", "Answer", text) : null,
  );
}

/** What came back, by kind. */
function given(store, view, at, options) {
  const kind = kindOf(view);
  if (kind === "failed" && !view.answers.length) return make("p", { class: "none" }, "No answer: see the error above.");
  if (kind === "text" || view.answers.length) {
    return view.answers.map((answer, n) =>
      answerBlock(answer, options.manner, view.answers.length > 1 ? `Choice ${n + 1} of ${view.answers.length}` : null),
    );
  }
  if (kind === "embedding") return embeddingBlock(vectorsOf(view.body), at, options);
  if (kind === "rank") return rankBlock(ranksOf(view.body, view.turns));
  if (kind === "class") return classesOf(view.body).map(classBlock);
  return make("p", { class: "none" }, "Nothing that this page knows how to show: see the output line below.");
}

function embeddingBlock(vectors, at, { points, open }) {
  return vectors.slice(0, 20).map(({ values }, n) =>
    make(
      "div",
      { class: "vector" },
      vectors.length > 1 ? make("div", { class: "role" }, `Vector ${n + 1} of ${vectors.length}`) : null,
      make(
        "dl",
        { class: "figures small" },
        [
          ["Dimensions", count(values.length)],
          ["Norm", norm(values).toFixed(4)],
          ["Smallest", values.reduce((a, b) => Math.min(a, b), Infinity).toPrecision(3)],
          ["Largest", values.reduce((a, b) => Math.max(a, b), -Infinity).toPrecision(3)],
        ].map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
      ),
      sparkline(values),
      copyButton("Copy the vector", "Vector", () => JSON.stringify(values)),
      n === 0 && points ? neighbours(nearest(values, at, points), open) : null,
    ),
  );
}

function neighbours(list, open) {
  if (!list.length) return null;
  return [
    make("h4", {}, "Nearest rows by cosine"),
    bars(
      list.map(({ point, score }) => ({
        name: `${point.line} · ${point.text}`,
        value: Math.max(0, score),
        text: score.toFixed(3),
        pick: () => open(point.at),
      })),
    ),
  ];
}

function rankBlock(ranks) {
  const most = Math.max(...ranks.map((item) => Math.abs(item.score)), 1e-12);
  return make(
    "ol",
    { class: "ranks" },
    ranks.slice(0, 200).map((item) => {
      const bar = make("span", { class: "fill" });
      bar.style.width = `${(Math.abs(item.score) / most) * 100}%`;
      return make(
        "li",
        {},
        make(
          "div",
          { class: "rankhead" },
          make("span", { class: "track" }, bar),
          make("b", {}, item.score.toFixed(4)),
          make("span", { class: "muted" }, `document ${item.index}`),
        ),
        item.text ? textBlock(item.text, "plain") : null,
      );
    }),
  );
}

function classBlock({ label, probs }) {
  const list = probs
    .map((value, n) => ({ name: `class ${n}`, value, text: `${(value * 100).toFixed(1)} %` }))
    .sort((a, b) => b.value - a.value);
  return make("div", { class: "classes" }, make("p", { class: "headline" }, label || "(no label)"), bars(list, 10));
}

/** The row's own fields and its options, as chips; long or nested values below each other. */
function fieldsBlock(view) {
  const chips = (list, kind) =>
    list.map(([name, value]) => {
      const text = asText(value);
      if (text.length > 120 || isObject(value))
        return make(
          "div",
          { class: "longfield" },
          make("div", { class: "role" }, name),
          tryPlain(text) !== undefined && typeof value !== "string" ? prettyJson(text) : textBlock(text, "plain"),
        );
      return make("span", { class: `chip ${kind}` }, make("span", { class: "name" }, name), make("bdi", {}, text));
    });
  if (!view.fields.length && !view.options.length) return null;
  return make(
    "section",
    { class: "fields", "aria-label": "Fields" },
    view.fields.length ? [make("h3", {}, "Fields"), make("div", { class: "chips" }, chips(view.fields, "field"))] : null,
    view.options.length
      ? [make("h3", {}, "Options of this row"), make("div", { class: "chips" }, chips(view.options, "option"))]
      : null,
  );
}

function factsBlock(store, view) {
  const facts = [
    ["Tokens in", view.tokensIn],
    ["Tokens out", view.tokensOut],
    ["Finish reason", view.finish],
    ["Endpoint", view.endpoint],
    ["Model", view.model],
    ["Format", view.dialect],
    ["Latency", view.seconds === null || view.seconds === undefined ? null : duration(view.seconds)],
    ["Started", view.started ? clock(view.started) : null],
    ["Attempts", view.attempts || null],
    ["Worker", view.worker],
  ].filter(([, value]) => value !== null && value !== undefined && value !== "");
  return make(
    "section",
    { "aria-label": "Facts" },
    make(
      "dl",
      { class: "facts inline" },
      facts.map(([name, value]) =>
        make("div", {}, make("dt", {}, name), make("dd", {}, typeof value === "number" ? count(value) : value)),
      ),
    ),
  );
}

/** The line itself, indented, made when it is opened. */
function rawBlock(title, text) {
  const body = make("div");
  const box = make(
    "details",
    { class: "raw" },
    make("summary", {}, title),
    make("div", { class: "head" }, copyButton("Copy", title, text)),
    body,
  );
  box.addEventListener("toggle", () => {
    if (box.open && !body.firstChild)
      body.append(
        tryPlain(text) === undefined ? make("pre", { tabindex: "0" }, text.slice(0, 200000)) : prettyJson(text),
      );
  });
  return box;
}
