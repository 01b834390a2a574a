#!/bin/sh
# Stands for the newest ptxas: tells how often it ran, and "assembles" by copying.
[ "$1" = --version ] && echo "release 99.0, V99.0.1" && exit
here=$(dirname "$0")
echo run >> "$here/runs"
echo "ptxas info    : Used 40 registers, used 1 barriers" # version 1
while [ $# -gt 0 ]; do
  case $1 in
  -o) out=$2 ;;
  *.ptx) in=$1 ;;
  esac
  shift
done
cp "$in" "$out"
