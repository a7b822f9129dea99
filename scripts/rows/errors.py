"""Why a row has no answer: the one table of error codes, and the error of a line that cannot be asked."""

from __future__ import annotations

from dataclasses import dataclass

KILLED_SERVER = "server_crash"  # a row that no server survives
SERVER_GONE = "server_gone"  # the rows of a chunk whose model loads are spent
DEADLINE = "deadline"  # the rows that were not asked before StopAt
QUOTA_USED_UP = "quota_used_up"  # the account behind the key of a given server
JOB_REFUSED = "job_refused"  # what the job gives all rows, such as its SamplingParams
SCHEMA_REFUSED = "schema_refused"  # its ResponseSchemaFile
TOO_MANY_FAILURES = "too_many_failures"  # the rows that are not asked any more for MaxFailedPercent


class RowError(Exception):
    """A line that cannot be asked. `code` is for programs, the message says what is wrong and how to mend it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Code:
    """What an error code means and how a person mends the row.

    `may_pass` tells that the same row may pass when it is asked again, so that the row is not to blame; `status` is the
    HTTP status of the server that has this code.
    """

    meaning: str
    mend: str
    may_pass: bool = False
    status: int | None = None


CODES = {
    # the line
    "invalid_utf8": Code(
        "The line is not UTF-8.",
        "save the file as UTF-8 (iconv -f LATIN1 -t UTF-8 old > new)",
    ),
    "invalid_json": Code(
        "The line is not JSON.",
        "a line must be one whole JSON object; tools/make_rows.py makes them from CSV, JSON and Parquet",
    ),
    "not_an_object": Code(
        "The line is JSON, but no object.",
        'write each line as an object, {"prompt": "..."}; tools/make_rows.py takes a JSON array apart',
    ),
    "doubled_name": Code(
        "A name stands twice in one object, with two values; readers of JSON take one or the other.",
        "leave out the one that is not meant",
    ),
    # the row
    "missing_field": Code(
        "The row lacks a field that its request needs.",
        "add the field, or make prompts of other fields with PromptTemplateFile or tools/make_rows.py",
    ),
    "invalid_value": Code(
        "A field or an option has a wrong type or is out of bounds.",
        "give the field what the message asks for; OptionsInRows=sampling_params leaves columns that are data alone",
    ),
    "invalid_url": Code(
        "The row asks an endpoint that the model's server does not have.",
        "use a path that vLLM answers, such as /v1/chat/completions or /v1/embeddings",
    ),
    "invalid_method": Code("The line's method is not POST.", 'write "method": "POST", or leave it out'),
    "stream_not_supported": Code("The row asks for a stream.", 'leave "stream" out: a batch holds whole answers'),
    "no_chat_template": Code(
        "The row asks for a chat, and the model has no chat template.",
        'write a "prompt" and set Endpoint to completions, or give --chat-template in VllmArgs',
    ),
    "template_error": Code(
        "PromptTemplateFile makes no prompt of the row.",
        "give every row the fields that the template names, or write {{ field | default('') }} in it",
    ),
    "too_long": Code(
        "A row's own token limit is larger than MaxModelLen (tools/check.py tells it before submission).",
        "lower the row's max_tokens or raise MaxModelLen",
    ),
    "may_not_fit": Code(
        "A prompt and its answer may be longer than MaxModelLen (tools/check.py estimates it before submission).",
        "raise MaxModelLen, lower max_tokens or shorten the prompt; an estimate, so try a row",
    ),
    "would_be_refused": Code(
        "Each option is fine, but vLLM would refuse them together (tools/check.py tells it before submission).",
        "change what the message names, in the row or among the job's defaults",
    ),
    "file_unavailable": Code(
        "The file that the row names by URL could not be fetched.",
        "check that the workers reach the URL, and run the line again",
        may_pass=True,
    ),
    # the server refuses the row
    "invalid_request": Code(
        "The server refuses the request; the message has its words.",
        "mend what the server names: shorten the prompt, raise MaxModelLen, or leave an option out",
    ),
    "unauthorized": Code(
        "The server takes no request without its key.",
        "set ServerKeySecretId, or give the workers the server's key as OPENAI_API_KEY",
        status=401,
    ),
    QUOTA_USED_UP: Code(
        "The account behind the server's key has nothing left.",
        "add credit or raise its quota, and run the line again",
        may_pass=True,
        status=402,
    ),
    "forbidden": Code("The server's key does not allow this request.", "use a key that does", status=403),
    "not_found": Code(
        "The server has no such model or path.",
        'name a model that is served, or leave "model" out of the row',
        status=404,
    ),
    "too_large": Code("The request is larger than the server takes.", "make the row smaller", status=413),
    # the server does not answer; another attempt may pass
    "request_timeout": Code(
        "The server gave no answer within RowTimeoutSeconds.",
        "raise RowTimeoutSeconds or lower max_tokens, and run the line again",
        may_pass=True,
        status=408,
    ),
    "rate_limited": Code(
        "The server refused the row in all its attempts, as it had too many requests.",
        "lower MaxConcurrency, and run the line again",
        may_pass=True,
        status=429,
    ),
    "unavailable": Code(
        "The server was unavailable in all attempts.",
        "lower MaxConcurrency, and run the line again",
        may_pass=True,
        status=503,
    ),
    "server_error": Code(
        "The server failed at the row in all attempts; the message has its words.",
        "run the line again; a row that fails each time is to be mended, or reported to vLLM",
        may_pass=True,
    ),
    "connection_lost": Code(
        "The connection to the server failed in all attempts.", "run the line again", may_pass=True
    ),
    KILLED_SERVER: Code(
        "The server died each time that it was asked this row.",
        "leave the row out, or report it to vLLM",
        may_pass=True,
    ),
    # the row was not asked to its end
    SERVER_GONE: Code(
        "The chunk had cost all the model loads that one may cost, and the server had died once more.",
        "run the line again; see the task's log for why the server dies",
        may_pass=True,
    ),
    DEADLINE: Code("StopAt came before the row was answered.", "run the line again with a later StopAt", may_pass=True),
    TOO_MANY_FAILURES: Code(
        "More rows of the chunk had failed than MaxFailedPercent allows, so that no further one was asked.",
        "mend what the failed rows have in common, and run the line again",
        may_pass=True,
    ),
    JOB_REFUSED: Code(
        "The server refuses what the job itself gives every row; the message names the parameter.",
        "mend that parameter, and run the line again",
        may_pass=True,
    ),
    SCHEMA_REFUSED: Code(
        "The server refuses the job's ResponseSchemaFile, whatever the row asks.",
        "mend the schema as the message says, and run the line again",
        may_pass=True,
    ),
    # the answer
    "aborted": Code(
        "The engine gave the row up in all attempts: it paused, slept or was shut down.",
        "run the line again",
        may_pass=True,
    ),
    "invalid_answer": Code(
        "The server's answer is not what its endpoint promises.",
        "run the line again; if it fails each time, see the server's log",
        may_pass=True,
    ),
    "schema_mismatch": Code(
        "The answer breaks the job's ResponseSchemaFile, or was cut before its end.",
        "raise MaxTokens, make the schema simpler, and run the line again",
        may_pass=True,
    ),
    # nobody's fault that can be told
    "internal_error": Code(
        "The row met an error of this program that nobody thought of.",
        "report it with the message; run the line again",
        may_pass=True,
    ),
    "missing": Code("No worker left a result for the line.", "run the line again", may_pass=True),
}
