// SPDX-License-Identifier: Apache-2.0
//
// Command lines by CLI11, with messages that suggest the option that was meant.
#include "tools/arguments/ParseArguments.h"
#include "tools/arguments/Spelling.h"
#include "tools/arguments/Version.h"
#include <algorithm>
#include <cctype>
#include <iostream>

namespace act::tools {
namespace {

using Names = std::vector<std::string>;

Names optionsOf(const CLI::App &app) {
  Names names;
  for (const CLI::Option *option : app.get_options()) {
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
    for (const std::string &name : option->get_snames())
      names.push_back("-" + name);
  }
  return names;
}

Names commandsOf(const CLI::App &app) {
  Names names;
  for (const CLI::App *command : app.get_subcommands({}))
    names.push_back(command->get_name());
  return names;
}

// A number such as -1 is not an option but a misplaced value.
bool isOption(const std::string &word) {
  size_t letter = word.find_first_not_of('-');
  return (letter == 1 || letter == 2) &&
         std::isalpha(static_cast<unsigned char>(word[letter]));
}

std::string aboutOption(const CLI::App &app, const std::string &word) {
  std::string name = word.substr(0, word.find('='));
  auto used = app.get_subcommands();
  const CLI::App &here = used.empty() ? app : *used.front();
  std::string of = used.empty() ? "" : " of '" + used.front()->get_name() + "'";
  for (const CLI::App *command : app.get_subcommands({})) {
    Names names = optionsOf(*command);
    if (std::find(names.begin(), names.end(), name) == names.end())
      continue;
    return "'" + name + "' is an option of '" + command->get_name() +
           (command == &here ? "' and must follow it"
                             : "', not" + (of.empty() ? " of the tool" : of));
  }
  return "unknown option '" + name + "'" + of +
         suggestion(name, optionsOf(here), "its options");
}

// The error for words that CLI11 could not place and reports late or not at
// all.
std::string aboutUnknown(const CLI::App &app) {
  Names words = app.remaining(true), commands = commandsOf(app);
  bool lacksCommand =
      app.get_require_subcommand_min() > 0 && app.get_subcommands().empty();
  for (const std::string &word : words) {
    if (isOption(word))
      return aboutOption(app, word);
    if (lacksCommand)
      return "unknown command '" + word + "'" +
             suggestion(word, commands, "the commands");
  }
  return lacksCommand
             ? "expected a command" + suggestion("", commands, "the commands")
             : "";
}

} // namespace

std::optional<int> parseArguments(CLI::App &app, int argc, char **argv,
                                  std::string_view llvm) {
  app.set_version_flag("--version", versionText(app.get_name(), llvm),
                       "the version of act");
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError &e) {
    if (e.get_exit_code() == 0)
      return app.exit(e);
    std::string unknown = aboutUnknown(app);
    if (unknown.empty())
      app.exit(e);
    else
      std::cerr << app.get_name() << ": error: " << unknown
                << "\nRun with --help for more information.\n";
    // CLI11's exit codes start at 100; users expect 1.
    return 1;
  }
}

} // namespace act::tools
