// Numbers, times, sizes and texts as people read them.

const number = new Intl.NumberFormat("en-US");

export const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

/** 1234567 as 1,234,567. */
export const count = (n) => number.format(n);

/** A count with its noun: 1 row, 2 rows. */
export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + "s"}`;

/** Seconds as people say them. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Dollars: cents, and of less than a dime the first two digits. */
export const money = (n) => (n && n < 0.1 ? smallMoney : dollars).format(n);
const dollars = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const smallMoney = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumSignificantDigits: 2 });

/** A moment in the reader's own zone, as every time on the page; "" for none. */
export function moment(iso) {
  const time = Date.parse(iso);
  return Number.isFinite(time) ? moments.format(time) : "";
}
const moments = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "medium" });

/** Bytes as people say them. */
export function bytes(n) {
  const power = n < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(n) / 3));
  return `${(n / 1000 ** power).toFixed(power && n / 1000 ** power < 10 ? 1 : 0)} ${["bytes", "kB", "MB", "GB", "TB"][power]}`;
}

/** The first `limit` characters in one line, for lists. */
export function oneLine(text, limit = 240) {
  return text
    .slice(0, limit * 2)
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, limit);
}
