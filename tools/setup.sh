#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what building and testing act needs and is missing. Says nothing when
# all is there.
#
#   tools/setup.sh            the distribution's packages: compiler, MLIR, libraries
#   tools/setup.sh --python   numpy, torch, transformers, ... into build/venv, for
#                             the tests that compare with Hugging Face and PyTorch
#   tools/setup.sh --docs     what makes a site of the documentation
set -eu
cd "$(dirname "$0")/.."

packages=(
  clang-22 lld-22 clang-format-22 libclang-rt-22-dev        # compiler, sanitizers
  llvm-22-dev llvm-22-tools libmlir-22-dev mlir-22-tools liblld-22-dev zlib1g-dev libzstd-dev
  cmake ninja-build ccache
  libfmt-dev nlohmann-json3-dev libcli11-dev liblz4-dev     # libraries
  libflatbuffers-dev flatbuffers-compiler coinor-libcbc-dev pkg-config
  googletest libbenchmark-dev                               # tests, benchmarks
  python3 python3-venv python3-dev                          # tests, the package
)

fail() {
  echo "tools/setup.sh: $*" >&2
  exit 1
}

installed() {
  dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

install_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    fail "expected Debian 12 or a system like it, found one without apt-get;" \
      "install the likes of: $*"
  local missing=() p
  for p in "$@"; do
    installed "$p" || missing+=("$p")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  local root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
      fail "expected root or sudo to install: ${missing[*]}"
    root=(sudo)
  fi
  echo "installing ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${root[@]}" apt-get update -q &&
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
      --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    fail "apt-get could not install: ${missing[*]} (whole log: $log)"
  fi
  rm -f "$log"
}

# A finished environment holds a copy of the list it was made from: a changed list
# or an installation that was cut off makes it anew.
install_python() {
  local venv=build/venv list=test/python/requirements.txt
  cmp -s "$list" "$venv/requirements.txt" && return 0
  echo "installing $(grep -v '^#' "$list" | tr '\n' ' ')into $venv"
  mkdir -p build
  rm -f "$venv/requirements.txt"
  # The virtual environment's own command may be a broken link from another time.
  python3 -m venv --clear "$venv" || fail "python3 -m venv $venv did not work"
  # Python compiles what it imports, a tenth of what is installed.
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-compile \
    --requirement "$list" || fail "pip could not install $list into $venv"
  cp "$list" "$venv/requirements.txt"
}

case "${1-}" in
  "") install_packages "${packages[@]}" ;;
  --python) install_python ;;
  --docs) install_packages mkdocs ;;
  *) fail "expected no argument, --python or --docs, found '$1'" ;;
esac
