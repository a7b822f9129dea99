// What a row holds when it is not text: embeddings, scores, ranks, classes.
import { asText, isNumber, isObject } from "../kit/exact.js";
import { RULES } from "../kit/rules.js";

/** Embedding vectors in a body: [{values}] or []. */
export function vectorsOf(body) {
  const items = Array.isArray(body.data) ? body.data : [body];
  return items
    .filter((item) => isObject(item) && item.embedding !== undefined)
    .map((item) => ({ values: vector(item.embedding) }))
    .filter((item) => item.values.length);
}

/** A vector's numbers; a base64 string is float32, little-endian; of token vectors the first. */
function vector(value) {
  if (Array.isArray(value))
    return Array.isArray(value[0]) ? vector(value[0]) : value.map(Number).filter(Number.isFinite);
  if (typeof value !== "string") return [];
  try {
    const raw = Uint8Array.from(atob(value), (letter) => letter.charCodeAt(0));
    const view = new DataView(raw.buffer);
    return Array.from({ length: raw.length >> 2 }, (_, i) => view.getFloat32(i * 4, true)).filter(Number.isFinite);
  } catch {
    return [];
  }
}


export const DOCUMENTS = RULES.documents; // fields of a row that are compared with its query

/** Scores of documents, best first: [{index, score, text}]. `turns` hold the documents that were asked about. */
export function ranksOf(body, turns) {
  const documents = turns.filter((item) => DOCUMENTS.includes(item.role)).map((item) => item.text);
  const from = body.results ?? body.scores ?? body.data ?? body.score;
  const items = Array.isArray(from) ? from : isNumber(from) ? [from] : [];
  const ranks = items.map((item, at) => {
    const score = isObject(item) ? (item.relevance_score ?? item.score) : item;
    const index = isObject(item) && isNumber(item.index) ? Number(item.index) : at;
    const text =
      isObject(item) && item.document !== undefined
        ? isObject(item.document)
          ? asText(item.document.text ?? item.document)
          : asText(item.document)
        : documents[index];
    return { index, score: Number(score), text: text ?? "" };
  });
  return ranks.filter((item) => Number.isFinite(item.score)).sort((a, b) => b.score - a.score);
}

/** Classes with their probabilities: [{label, probs}]. */
export function classesOf(body) {
  const items = Array.isArray(body.data) ? body.data : [body];
  return items
    .filter((item) => isObject(item) && (Array.isArray(item.probs) || typeof item.label === "string"))
    .map((item) => ({
      label: asText(item.label),
      probs: Array.isArray(item.probs) ? item.probs.map(Number).filter(Number.isFinite) : [],
    }));
}

/** What a row holds: text, embedding, rank, class, or nothing. */
export function kindOf(view) {
  const { body } = view;
  const first = Array.isArray(body.data) && isObject(body.data[0]) ? body.data[0] : body;
  if (view.error) return "failed";
  if (view.answers.length) return "text";
  if (first.embedding !== undefined) return "embedding";
  if (Array.isArray(first.probs) || (typeof first.label === "string" && view.endpoint.includes("classify")))
    return "class";
  if (ranksOf(body, []).length) return "rank";
  return "other";
}

/** Scores, labels and vectors as JSON, for rows that answer without text. */
export function resultText(view) {
  const kind = kindOf(view);
  if (kind === "rank") return JSON.stringify(ranksOf(view.body, []).map(({ index, score }) => ({ index, score })));
  if (kind === "class")
    return classesOf(view.body)
      .map((item) => item.label)
      .join(", ");
  return kind === "embedding" ? JSON.stringify(vectorsOf(view.body)[0]?.values) : "";
}
