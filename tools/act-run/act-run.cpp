// SPDX-License-Identifier: Apache-2.0
//
// act-run train|infer|generate: runs a compiled step, or compiles a module and
// runs it.
#include "tools/act-run/CommandLine.h"
#include <cstdio>

using namespace act::run;

int act::run::fail(const std::string &message) {
  fprintf(stderr, "act-run: error: %s\n", message.c_str());
  return 1;
}

int main(int argc, char **argv) {
  CommandLine line = readCommandLine(argc, argv);
  return line.command ? line.command(line.options) : line.exitCode;
}
