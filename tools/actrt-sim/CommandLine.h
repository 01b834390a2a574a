// SPDX-License-Identifier: Apache-2.0
#ifndef ACT_TOOLS_ACTRTSIM_COMMANDLINE_H
#define ACT_TOOLS_ACTRTSIM_COMMANDLINE_H
#include "act/Artifact/Step.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace act::simtool {

/// A kernel's parameter, as far as its type is known.
struct Parameter {
  enum Kind { Array, Pointer, Float, Integer, Map, Unknown } kind = Unknown;
  uint64_t bytes = 8; // of the value
  std::string type;   // for messages
  /// Of an array: the bytes that are accessed, and its elements' size. Of a
  /// pointer: the elements' size if known.
  uint64_t arrayBytes = 0, elementBytes = 0;
  std::vector<int64_t> shape; // of a row-major array, if constant
  bool isWritten = false;     // as far as known
  /// Any: floats without a NumPy type, so any elements of that size will do.
  enum { Integers, Floats, Any } elements = Any;
  artifact::TensorMap map; // Map only, which no --arg gives
};

struct CommandLine {
  std::string tool = "actrt-sim"; // named in messages
  std::string file, target, kernel;
  std::string grid = "1", block, cluster; // "8,4,1"; empty: the kernel's
  uint64_t sharedBytes = 0, seed = 0, maximumInstructions = 1000000000;
  uint32_t threads = 0;
  std::vector<std::string> arguments;
  std::string checks = "all", draw = "all", benign = "tell";
  uint32_t atOnce = 0;
  bool cooperative = false, json = false, strict = false, orderedSums = false;
};

/// Adds the options shared by all tools that simulate a launch: --arg, --seed,
/// --draw, --max-instructions, --threads, --checks, --strict, --ordered-sums,
/// --benign, --json.
void addLaunchOptions(CLI::App &app, CommandLine &line);

/// Runs the kernel of the PTX in the file.
/// 0: clean; 2: a check found something; 1: anything else, with a message.
int run(const CommandLine &line);
/// The same for `ptx`, called line.file in messages; `parameters` if known.
int run(const CommandLine &line, std::string_view ptx,
        const std::vector<Parameter> *parameters = nullptr);

} // namespace act::simtool
#endif
