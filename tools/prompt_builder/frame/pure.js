// The page's pure functions, for tests and for the console: `promptBuilder.checkLine('{"prompt": "Hi"}')`.
import { rawAt, remove, setRaw } from "../../../scripts/page/kit/jsontext.js";
import { decodeBytes, guessFormat, readText } from "../importing/importer.js";
import { OPTIONS } from "../../../scripts/page/kit/rules.js";
import { fillTemplate } from "../rules/jinja.js";
import { checkLine } from "../rules/rules.js";
import { submitCommand } from "../submit/command.js";
import { exportParts } from "../submit/submit_view.js";

const optionWords = () => Object.fromEntries([...OPTIONS].map(([name, option]) => [name, option.must]));

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
