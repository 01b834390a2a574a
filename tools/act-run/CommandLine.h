// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_TOOLS_ACTRUN_COMMANDLINE_H
#define ACT_TOOLS_ACTRUN_COMMANDLINE_H
#include "tools/act-run/Options.h"

namespace act::run {

struct CommandLine {
  Options options;
  int (*command)(const Options &) = nullptr; // null: nothing to do but to exit
  int exitCode = 0;
};

/// Prints what --help asks for, or what is wrong with the command line.
CommandLine readCommandLine(int argc, char **argv);

} // namespace act::run
#endif
