#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles reverse.c and runs it on a PTX file. The library is looked for beside the
# tools in PATH.
#
#   run.sh [PTX [FOLDER]]     the program goes to build/simulate-ptx
set -eu
case "${1-}" in -h | --help) sed -n 's/^#   //p' "$0" && exit ;; esac
here=$(cd "$(dirname "$0")" && pwd)
ptx=${1-$here/reverse.ptx}
folder=${2-$here/../../build/simulate-ptx}
library=$(cd "$(dirname "$(command -v actrt-sim)")/../lib" && pwd)
mkdir -p "$folder"

${CC:-clang-22} -std=c11 -Wall -Wextra -I "$here/../../include" "$here/reverse.c" \
  -o "$folder/reverse" -L "$library" -lact_runtime -Wl,-rpath,"$library"
"$folder/reverse" "$ptx"
