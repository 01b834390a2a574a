// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_TOOLS_ACTRUN_COMMANDLINE_H
#define ACT_TOOLS_ACTRUN_COMMANDLINE_H
#include "tools/act-run/Options.h"

namespace act::run {

struct CommandLine {
  Options options;
  int (*command)(const Options &) = nullptr; // null: just exit
  int exitCode = 0;
};

/// Parses the command line. Prints the help text or an error if there is one.
CommandLine readCommandLine(int argc, char **argv);

} // namespace act::run
#endif
