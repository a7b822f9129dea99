// Embeddings as what they are: length, norm, nearest rows, and a map of all of them on their two main directions.
import { vectorsOf } from "./kinds.js";
import { oneLine } from "../kit/words.js";

const MAP_ROWS = 1500; // points on the map; more would be a blot, and slow
const PCA_ROUNDS = 24; // of power iteration; a map needs no more

const dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};
export const norm = (a) => Math.sqrt(dot(a, a));
const cosine = (a, b) => (a.length === b.length ? dot(a, b) / (norm(a) * norm(b) || 1) : NaN);

/** Take the mean out of vectors of one length. */
function centred(vectors) {
  const mean = new Float64Array(vectors[0].length);
  for (const vector of vectors) for (let i = 0; i < mean.length; i++) mean[i] += vector[i] / vectors.length;
  return vectors.map((vector) => Float64Array.from(vector, (value, i) => value - mean[i]));
}

/** The direction in which the vectors vary most, by power iteration; the start is fixed so that a map never changes. */
function mainDirection(vectors) {
  let direction = Float64Array.from(vectors[0], (_, i) => Math.sin(i * 12.9898 + 1) + 0.1);
  for (let round = 0; round < PCA_ROUNDS; round++) {
    const next = new Float64Array(direction.length);
    for (const vector of vectors) {
      const weight = dot(vector, direction);
      for (let i = 0; i < next.length; i++) next[i] += weight * vector[i];
    }
    const length = norm(next) || 1;
    direction = next.map((value) => value / length);
  }
  return direction;
}

/** Places of vectors in two dimensions: [[x, y], ...]. */
export function project(vectors) {
  let rest = centred(vectors);
  const axes = [];
  for (let axis = 0; axis < 2; axis++) {
    const direction = mainDirection(rest);
    const along = rest.map((vector) => dot(vector, direction));
    axes.push(along);
    rest = rest.map((vector, n) => vector.map((value, i) => value - along[n] * direction[i]));
  }
  return vectors.map((_, n) => [axes[0][n], axes[1][n]]);
}

/** Read up to MAP_ROWS embeddings of a store, evenly spread: [{at, values, text}]; only the commonest length counts. */
export async function readVectors(store) {
  const kind = store.kindNames.of("embedding");
  const rows = [];
  for (let at = 0; at < store.size; at++) if (store.kind[at] === kind) rows.push(at);
  const step = Math.max(1, Math.ceil(rows.length / MAP_ROWS));
  const points = [];
  for (let i = 0; i < rows.length; i += step) {
    const view = await store.view(rows[i]);
    const [first] = vectorsOf(view.body);
    if (first)
      points.push({
        at: rows[i],
        values: first.values,
        text: oneLine(view.turns.map((turn) => turn.text).join(" "), 90),
        line: view.line,
      });
  }
  const lengths = new Map();
  for (const { values } of points) lengths.set(values.length, (lengths.get(values.length) || 0) + 1);
  const length = [...lengths].sort((a, b) => b[1] - a[1])[0]?.[0];
  return { points: points.filter((point) => point.values.length === length), total: rows.length, length };
}

/** The rows nearest to a vector: [{point, score}]. */
export function nearest(values, at, points, most = 5) {
  return points
    .filter((point) => point.at !== at)
    .map((point) => ({ point, score: cosine(values, point.values) }))
    .filter((item) => Number.isFinite(item.score))
    .sort((a, b) => b.score - a.score)
    .slice(0, most);
}
