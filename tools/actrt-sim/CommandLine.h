// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_TOOLS_ACTRTSIM_COMMANDLINE_H
#define ACT_TOOLS_ACTRTSIM_COMMANDLINE_H
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace act::simtool {

/// A parameter of a kernel whose types are known.
struct Parameter {
  enum Kind { Array, Pointer, Float, Integer, Unknown } kind = Unknown;
  uint64_t bytes = 8; // of the value
  std::string type;   // for messages
  /// Of an array: what is read and written behind it. Of a pointer its
  /// elements, where they are known.
  uint64_t arrayBytes = 0, elementBytes = 0;
  std::vector<int64_t> shape; // of an array in rows, if that is constant
  bool isWritten = false;     // as far as that is known
  /// Of floats that NumPy has no type for any array of that size will do.
  enum { Integers, Floats, Any } elements = Any;
};

struct CommandLine {
  std::string tool = "actrt-sim"; // whose messages they are
  std::string file, target, kernel;
  std::string grid = "1", block, cluster; // "8,4,1"; empty: as the kernel says
  uint64_t sharedBytes = 0, seed = 0, maximumInstructions = 1000000000;
  uint32_t threads = 0;
  std::vector<std::string> arguments;
  std::string checks = "all", draw = "all", benign = "tell";
  bool cooperative = false, json = false, strict = false;
};

/// The options of a launch that every tool has which simulates one: --arg,
/// --seed, --draw, --max-instructions, --threads, --checks, --strict, --benign,
/// --json.
void addLaunchOptions(CLI::App &app, CommandLine &line);

/// Runs the kernel of the PTX in the file.
/// 0: clean; 2: a check found something; 1: anything else, with a message.
int run(const CommandLine &line);
/// The same of `ptx`, which messages call line.file, and whose parameters are
/// these, where somebody knows them.
int run(const CommandLine &line, std::string_view ptx,
        const std::vector<Parameter> *parameters = nullptr);

} // namespace act::simtool
#endif
