// The map of all embeddings as a figure.
import { card } from "./charts.js";
import { project } from "../data/vectors.js";
import { make, makeSvg } from "../kit/dom.js";
import { count, plural } from "../kit/words.js";

/** The map as a figure; a click opens the row. */
export function mapCard({ points, total, length }, open) {
  const places = project(points.map((point) => point.values));
  const [xs, ys] = [places.map((place) => place[0]), places.map((place) => place[1])];
  const scale = (values) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return (value) => 3 + ((value - low) / (high - low || 1)) * 94;
  };
  const [x, y] = [scale(xs), scale(ys)];
  const picture = makeSvg("svg", {
    class: "map",
    viewBox: "0 0 100 100",
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": `Map of ${plural(points.length, "embedding")} on their two main directions`,
  });
  points.forEach((point, n) => {
    picture.append(
      makeSvg(
        "line",
        {
          class: "dot",
          x1: x(xs[n]),
          y1: y(ys[n]),
          x2: x(xs[n]) + 0.001,
          y2: y(ys[n]),
          "data-at": point.at,
          onclick: () => open(point.at),
        },
        makeSvg("title", {}, `${point.line}: ${point.text}`),
      ),
    );
  });
  return card(
    "Map of embeddings",
    `${count(length)} dimensions · ${points.length < total ? `${count(points.length)} of ` : ""}${plural(total, "row")}`,
    make("div", { class: "plot tall" }, picture),
  );
}
