#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds act into build/ and runs the tests: one command, from nothing.
#
#   test/run.sh [--offline] [--full] [arguments of ctest]
#
# --offline leaves the Python packages alone; where they are missing, the tests
# that need them say that they were skipped. --full adds the long samples of what
# is drawn at random and every policy of what is compared with every other one:
# the tests whose names end in -full.
set -eu
cd "$(dirname "$0")/.."

python=true configuration=()
while true; do
  case "${1-}" in
    --offline) python=false ;;
    --full) configuration=(-C Full) ;;
    *) break ;;
  esac
  shift
done

# The packages are unpacked while the compiler runs.
bash tools/setup.sh
if $python; then
  bash tools/setup.sh --python &
  packages=$!
fi
bash tools/build.sh
if $python; then
  wait "$packages"
fi
exec ctest --test-dir build -j2 --output-on-failure "${configuration[@]}" "$@"
