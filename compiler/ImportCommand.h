// SPDX-License-Identifier: Apache-2.0
//
// The command line of act-import. `--name value` and `--name=value` are
// equivalent, except for --packed: its value is optional and needs the `=`.
#ifndef ACT_COMPILER_IMPORTCOMMAND_H
#define ACT_COMPILER_IMPORTCOMMAND_H
#include "passes/import/ImportModel.h"

namespace act {

struct ImportCommand {
  std::string config, output = "-";
  ImportOptions options;
  std::vector<std::string> shown; // the options that shape the module
  std::vector<std::string> warnings;
  bool help = false, version = false;
};

Result<ImportCommand> parseImportCommand(const std::vector<std::string> &words);
const char *importHelp();

} // namespace act
#endif
