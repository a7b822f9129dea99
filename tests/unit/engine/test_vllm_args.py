"""VllmArgs as people write and paste them: split like a shell's words, and refused with what is wrong shown."""

from __future__ import annotations

import pytest

from engine.vllm_args import ArgumentsError, has_flag, overridden, split_arguments, values_of


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", []),
        ("--max-num-seqs 8", ["--max-num-seqs", "8"]),
        ("--hf-overrides '{\"a\": 1}' -tp 2", ["--hf-overrides", '{"a": 1}', "-tp", "2"]),
        ("--max-num-seqs 8 \\\n  --seed 1", ["--max-num-seqs", "8", "--seed", "1"]),
        ('--served-model-name "my model" other', ["--served-model-name", "my model", "other"]),
        ("--chat-template 'it’s “so” – always'", ["--chat-template", "it’s “so” – always"]),
        ("--model-impl vllm", ["--model-impl", "vllm"]),
        ("--chat-template '{% if a %}b{% endif %}'", ["--chat-template", "{% if a %}b{% endif %}"]),
        ("--chat-template '{{ a }} -- b'", ["--chat-template", "{{ a }} -- b"]),
        ("--chat-template '--- {{ a }}'", ["--chat-template", "--- {{ a }}"]),
        ("--hf-overrides.rope_theta=1 -O3", ["--hf-overrides.rope_theta=1", "-O3"]),
    ],
)
def test_arguments_are_split_as_a_shell_splits_words(text: str, arguments: list[str]) -> None:
    assert split_arguments(text) == arguments


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("–-max-num-seqs 8", "'–', a dash that is no hyphen"),
        ("—max-num-seqs 8", "'—', a dash that is no hyphen"),
        ("--seed 1 −-max-num-seqs 8", "'−', a dash that is no hyphen"),
        ('--limit-mm-per-prompt “{"image": 0}”', "'“'; write straight quotation marks"),
        ("--served-model-name ‘mine’", "'‘'; write straight quotation marks"),
        ("--served-model-name `mine`", "'`'; write straight quotation marks"),
        ("--max-num-seqs\u00a08", r"U\+00A0"),
        ("--max-num-seqs\u200b 8", r"U\+200B"),
        ('--hf-overrides {"a": 1}', "no JSON; put JSON in single quotes"),
        ("vllm serve m --max-num-seqs 8", "begins with 'vllm'"),
        ("python -m vllm.entrypoints.openai.api_server", "begins with 'python'"),
        ("Qwen/Qwen2.5-7B-Instruct --seed 1", "begins with 'Qwen/Qwen2.5-7B-Instruct'"),
        ("--max-num-seqs 8 \\", r"ends in a \\"),
        ('--max-num-seqs "8', "a quotation mark is not closed"),
        ("--max-num-seqs 8 # half", "no shell reads '#'"),
        ("--max-num-seqs=8; touch x", "no shell reads"),
        ("--seed 1 && rm x", "no shell reads '&&'"),
        ("--download-dir $HOME/models", "no shell reads"),
        ("--model other/model", "must not hold --model: set ModelName"),
        ("--model=other/model", "must not hold --model: set ModelName"),
        ("--mod other/model", "must not hold --mod: set ModelName"),
        ("--ho 0.0.0.0", "must not hold --ho: the server stays on loopback"),
        ("--hf-tok hf_x", "must not hold --hf-tok: all users"),
        ("'--max-num-seqs 8'", "one argument with a space in it"),
        (r"--seed 1 \ --max-num-seqs 8", r"' --max-num-seqs' is one argument with a space in it"),
        ('--additional-config={"a": 1}', "no JSON; put JSON in single quotes"),
        ("--additional-config={'a':1}", "'{a:1}' is no JSON"),
        ("--quantization=“awq”", "'“awq”' begins with '“'"),
        ("--max-num-seqs 8\u3000", r"U\+3000"),
        ("--max-num-seqs \u200b8", r"U\+200B"),
    ],
)
def test_what_was_pasted_and_means_something_else_here_is_refused(text: str, words: str) -> None:
    with pytest.raises(ArgumentsError, match=words):
        split_arguments(text)


def test_a_secret_in_the_arguments_is_not_shown() -> None:
    with pytest.raises(ArgumentsError) as raised:
        split_arguments("--api-key=sk-secret;")
    assert "sk-secret" not in str(raised.value)


def test_a_parameter_that_the_arguments_say_again_is_told() -> None:
    found = overridden(["--max-model-len", "256", "--gpu_memory_utilization=0.5", "-tp", "2", "--seed", "1"])
    assert found == {"MaxModelLen": "256", "GpuMemoryUtilization": "0.5", "TensorParallelSize": "2"}


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--max-model", "256"], {"MaxModelLen": "256"}),
        (["--max_model=32k"], {"MaxModelLen": "32k"}),
        (["--gpu-mem", "0.5"], {"GpuMemoryUtilization": "0.5"}),
        (["--tensor-parallel", "2"], {"TensorParallelSize": "2"}),
        (["--max-model-len", "256", "--max-mod", "512"], {"MaxModelLen": "512"}),
        (["--max-model-length", "256"], {}),
        (["--max", "256"], {}),
    ],
)
def test_the_beginning_of_a_flag_is_the_flag_as_vllm_reads_it(arguments: list[str], found: dict[str, str]) -> None:
    assert overridden(arguments) == found
    assert has_flag(arguments, "--tensor-parallel-size") == ("TensorParallelSize" in found)


def test_a_flag_may_have_several_values() -> None:
    arguments = ["--lora-modules", "a=/x", "b=/y", "--seed", "1", "--served_model_name=m"]
    assert values_of(arguments, "--lora-modules") == ["a=/x", "b=/y"]
    assert values_of(arguments, "--served-model-name") == ["m"]
    assert values_of(["--served-model", "a", "b", "--lora-mod=c=/z"], "--served-model-name") == ["a", "b"]
