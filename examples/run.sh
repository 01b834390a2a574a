#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The main job, from nothing: sets up, builds the tools into build/, prints the
# memory of Llama-3.2-3B in three modes, and trains a small model on real text.
#
#   examples/run.sh [STEPS]     steps of the training run (200)
set -eu
cd "$(dirname "$0")/.."
steps=${1-200}

bash tools/build.sh act-import act-opt act-run
export PATH="$PWD/build/bin:$PATH"

echo
echo "== Activation memory of Llama-3.2-3B, batch 1, 4096 tokens, bf16, in three modes"
python3 examples/three-modes.py

echo
echo "== $steps steps on Shakespeare, a letter at a time"
bash examples/06-train-shakespeare/train.sh "$steps" build/shakespeare

echo
echo "== Above: the loss of $steps steps, and what the model writes after ROMEO:"
echo "The tools are in build/bin, the model in build/shakespeare. Next, from README.md:"
echo "  export PATH=$PWD/build/bin:\$PATH"
echo "  act-import examples/models/llama-3.1-8b.json --batch 1 --seq 4096 --lora-rank 16 --lora-targets q,v --quantize nf4 -o build/8b.mlir"
echo "  act-opt build/8b.mlir --fuse-attention --memory-report=what-if=24GB -o /dev/null"
