// The `deadline bundle submit` command for the rows at hand, quoted for the user's shell.

const PLAIN = /^[\w@%+=:,./-]+$/;

/** Quote one word for a POSIX shell. */
function quotePosix(word) {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Quote one word for PowerShell. */
function quotePowershell(word) {
  return /^[\w+=:./\\-]+$/.test(word) ? word : `'${word.replace(/['\u2018\u2019\u201a\u201b]/g, "$&$&")}'`;
}

/** Write the command. `parameters` is a list of [name, value]; empty values are left out. */
export function submitCommand(bundle, parameters, shell = "posix") {
  const quote = shell === "posix" ? quotePosix : quotePowershell;
  const pieces = parameters
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `-p ${quote(`${name}=${value}`)}`);
  const join = shell === "posix" ? " \\\n  " : " `\n  ";
  const folder = bundle.startsWith("-") ? `./${bundle}` : bundle || ".";
  return [`deadline bundle submit ${quote(folder)}`, ...pieces].join(join);
}

/** Return the range for Prompts that asks for the whole file. */
export function wholeRange(rows) {
  return rows > 1 ? `1-${rows}` : "1";
}
