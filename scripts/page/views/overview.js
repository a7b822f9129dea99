// The top of the page: what was run, how it went, and the charts. Draws from the summary at once, from the rows as they are read.
import { bars, binned, card, histogram, quantile, timeline } from "./charts.js";
import { costFacts, costTiles } from "./cost.js";
import { engineFacts } from "./engines.js";
import { CUT, tallyNames } from "../data/query.js";
import { make } from "../kit/dom.js";
import { asText } from "../kit/exact.js";
import { count, duration, moment, plural, short } from "../kit/words.js";

const TONES = { complete: "good", "cut off": "warn", failed: "bad", missing: "muted" };

/** What came of the rows: a sentence, a bar of shares, and a button for each kind. */
export function outcome(summary, pick) {
  const { requested = 0, succeeded = 0, failed = 0, missing = 0, truncated = 0, empty = 0, refused = 0 } = summary;
  const parts = [
    ["complete", succeeded - truncated, "Answered in full", { status: ["succeeded"] }],
    ["cut off", truncated, "Cut off at the token limit", { finish: CUT }],
    ["failed", failed - missing, "Failed", { status: ["failed"] }],
    ["missing", missing, "Missing: no worker left a result", { status: ["missing"] }],
  ];
  const bar = make(
    "div",
    { class: "shares", "aria-hidden": "true" },
    parts.map(([name, value]) => {
      const part = make("span", { class: TONES[name] });
      part.style.flexGrow = value;
      return value > 0 ? part : null;
    }),
  );
  const all = failed === 0 && succeeded > 0;
  return make(
    "section",
    { class: "card outcome", "aria-label": "Outcome" },
    make(
      "p",
      { class: "headline" },
      all
        ? succeeded === 1
          ? "The row was answered"
          : `All ${count(succeeded)} rows answered`
        : `${count(succeeded)} of ${plural(requested, "row")} answered`,
      [[truncated, "cut off"], [empty, "empty"], [refused, "refused"]].map(([n, word]) => (n ? `, ${count(n)} ${word}` : "")),
    ),
    bar,
    make(
      "ul",
      { class: "legend" },
      parts
        .filter(([name, value]) => value > 0 || name === "failed")
        .map(([name, value, hint, filter]) => tile(TONES[name], value, name, hint, () => pick(filter))),
      alike(summary, pick),
    ),
  );
}

const MANY = { rows: 10, share: 0.1 }; // from here on, answers that are equal are told; summary.py has the same

/** The answer that many rows have: of labels that is as it should be, of texts seldom. */
function alike({ repeated, succeeded }, pick) {
  if (!repeated || repeated.rows < MANY.rows || repeated.rows < MANY.share * succeeded) return null;
  return tile("muted", repeated.rows, "with one answer", "The commonest answer", () => pick({}, { same: repeated.line }));
}

function tile(tone, value, name, hint, onclick) {
  const hints = { type: "button", class: `tile ${tone}`, title: `${hint}: show these rows`, onclick };
  return make("li", {}, make("button", hints, make("b", {}, count(value)), ` ${name}`));
}

/** The figures beside it. */
export function figures(summary) {
  const started = moment(summary.started);
  const facts = [
    ["Tokens in", short.format(summary.prompt_tokens || 0), count(summary.prompt_tokens || 0)],
    ["Tokens out", short.format(summary.completion_tokens || 0), count(summary.completion_tokens || 0)],
    ["Tokens a second", short.format(summary.tokens_per_second || 0), "Generated tokens over the job's time"],
    ["Time", duration(summary.seconds), started ? `From ${started}` : ""],
    ["Workers", count(summary.workers || 0), "Sessions that answered rows"],
    ["Model loads", count(summary.model_loads || 0), "Once a session is what should be"],
    ...costTiles(summary),
  ];
  return make(
    "dl",
    { class: "card figures" },
    facts.map(([name, value, hint]) => make("div", { title: hint }, make("dt", {}, name), make("dd", {}, value))),
  );
}

/** What a reader must know before trusting the page: rows not asked for, rows not held, what aggregate noted. */
export function remarks(summary, held) {
  const list = [...(summary.notes || [])];
  if (summary.not_requested)
    list.push(
      `${plural(summary.not_requested, "line")} of the input ${summary.not_requested === 1 ? "was" : "were"} not requested (Prompts).`,
    );
  if (summary.past_end) list.push(`${plural(summary.past_end, "requested line")} past the end of the file.`);
  if (summary.blank) list.push(`${plural(summary.blank, "blank line")} skipped.`);
  if (held.held < held.rows) {
    list.push(
      `This page holds ${count(held.held)} of ${plural(held.rows, "row")}, ${held.failed_held < held.failed ? `${count(held.failed_held)} of the` : "all"} ${count(held.failed)} failed ones among them. Drop output.jsonl on it to open every row.`,
    );
  }
  return list.length
    ? make(
        "ul",
        { class: "remarks" },
        list.map((text) => make("li", { dir: "auto" }, text)),
      )
    : null;
}

