// SPDX-License-Identifier: Apache-2.0
//
// The --arg options: parsed and checked as text first, then turned into values
// of a kernel's parameters and memory of the simulator.
//
//   in:FILE                 an array to read; its address is the parameter
//   inout:FILE              the same, written back when the kernel is done
//   out:DTYPE[SHAPE]:FILE   an uninitialised array, written when it is done
//   i32:N u32: i64: u64: f32:X f64:X
//   ptr:0                   a null pointer (or any other number)
//   tma:FILE:DTYPE:box=64x128:swizzle=128[:fill=nan][:step=1x2][:l2=128]
//       [:interleave=16][:sizes=128x160][:strides=320x64]
//                           a tensor map over the array of the file, which is
//                           that of an inout: or out: argument where one names
//                           the same file; box, step, sizes (of the array,
//                           unless given) and strides outermost first, strides
//                           in bytes and without the innermost
//
// NumPy has neither bf16 nor fp8: files store them as uint16 and uint8.
#ifndef ACT_TOOLS_ACTRTSIM_ARGUMENTS_H
#define ACT_TOOLS_ACTRTSIM_ARGUMENTS_H
#include "act/Npy/Npy.h"
#include "runtime/TensorMap.h"
#include "runtime/sim/Simulator.h"
#include "tools/actrt-sim/CommandLine.h"
#include <functional>

namespace act::simtool {

struct Argument {
  enum Kind { In, InOut, Out, Scalar, Map } kind = Scalar;
  std::string text; // as given, for messages
  std::string file;
  std::string dtype;                       // Out, Map: "bf16"
  npy::Array array;                        // In, InOut, Out
  std::vector<uint8_t> value;              // of the parameter
  void *address = nullptr;                 // In, InOut, Out
  runtime::TiledTensor map;                // Map: all but the tensor itself
  std::vector<uint32_t> box, steps, sizes; // Map: outermost first
  std::vector<uint64_t> strides; // Map, when given: bytes, outermost first

  bool isArray() const { return kind == In || kind == InOut || kind == Out; }
  bool isWritten() const { return kind == InOut || kind == Out; }
};

Result<Argument> parseArgument(const std::string &text);
/// Parses all arguments. An error if two write the same file: one would be
/// lost.
Result<std::vector<Argument>>
parseArguments(const std::vector<std::string> &texts);

/// Reads the array of the argument's file, unless it is an Out.
Status readArray(Argument &argument);

/// Reads the files, registers the arrays with the simulator and fills in the
/// parameters' values.
Status place(std::vector<Argument> &arguments, runtime::sim::Simulator &sim);

/// Adds the tensor maps that a launch passes behind the arguments, once arrays
/// have addresses.
using EncodeMap =
    std::function<Result<runtime::TensorMap>(const runtime::TiledTensor &)>;
Status addMaps(const std::vector<Parameter> &parameters,
               std::vector<Argument> &given, const EncodeMap &encode);

/// Checks that each of the kernel's parameters has an argument of its kind and
/// size, and that arrays cover what the kernel may read and write.
Status checkArguments(const std::string &kernel,
                      const std::vector<Parameter> &parameters,
                      const std::vector<Argument> &given);

/// Notes on standard error which written arrays are not saved.
void tellDropped(const std::string &tool, const std::string &kernel,
                 const std::vector<Parameter> &parameters,
                 const std::vector<Argument> &given);

/// Writes the files of inout: and out: arguments.
Status writeBack(const std::vector<Argument> &arguments);

/// Three numbers like 8,4,1 or 8; those not given are 1.
Status parseDimensions(const std::string &what, const std::string &text,
                       uint32_t out[3]);

} // namespace act::simtool
#endif
