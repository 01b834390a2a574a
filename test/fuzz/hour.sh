#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzes launches, the PTX parser and artifacts, all three at once, for an hour of
# processor time together, and prints a line of each. Anything found ends that one,
# and the whole with status 1; the input lies in the working folder then.
#
#   test/fuzz/hour.sh FOLDER     a build folder of the sanitize preset
set -u
fuzzers=$(cd "$1/test/fuzz" && pwd)
dictionary=$(cd "$(dirname "$0")" && pwd)/ptx.dict
work=$(mktemp -d)
TIMEFORMAT='%U %S'
echo "$(date -u +%F) $(git -C "$(dirname "$0")" rev-parse --short HEAD)"

# fuzz NAME SECONDS: rounds of a minute until so many processor seconds are used
fuzz() {
  local name=$1 budget=$2 used=0 runs=0 spent
  cp -r "$fuzzers/corpus/$name" "$work/$name"
  while [ "$used" -lt "$budget" ]; do
    spent=$({ time "$fuzzers/${name}Fuzzer" -max_total_time=60 -rss_limit_mb=3000 \
      -max_len=65536 -timeout=60 -print_final_stats=1 "-dict=$dictionary" \
      "-artifact_prefix=$work/" "$work/$name" > "$work/$name.log" 2>&1 ||
      touch "$work/$name.found"; } 2>&1)
    if [ -e "$work/$name.found" ]; then
      tail -n 40 "$work/$name.log"
      echo "$name: found something, see $work"
      return 1
    fi
    used=$(echo "$used $spent" | awk '{ print int($1 + $2 + $3) }')
    runs=$((runs + $(sed -n 's/stat::number_of_executed_units: //p' "$work/$name.log")))
  done
  echo "$name: $used processor seconds, $runs inputs, $(ls "$work/$name" | wc -l) kept, nothing found"
}
fuzz Launch 1800 &
fuzz Ptx 900 &
fuzz Artifact 900 &
found=0
for job in $(jobs -p); do
  wait "$job" || found=1
done
[ "$found" -ne 0 ] || rm -r "$work"
exit "$found"
