#!/usr/bin/env python3
"""Turn a GGUF file into a model folder that vLLM serves: bfloat16 safetensors, tokenizer and chat template.

usage: gguf_to_safetensors.py FILE.gguf FOLDER

Runs in the run-cpu environment (transformers, gguf, accelerate). Reads FILE.gguf, writes FOLDER, reaches no network.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["TQDM_DISABLE"] = "1"

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig


def convert(source: Path, target: Path) -> None:
    """Dequantise `source` into the model folder `target`."""
    model = AutoModelForCausalLM.from_pretrained(
        source.parent, gguf_file=source.name, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    # The weights are plain tensors now; transformers would still refuse to save them, as those of a quantised model.
    model.hf_quantizer = None
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(target)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
