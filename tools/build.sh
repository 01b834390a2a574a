#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing and builds act into build/, the tools into build/bin/.
#
#   tools/build.sh [TARGET...]     all targets when none is named, and the manual of
#                                  ops and passes, into build/docs
#   tools/build.sh --docs          the documentation as a site, into build/site/html
set -eu
cd "$(dirname "$0")/.."

docs=false
if [ "${1-}" = --docs ]; then
  docs=true
  set -- mlir-doc
fi
bash tools/setup.sh
# A folder that was configured by hand keeps its settings.
[ -f build/build.ninja ] || cmake --preset default
cmake --build build ${1+--target "$@"}
[ $# -gt 0 ] || cmake --build build --target mlir-doc
if $docs; then
  bash tools/setup.sh --docs
  python3 tools/docs-site.py . build/docs build/site
  mkdocs build --quiet --strict --config-file build/site/mkdocs.yml
  echo "build/site/html/index.html"
fi
