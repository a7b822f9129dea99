// The commands that answer the rows at hand, on the farm and on this machine, quoted for the user's shell.

const PLAIN = /^[\w@%+=:,./-]+$/;

/** Quote one word for a POSIX shell. */
function quotePosix(word) {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Quote one word for PowerShell. */
function quotePowershell(word) {
  return /^[\w+=:./\\-]+$/.test(word) ? word : `'${word.replace(/['\u2018\u2019\u201a\u201b]/g, "$&$&")}'`;
}

/** Write the command that submits to the farm. `parameters` is a list of [name, value]; empty values are left out. */
export function submitCommand(bundle, parameters, shell = "posix") {
  const { quote, join } = SHELLS[shell];
  return [`deadline bundle submit ${quote(folderOf(bundle))}`, ...assignments(parameters, quote)].join(join);
}

/** Write the command that answers a file on this machine; it asks for every line and chooses the sizes of tasks itself. */
export function localCommand(bundle, file, output, parameters, shell = "posix") {
  const { quote, join } = SHELLS[shell];
  const program = bundle === "." || bundle === "" ? "tools/submit.py" : `${folderOf(bundle)}/tools/submit.py`;
  const folder = output ? [`--output-dir ${quote(plain(output))}`] : [];
  return [`python3 ${quote(program)} ${quote(plain(file))} --local`, ...folder, ...assignments(parameters, quote)].join(join);
}

const SHELLS = {
  posix: { quote: quotePosix, join: " \\\n  " },
  powershell: { quote: quotePowershell, join: " `\n  " },
};

const plain = (path) => (path.startsWith("-") ? `./${path}` : path); // no option
const folderOf = (bundle) => plain(bundle) || ".";

const assignments = (parameters, quote) =>
  parameters.filter(([, value]) => value !== "").map(([name, value]) => `-p ${quote(`${name}=${value}`)}`);

/** Return the range for Prompts that asks for the whole file. */
export function wholeRange(rows) {
  return rows > 1 ? `1-${rows}` : "1";
}
