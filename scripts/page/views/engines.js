// What the engines did, in words: how full they were, what they counted.
import { count, duration } from "../kit/words.js";

const LEVELS = [
  ["full", "full"],
  ["part", "partly full"],
  ["little", "under a quarter"],
  ["idle", "idle"],
];

/** Return a share of 1 in per cent. */
const percent = (share) => `${Math.round(100 * share)} %`;

/** Return lines of [name, value] about the engines of a job; none where no shard tells of them. */
export function engineFacts(summary) {
  const facts = [];
  const { engines, cached_tokens: cached, prompt_tokens: tokens } = summary;
  if (cached && tokens) facts.push(["Prompt tokens from the cache", `${count(cached)} (${percent(cached / tokens)})`]);
  if (!engines) return facts;
  const shares = LEVELS.map(([name, words]) => `${words} ${percent(engines[name])}`).join(", ");
  facts.push(["Engines", `${shares} of ${duration(engines.seconds)} in tasks`]);
  if (engines.tokens_per_second) facts.push(["Tokens a second of one engine", count(engines.tokens_per_second)]);
  if (engines.highest_cache_use) facts.push(["KV cache at most", percent(engines.highest_cache_use)]);
  if (engines.preemptions) facts.push(["Preemptions", count(engines.preemptions)]);
  if (engines.prefix_hit_rate) facts.push(["Prefix cache hits", percent(engines.prefix_hit_rate)]);
  return facts;
}
