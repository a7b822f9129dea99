// The page's pure functions, for tests and for the console: `promptBuilder.checkLine('{"prompt": "Hi"}')`.
import { submitCommand } from "./command.js";
import { CHECKED, mustBe } from "./fields.js";
import { decodeBytes, guessFormat, readText } from "./importer.js";
import { fillTemplate } from "./jinja.js";
import { rawAt, remove, setRaw } from "./jsontext.js";
import { checkLine } from "./rules.js";
import { exportParts } from "./submit_view.js";

const optionWords = () => Object.fromEntries([...CHECKED].map(([name, option]) => [name, mustBe(option)]));

export const pure = {
  checkLine,
  readText,
  guessFormat,
  decodeBytes,
  fillTemplate,
  submitCommand,
  exportParts,
  optionWords,
  jsontext: { setRaw, rawAt, remove },
};