/** Model, file, parameters, times: everything that says how to run it again. */
export function howItWasRun(summary) {
  const input = summary.input || {};
  const records = summary.records || {};
  const facts = [
    ["Model", summary.model],
    ["Input", input.name],
    ["Lines in it", input.lines],
    ["SHA-256 of it", input.sha256],
    ["Started", moment(summary.started)],
    ["Finished", moment(summary.finished)],
    ["GPUs", (summary.placement || []).join("; ")],
    ...engineFacts(summary),
    ...costFacts(summary),
    ...Object.entries(summary.dialects || {}).map(([name, n]) => [`${name} rows`, n]),
    ...Object.entries(summary.endpoints || {}).map(([name, n]) => [name, n]),
    ...(records.total
      ? [["Records (total, success, error)", [records.total, records.success, records.error].join(", ")]]
      : []),
    ...Object.entries(summary.parameters || {}),
  ].filter(([, value]) => value !== undefined && value !== null && value !== "");
  return make(
    "details",
    { class: "card run" },
    make("summary", {}, "How it was run"),
    make(
      "dl",
      { class: "facts" },
      facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", { dir: "auto" }, asText(value)))),
    ),
  );
}

/** The charts that need no rows. */
export function timeCharts(tally, pick) {
  const charts = [];
  if (tally.lanes.length) {
    const { node, mean } = timeline(tally.lanes, tally.width);
    charts.push(card("Rows over time", `${mean < 10 ? mean.toFixed(1) : count(Math.round(mean))} rows a second`, node));
  }
  if (tally.latency.length) charts.push(latencyCard(tally, pick));
  return charts;
}

function latencyCard(tally, pick) {
  const [low, high] = [tally.latency[0][0], tally.latency[tally.latency.length - 1][0]];
  const found = new Map(tally.latency);
  const edge = (bin) => 2 ** (bin / tally.bins);
  const bins = Array.from({ length: high - low + 1 }, (_, i) => ({
    from: edge(low + i),
    to: edge(low + i + 1),
    n: found.get(low + i) || 0,
  }));
  const total = bins.reduce((sum, bin) => sum + bin.n, 0);
  let seen = 0;
  const middle = bins.find((bin) => (seen += bin.n) * 2 >= total);
  const note = `half within ${duration(middle.to)}`;
  return card(
    "Latency",
    note,
    histogram(bins, {
      label: duration,
      unit: "",
      sentence: `Latencies of ${plural(total, "row")}: ${note}`,
      pick: (bin) => pick({}, { "seconds.min": bin.from, "seconds.max": bin.to }),
    }),
  );
}

/** The charts of the rows read so far. */
export function rowCharts(store, pick) {
  const charts = [];
  const reasons = tallyNames(store, "finish").filter(([name]) => name);
  if (reasons.length)
    charts.push(
      card(
        "Finish reasons",
        null,
        bars(
          reasons.map(([name, value]) => ({
            name,
            value,
            tone: CUT.includes(name) ? "warn" : "",
            pick: () => pick({ finish: [name] }),
          })),
        ),
      ),
    );
  const lengths = lengthCard(store, pick);
  if (lengths) charts.push(lengths);
  const labels = tallyNames(store, "label").filter(([name]) => name);
  if (labels.length)
    charts.push(
      card(
        "Classes",
        null,
        bars(labels.map(([name, value]) => ({ name, value, pick: () => pick({ label: [name] }) }))),
      ),
    );
  return charts;
}

function lengthCard(store, pick) {
  const kind = store.kindNames.of("text");
  const column = (name) =>
    Array.from({ length: store.size }, (_, at) => (store.kind[at] === kind ? store[name][at] : NaN)).filter(
      (value) => value >= 0,
    );
  let values = column("tokensOut");
  const [name, unit] = values.length ? ["tokensOut", "tokens"] : ["length", "characters"];
  if (!values.length) values = column("length");
  if (!values.length) return null;
  const sorted = values.sort((a, b) => a - b);
  const note = `half below ${count(quantile(sorted, 0.5))} ${unit}`;
  return card(
    "Answer lengths",
    note,
    histogram(binned(sorted), {
      label: short.format,
      unit,
      sentence: `Lengths of ${plural(sorted.length, "answer")}: ${note}, the longest ${count(sorted[sorted.length - 1])}`,
      pick: (bin) => pick({}, { [`${name}.min`]: bin.from, [`${name}.max`]: bin.to }),
    }),
  );
}
