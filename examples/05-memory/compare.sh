#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The policies of --remat side by side. The tools are those in PATH.
#
#   compare.sh CONFIG.json BATCH SEQ [POLICY...]     the fixed ones when none is named
set -euo pipefail
case "${1-}" in -h | --help) sed -n 's/^#   //p' "$0" && exit ;; esac
[ $# -ge 3 ] || {
  echo "compare.sh: expected CONFIG.json, BATCH and SEQ, found $# arguments; call it as" >&2
  sed -n 's/^#   /  /p' "$0" >&2
  exit 1
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

act-import "$1" --batch "$2" --seq "$3" -o "$folder/model.mlir"
shift 3
[ $# -gt 0 ] || set -- none selective attention-core attention layer sqrt segments=2
printf '%-16s %14s %14s %14s\n' policy 'retained MiB' 'peak MiB' 'recomputed %'
for policy in "$@"; do
  act-opt "$folder/model.mlir" --fuse-attention --remat=$policy \
    --memory-report="format=json file=$folder/report.json" -o /dev/null
  python3 - "$policy" "$folder/report.json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[2]))
print(f"{sys.argv[1]:16} {report['retained_bytes'] / 2**20:14.1f} "
      f"{report['peak_bytes'] / 2**20:14.1f} "
      f"{100 * report['recomputed_flops'] / report['flops']:14.2f}")
PYTHON
done
