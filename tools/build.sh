#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing and builds act into build/, the tools into build/bin/.
#
#   tools/build.sh [TARGET...]     all targets when none is named, and the manual of
#                                  ops and passes, into build/docs
set -eu
cd "$(dirname "$0")/.."

bash tools/setup.sh
# A folder that was configured by hand keeps its settings.
[ -f build/build.ninja ] || cmake --preset default
cmake --build build ${1+--target "$@"}
[ $# -gt 0 ] || cmake --build build --target mlir-doc
