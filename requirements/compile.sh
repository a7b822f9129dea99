#!/usr/bin/env bash
# Remake the locks from the .in files. Needs uv (pip install uv) and PyPI; takes a minute. torch-cpu.lock is kept by hand.
set -euo pipefail
cd "$(dirname "$0")"
compile() {
    local kind=$1
    shift
    uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
        --custom-compile-command requirements/compile.sh "$@" "$kind.in" --output-file "$kind.lock"
}
compile run-cpu --excludes run-cpu.excludes
compile run-gpu
compile test
compile agent
compile api
