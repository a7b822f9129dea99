"""The cause of an engine's end is found wherever it stands in the log, and advice never harms."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import cause
from engine.hints import HINTS

TRACEBACK = "".join(f'(EngineCore pid=7) ERROR 12-01 09:00:00 [core.py:9]   File "a.py", line {n}\n' for n in range(90))
END = "(APIServer pid=5) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
SETTINGS = (
    "(EngineCore pid=7) INFO 12-01 09:00:00 [core.py:98] Initializing a V1 LLM engine (v0.32.0) with config: "
    "model='m', trust_remote_code=False, tensor_parallel_size=1\n"
    "(APIServer pid=5) INFO 12-01 09:00:00 [utils.py:1] non-default args: {'trust_remote_code': True}\n"
)
BUSY = (
    "ValueError: Free memory on device cuda:0 (1.5/22.05 GiB) on startup is less than desired GPU memory "
    "utilization (0.9, 19.84 GiB). Decrease GPU memory utilization or reduce GPU memory used by other pro"
    "cesses."
)
SMALL = (
    "ValueError: Available memory on node 0 (2.1/15.6 GiB) on startup is less than desired CPU memory uti"
    "lization (0.9, 14.0 GiB)."
)
CONTEXT = (
    "ValueError: To serve at least one request with the model's max seq len (512), (0.02 GiB KV cache is "
    "needed, which is larger than the available KV cache memory (0.01 GiB). Based on the available memory"
    ", the estimated maximum model length is 256. Try increasing `gpu_memory_utilization` or decreasing `"
    "max_model_len`"
)
IMAGE = (
    "ValueError: Chunked MM input disabled but max_tokens_per_mm_item (16384) is larger than max_num_batc"
    "hed_tokens (8192). Please increase max_num_batched_tokens."
)
SHARED = (
    "host:7:9 [2] misc/shmutils.cc:128 NCCL WARN Error while creating shared memory segment /dev/shm/nccl"
    "-x (size 9637888), error: No space left on device (28)"
)
CODE = (
    "ValueError: The repository m contains custom code which must be executed to correctly load the model"
    ". Please pass the argument `trust_remote_code=True` to allow custom code to be run."
)
# What stands in the log, and what the advice must say.
ENGINE = {
    "an old driver": (
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12040).",
        "driver of this worker's GPU is older",
    ),
    "PTX that the driver does not know": (
        "torch.AcceleratorError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        "driver of this worker's GPU is older",
    ),
    "no kernel for this GPU": (
        "torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device",
        "no code for this GPU",
    ),
    "no libcuda": (
        "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
        "no usable GPU",
    ),
    "no libcudart": (
        "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory",
        "library of CUDA is missing",
    ),
    "a GPU that others use": (BUSY, "other programs use this GPU's memory (1.5 GiB are free)"),
    "a GPU that is another's alone": (
        "torch.AcceleratorError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        "another program uses this GPU alone",
    ),
    "too little main memory": (SMALL, "lower GpuMemoryUtilization"),
    "a context beyond the model's own": (
        "ValueError: max_model_len (4096) is greater than the derived max_model_len (max_position_embeddings=256 or",
        "MaxModelLen is 4096, and the model's own limit is 256: lower MaxModelLen to that",
    ),
    "a context that does not fit": (CONTEXT, "the longest context that fits is 256 tokens: lower MaxModelLen"),
    "no memory for the context": (
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
        "raise GpuMemoryUtilization",
    ),
    "too many sequences for a state model": (
        "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (320). Each decode sequence requires one",
        "add --max-num-seqs 320 to VllmArgs",
    ),
    "an image of many tokens": (IMAGE, "add --max-num-batched-tokens 16384 to VllmArgs"),
    "out of memory": (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB",
        "the model does not fit: lower MaxModelLen or GpuMemoryUtilization",
    ),
    "heads that cannot be shared": (
        "ValueError: Total number of attention heads (14) must be divisible by tensor parallel size (4).",
        "must divide the model's 14 attention heads, which 4 does not",
    ),
    "more ranks than GPUs": (
        "ValueError: World size (8) is larger than the number of available GPUs (4) in this node.",
        "asks for more GPUs than this worker has",
    ),
    "a device that is not there": (
        "torch.AcceleratorError: CUDA error: invalid device ordinal",
        "asks for more GPUs than this worker has",
    ),
    "full shared memory": (SHARED, "shared memory (/dev/shm) is full"),
    "a full disk": ("OSError: [Errno 28] No space left on device: '/cache/x'", "give the fleet a larger disk"),
    "a quota": ("OSError: [Errno 122] Disk quota exceeded: '/home/u/x'", "the disk quota of this user is used up"),
    "a model with code": (CODE, "if you trust it, add --trust-remote-code"),
    "a kind of model that is too new": (
        "ValueError: Model architectures ['NewForCausalLM'] are not supported for now.",
        "name a newer vllm in CondaPackages",
    ),
    "an old GPU": (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU",
        "add --dtype half to VllmArgs",
    ),
    "a user without a name": ("KeyError: 'getpwuid(): uid not found: 4242'", "set USER and HOME"),
}
COULD_NOT = (
    "\nOSError: We couldn't connect to 'https://hub' to load the files, and couldn't find them in the cached files."
)
HUB = {
    "too many requests": ("HTTPError: 429 Client Error: Too Many Requests for url: https://hub/m", "HTTP 429"),
    "too many, newly": (
        "HfHubHTTPError: Client error '429 Too Many Requests' for url 'https://hub'",
        "HTTP 429",
    ),
    "a broken hub": ("HTTPError: 503 Server Error: Service Unavailable for url: https://hub/m", "HTTP 503"),
    "a proxy's certificate": ("SSLError: [SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate", "SSL_CERT_FILE"),
    "no network": ("ConnectionError: Failed to resolve 'hub' ([Errno -3] Temporary failure)", "cannot reach"),
    "a gated model": ("GatedRepoError: 403 Client Error. Access to model m is restricted", "wants a token with access"),
    "no model": ("RepositoryNotFoundError: 401 Client Error. Repository Not Found for url", "check ModelName"),
}


@pytest.mark.parametrize(("line", "advice"), ENGINE.values(), ids=ENGINE.keys())
def test_a_cause_far_above_the_end_is_found_with_its_line(line: str, advice: str) -> None:
    log = f"{SETTINGS}(EngineCore pid=7) ERROR 12-01 09:00:00 [core.py:9] {line}\n{TRACEBACK}{END}\n"
    told = cause.explain(log, 1)
    assert advice in told
    assert f"vLLM says: {line[:60]}" in told


@pytest.mark.parametrize(("line", "advice"), HUB.values(), ids=HUB.keys())
def test_a_failure_of_the_hub_is_told_from_a_wrong_name(line: str, advice: str) -> None:
    told = cause.explain(f"{SETTINGS}(APIServer pid=5) {line}{COULD_NOT}\n", 1)
    assert advice in told
    assert ("no such model" in told) == (advice == "check ModelName")


def test_what_an_engine_says_of_its_settings_is_no_cause() -> None:
    warning = "(APIServer pid=5) WARNING 12-01 09:00:00 [hub.py:1] 404 Client Error, No space left on device\n"
    assert cause.explain(SETTINGS + warning + END, 1) == ""


@pytest.mark.parametrize("crash", [{"EngineCore_DP0": -9}, {"EngineCore_DP0": -9, "EngineCore_DP1": None}])
def test_a_killed_engine_is_told_to_want_memory_and_nothing_else(crash: dict[str, int | None]) -> None:
    told = cause.explain(SETTINGS + END.replace("{}", str(crash)), 1)
    assert told == "it was killed (signal 9), most likely for want of main memory: choose workers with more memory"


@pytest.mark.parametrize(("status", "says"), [(-9, "signal 9"), (137, "signal 9"), (-11, "signal 11"), (1, "")])
def test_a_log_without_a_cause_leaves_the_exit_status(status: int, says: str) -> None:
    told = cause.explain(SETTINGS, status)
    assert (says in told) if says else not told


def test_a_failure_that_no_hint_knows_is_quoted_and_the_words_that_point_to_it_are_not() -> None:
    log = f"(EngineCore pid=7) ERROR 12-01 09:00:00 [core.py:9] ValueError: no such quantisation\n{TRACEBACK}{END}"
    assert cause.explain(log, 1) == "vLLM says: ValueError: no such quantisation"


def test_the_refused_flag_is_named() -> None:
    assert "--no-such-flag" in cause.explain("api_server.py: error: unrecognized arguments: --no-such-flag 1\n", 2)


def test_a_log_cannot_say_a_directive_or_fill_the_message() -> None:
    told = cause.explain("ValueError: x\ropenjd_fail: y\x1b[31m" + "z" * 10_000, 1)
    assert "\r" not in told
    assert "\x1b" not in told
    assert len(told) < 1000


def test_every_hint_says_what_to_do_in_a_sentence_that_fits() -> None:
    assert all(len(hint.advice) < 250 and hint.signs for hint in HINTS)


def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert cause.read_log(tmp_path / "none") == ""


@pytest.mark.parametrize(
    ("log", "passes"),
    [
        ("HfHubHTTPError: Client error '429 Too Many Requests' for url 'https://hub'\n", True),
        ("HfHubHTTPError: Server error '503 Service Unavailable' for url 'https://hub'\n", True),
        ("torch.OutOfMemoryError: CUDA out of memory.\nHTTPError: 429 Client Error: Too Many Requests\n", False),
        ("(EngineCore pid=7) WARNING 12-01 09:00:00 [hub.py:1] 429 Too Many Requests, retrying\n", False),
        ("", False),
    ],
    ids=["too many requests", "the hub is down", "another cause, too", "in passing", "no log"],
)
def test_only_what_the_hub_did_not_give_may_be_had_a_while_later(log: str, passes: bool) -> None:
    assert cause.may_pass(log) is passes
