// Small charts from plain numbers. Each has a sentence for those who do not see it; a click on a bar filters the rows.
import { make, makeSvg } from "../kit/dom.js";
import { count, duration, plural } from "../kit/words.js";

/** A figure with a title and a note. */
export function card(title, note, ...content) {
  return make(
    "figure",
    { class: "card chart" },
    make("figcaption", {}, make("strong", {}, title), note ? make("span", {}, note) : null),
    content,
  );
}

/** Horizontal bars: [{name, value, tone, pick}]. */
export function bars(items, limit = 6) {
  const most = Math.max(1, ...items.map((item) => item.value));
  const shown = items.slice(0, limit);
  const list = make(
    "ul",
    { class: "bars" },
    shown.map((item) => {
      const fillBar = make("span", { class: `fill ${item.tone || ""}` });
      fillBar.style.width = `${(item.value / most) * 100}%`;
      const inside = [
        make("span", { class: "name", dir: "auto" }, item.name || "(none)"),
        make("span", { class: "track" }, fillBar),
        make("span", { class: "value" }, item.text || count(item.value)),
      ];
      return make(
        "li",
        {},
        item.pick
          ? make("button", { type: "button", onclick: item.pick, title: "Show these rows" }, inside)
          : make("div", {}, inside),
      );
    }),
  );
  return [list, items.length > limit ? make("p", { class: "more" }, `and ${count(items.length - limit)} more`) : null];
}

/** A round step that cuts `span` into at most `most` parts. */
function niceStep(span, most) {
  const raw = span / most;
  const power = 10 ** Math.floor(Math.log10(raw || 1));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw) || 1;
}

/** Count whole numbers into bins: [{from, to, n}]. */
export function binned(values, most = 28) {
  let top = 0;
  for (const value of values) if (value > top) top = value;
  const step = Math.max(1, niceStep(top + 1, most));
  const bins = Array.from({ length: Math.floor(top / step) + 1 }, (_, i) => ({
    from: i * step,
    to: (i + 1) * step - 1,
    n: 0,
  }));
  for (const value of values) if (value >= 0) bins[Math.floor(value / step)].n++;
  return bins;
}

/** The value below which `share` of the sorted numbers lie. */
export const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** Vertical bars over bins; `label` names a bin's ends, `pick` filters to it. */
export function histogram(bins, { label, unit, sentence, pick }) {
  const most = Math.max(1, ...bins.map((bin) => bin.n));
  const width = 100 / bins.length;
  const picture = makeSvg("svg", {
    viewBox: "0 0 100 100",
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": sentence,
  });
  bins.forEach((bin, i) => {
    const height = bin.n ? Math.max(2, (bin.n / most) * 96) : 0;
    const hint = `${label(bin.from)} – ${label(bin.to)} ${unit}: ${plural(bin.n, "row")}`;
    const gap = Math.min(0.8, width * 0.15);
    picture.append(
      makeSvg(
        "g",
        { class: pick ? "bin pick" : "bin", onclick: pick ? () => pick(bin) : null },
        makeSvg("title", {}, hint),
        makeSvg("rect", { class: "hit", x: i * width, y: 0, width, height: 100 }),
        makeSvg("rect", { class: "bar", x: i * width + gap / 2, y: 100 - height, width: width - gap, height }),
      ),
    );
  });
  const last = bins[bins.length - 1];
  return [
    make("div", { class: "plot" }, picture),
    make(
      "div",
      { class: "axis", "aria-hidden": "true" },
      make("span", {}, label(bins[0].from)),
      make("span", {}, label(bins[Math.floor(bins.length / 2)].from)),
      make("span", {}, `${label(last.to)} ${unit}`),
    ),
  ];
}

/** Finished rows over time, one lane a worker: lanes of [second, rows], all buckets `width` seconds wide. */
export function timeline(lanes, width) {
  const seconds = lanes.flatMap((lane) => lane.buckets.map(([second]) => second));
  const [from, to] = [Math.min(...seconds), Math.max(...seconds) + width];
  const columns = Math.max(1, Math.min(120, Math.round((to - from) / width)));
  const step = (to - from) / columns;
  const shown = lanes.slice(0, 24);
  const rates = shown.map((lane) => rateColumns(lane.buckets, from, step, columns));
  const most = Math.max(...rates.flat());
  const rows = shown.map((lane, i) =>
    make(
      "div",
      { class: "lane" },
      make("span", { class: "name" }, lane.worker || "worker"),
      laneSvg(lane, rates[i], most, step, from),
    ),
  );
  const all = lanes.reduce((sum, lane) => sum + lane.buckets.reduce((part, [, n]) => part + n, 0), 0);
  return {
    node: [
      make(
        "div",
        {
          class: "lanes",
          role: "img",
          "aria-label": `${count(all)} rows in ${duration(to - from)} on ${plural(lanes.length, "worker")}, at most ${most.toFixed(1)} rows a second on one`,
        },
        rows,
      ),
      make("div", { class: "axis", "aria-hidden": "true" }, make("span", {}, clock(from)), make("span", {}, clock(to))),
      lanes.length > shown.length
        ? make("p", { class: "more" }, `and ${count(lanes.length - shown.length)} more workers`)
        : null,
    ],
    peak: most,
    mean: all / Math.max(1, to - from),
  };
}

function rateColumns(buckets, from, step, columns) {
  const rates = new Array(columns).fill(0);
  for (const [second, n] of buckets) rates[Math.min(columns - 1, Math.floor((second - from) / step))] += n / step;
  return rates;
}

function laneSvg(lane, rates, most, step, from) {
  const picture = makeSvg("svg", {
    viewBox: `0 0 ${rates.length} 100`,
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  rates.forEach((rate, i) => {
    if (!rate) return;
    const height = Math.max(4, (rate / most) * 100);
    picture.append(
      makeSvg(
        "rect",
        { class: "bar", x: i + 0.05, y: 100 - height, width: 0.9, height },
        makeSvg("title", {}, `${clock(from + i * step)}: ${rate.toFixed(rate < 10 ? 1 : 0)} rows a second`),
      ),
    );
  });
  return picture;
}

/** A time of day, in the reader's zone. */
const times = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
export const clock = (seconds) => times.format(seconds * 1000);

/** Tiny bars of a vector's values, positive up and negative down. */
export function sparkline(values, most = 128) {
  const step = Math.max(1, Math.ceil(values.length / most));
  const means = [];
  for (let i = 0; i < values.length; i += step)
    means.push(values.slice(i, i + step).reduce((a, b) => a + b, 0) / Math.min(step, values.length - i));
  const top = Math.max(1e-12, ...means.map(Math.abs));
  return makeSvg(
    "svg",
    {
      class: "spark",
      viewBox: `0 -50 ${means.length} 100`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${plural(values.length, "number")}, the largest ${top.toPrecision(3)}`,
    },
    means.map((value, i) =>
      makeSvg("rect", {
        class: value < 0 ? "down" : "bar",
        x: i + 0.1,
        y: value < 0 ? 0 : (-value / top) * 48,
        width: 0.8,
        height: Math.max(0.5, (Math.abs(value) / top) * 48),
      }),
    ),
  );
}
