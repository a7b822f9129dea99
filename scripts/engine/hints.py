"""What to do about an engine that ended, by what its log says: a table.

Most special first: a failure of the hub ends in the same last words, whatever its cause. A hint is a sentence for the
person who submitted the job and names parameters as the form does. No hint is better than a wrong one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hint:
    """What to do about a log with a line that one of the signs matches; `{name}` is the text of a sign's group.

    `passes` tells that the same start may succeed a while later.
    """

    advice: str
    signs: tuple[str, ...]
    passes: bool = False


HINTS = (
    Hint(
        "the driver of this worker's GPU is older than the packages' CUDA: name a vllm and a cuda-toolkit of an older "
        "CUDA in CondaPackages, or choose workers with a newer driver",
        (
            "NVIDIA driver on your system is too old",
            "CUDA driver version is insufficient",
            "provided PTX was compiled with an unsupported toolchain",
            "forward compatibility was attempted on non supported HW",
        ),
    ),
    Hint(
        "this vLLM build has no code for this GPU, which is too old or too new for it: choose another GPU, or another "
        "vllm in CondaPackages",
        (
            "no kernel image is available",
            r"sm_\d+ is not compatible with the current PyTorch",
            r"ptxas fatal\s*: Value 'sm_\w+' is not defined",
            "not supported for the current GPU. Minimum capability",
        ),
    ),
    Hint(
        "this GPU does not compute in bfloat16: add --dtype half to VllmArgs, or choose a newer GPU",
        ("Bfloat16 is only supported on GPUs with compute capability",),
    ),
    Hint(
        "this worker has no usable GPU: choose a fleet with NVIDIA GPUs, or install vLLM's CPU build",
        (
            "No CUDA GPUs",
            "Failed to infer device type",
            "no NVIDIA driver",
            r"libcuda\.so(\.1)?: cannot open shared object",
            r"libcuda\.so(\.1)?['\"]? ?(was )?(cannot be |not )found",
            "no CUDA-capable device is detected",
        ),
    ),
    Hint(
        "a library of CUDA is missing: CondaPackages must bring the cuda-toolkit that its vllm was built for",
        (
            r"lib(cu[a-z]+|nv\w+|nccl)\.so[.\d]*: cannot open shared object",
            "Could not find nvcc",
            "CUDA_HOME is not set",
        ),
    ),
    Hint(
        "other programs use this GPU's memory ({free} GiB are free): end them, choose another worker, or lower "
        "GpuMemoryUtilization",
        (r"Free memory on device \S+ \((?P<free>[\d.]+)/[\d.]+ GiB\) on startup is less than",),
    ),
    Hint(
        "another program uses this GPU alone: end it, or choose another worker",
        (r"CUDA-capable device\(s\) is/are busy or unavailable", "GPU is already in use by another"),
    ),
    Hint(
        "this worker has less free main memory than is asked for: lower GpuMemoryUtilization (with vLLM's CPU build it "
        "is the share of main memory), or choose workers with more memory",
        (
            "is less than desired CPU memory utilization",
            r"DefaultCPUAllocator: .*allocate memory",
            "Cannot allocate memory",
        ),
    ),
    Hint(
        "the longest context that fits is {tokens} tokens: lower MaxModelLen to that, or raise GpuMemoryUtilization",
        (
            r"estimated maximum model length is (?P<tokens>\d+)",
            r"larger than the maximum number of tokens that can be stored in KV cache \((?P<tokens>\d+)\)",
        ),
    ),
    Hint(
        "the model leaves too little memory for its context: lower MaxModelLen, raise GpuMemoryUtilization, or use a "
        "larger GPU",
        ("No available memory for the cache blocks", "larger than the (maximum|available) KV cache"),
    ),
    Hint(
        "this model answers at most {most} requests at once here: add --max-num-seqs {most} to VllmArgs",
        (r"max_num_seqs \(\d+\) exceeds available Mamba cache blocks \((?P<most>\d+)\)",),
    ),
    Hint(
        "one image, sound or video takes {tokens} tokens here: add --max-num-batched-tokens {tokens} to VllmArgs",
        (r"max_tokens_per_mm_item \((?P<tokens>\d+)\) is larger than max_num_batched_tokens",),
    ),
    Hint(
        "the model does not fit: lower MaxModelLen or GpuMemoryUtilization, or use a larger GPU",
        ("CUDA out of memory", "OutOfMemoryError", "CUDA error: out of memory", "HIP out of memory"),
    ),
    Hint(
        "TensorParallelSize must divide the model's {heads} attention heads, which {ranks} does not: set a divisor",
        (r"attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel size \((?P<ranks>\d+)\)",),
    ),
    Hint(
        "TensorParallelSize does not divide one of the model's sizes: set it to a smaller number",
        (
            r"AssertionError: \d+ is not divisible by \d+",
            "not divisible by (tensor parallel|tp)",
            "tensor_parallel_size.*divisible",
        ),
    ),
    Hint(
        "TensorParallelSize, with the parallel sizes of VllmArgs, asks for more GPUs than this worker has: lower it, "
        "or leave it at 0",
        (
            r"World size \(\d+\) is larger than the number of available GPUs",
            "invalid device ordinal",
            "Duplicate GPU detected",
        ),
    ),
    Hint(
        "MaxModelLen is {asked}, and the model's own limit is {own}: lower MaxModelLen to that",
        (r"max_model_len \((?P<asked>\d+)\) is greater than the derived max_model_len \([^=]*=(?P<own>\d+)",),
    ),
    Hint(
        "MaxModelLen is longer than the model's own limit: lower MaxModelLen",
        ("User-specified max_model_len .* is greater",),
    ),
    Hint(
        "shared memory (/dev/shm) is full: give the container a larger one, or lower TensorParallelSize",
        (r"\bshm/.*No space left on device", "shared memory.*No space left on device"),
    ),
    Hint(
        "the disk quota of this user is used up: free some of it, or give the job another cache",
        ("Disk quota exceeded",),
    ),
    Hint(
        "the disk is full: give the fleet a larger disk or a persistent volume",
        ("No space left on device",),
    ),
    Hint(
        "a certificate on the way to the Hugging Face hub is not trusted here: set SSL_CERT_FILE on the worker to the "
        "certificates of its proxy",
        ("CERTIFICATE_VERIFY_FAILED", "certificate verify failed"),
    ),
    Hint(
        "the Hugging Face hub was asked too many times (HTTP 429): submit again later, with HfTokenSecretId set or the "
        "model in a cache that the workers share",
        (r"\b429 (Client Error|Too Many Requests)", "rate limit.*huggingface|huggingface.*rate limit"),
        passes=True,
    ),
    Hint(
        "the Hugging Face hub does not work at present (HTTP {status}): submit again later",
        (r"\b(?P<status>50[0234]) Server Error", r"Server error '(?P<status>50[0234])\b"),
        passes=True,
    ),
    Hint(
        "Hugging Face wants a token with access to this model: set HfTokenSecretId (or HfToken)",
        (
            "gated repo",
            "GatedRepoError",
            "awaiting a review",
            "Access to .* is restricted",
            r"\b403 (Client Error|Forbidden)",
        ),
    ),
    Hint(
        "there is no such model here: check ModelName (a Hugging Face id, or a folder on the worker); a private one "
        "wants HfTokenSecretId",
        (
            "Repository Not Found",
            "RepositoryNotFoundError",
            "RevisionNotFoundError",
            "is not a valid model identifier",
            "is not a local folder",
            "Invalid repository ID",
            "Repo id must",
        ),
    ),
    Hint(
        "Hugging Face refuses the token: set HfTokenSecretId (or HfToken) to one that holds",
        (r"\b401 (Client Error|Unauthorized)", "Invalid user token"),
    ),
    Hint(
        "HF_HUB_OFFLINE is set on this worker and its cache lacks the model: set ModelName to a folder that holds it",
        ("outgoing traffic has been disabled", "OfflineModeIsEnabled"),
    ),
    Hint(
        "this worker cannot reach the Hugging Face hub: check its network and proxy (HTTPS_PROXY), or set ModelName to "
        "a folder on the worker",
        (
            "couldn't connect to",
            "LocalEntryNotFoundError",
            "Max retries exceeded with url",
            "Failed to resolve",
            "(Name or service not known|Temporary failure in name resolution)",
        ),
    ),
    Hint(
        "this vLLM does not know the model's kind: name a newer vllm in CondaPackages, or choose another model",
        ("Model architectures .* are not supported", "does not recognize this architecture"),
    ),
    Hint(
        "VllmArgs holds an argument that this vLLM does not know, or a value that it does not take",
        ("unrecognized arguments", r"error: (argument|ambiguous option)"),
    ),
    Hint("vLLM is not installed: CondaPackages must bring it", (r"No module named '?vllm\b",)),
    Hint(
        "this worker's user has no name, which vLLM asks for: set USER and HOME in its environment",
        (r"getpwuid\(\): uid not found",),
    ),
    Hint(
        "the model brings code of its own: if you trust it, add --trust-remote-code to VllmArgs",
        (
            "contains custom code",
            "custom code to be run",
            "requires you to execute the (configuration|modeling|tokenizer)",
            r"(set|setting|pass|passing|option|argument) `trust_remote_code=True`",
        ),
    ),
)
