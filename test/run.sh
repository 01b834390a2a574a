#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds act into build/ and runs every test: one command, from nothing.
#
#   test/run.sh [--offline] [arguments of ctest]
#
# --offline leaves the Python packages alone; where they are missing, the tests
# that need them say that they were skipped.
set -eu
cd "$(dirname "$0")/.."

offline=false
if [ "${1-}" = --offline ]; then
  offline=true
  shift
fi

bash tools/build.sh
$offline || bash tools/setup.sh --python
exec ctest --test-dir build -j2 --output-on-failure "$@"
