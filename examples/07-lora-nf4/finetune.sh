#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Trains adapters on the frozen, quantised model that 06-train-shakespeare trained.
# The tools are those in PATH.
#
#   finetune.sh [STEPS [FOLDER]]     100 steps, in build/shakespeare
set -eu
case "${1-}" in -h | --help) sed -n 's/^#   //p' "$0" && exit ;; esac
here=$(cd "$(dirname "$0")" && pwd)
steps=${1-100}
folder=${2-$here/../../build/shakespeare}
[ -f "$folder/weights.safetensors" ] || {
  echo "$folder/weights.safetensors is not there: run examples/06-train-shakespeare/train.sh" >&2
  exit 1
}

act-import "$here/../06-train-shakespeare/config.json" --batch 4 --seq 64 \
  --lora-rank 4 --lora-targets q,v --quantize nf4 -o "$folder/lora.mlir"
act-run train "$folder/lora.mlir" --data "$here/../data/tinyshakespeare.txt" \
  --steps "$steps" --lr 1e-3 --init "$folder/weights.safetensors" \
  --log "$folder/lora.jsonl" --save "$folder/lora.safetensors"
