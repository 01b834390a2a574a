// SPDX-License-Identifier: Apache-2.0
//
// Flattens a function in kernel form into one list of launches, with every
// repeat and call written out, and the buffers that the launches read and
// write. The plan, the report and the artifact are all made from this list, so
// they cannot disagree.
//
//   time  0      1      2      3           a buffer is alive from the launch
//         fwd0   fwd1   bwd1   bwd0        that makes it to the last that
//   x     ############                     reads it, both included
//   s0    ######################           saved by layer 0
//   s1           ########                  saved by layer 1
#ifndef ACT_PASSES_KERNELS_FLATTEN_H
#define ACT_PASSES_KERNELS_FLATTEN_H
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>
#include <string>
#include <vector>

namespace act {

/// Where a value lives.
struct Place {
  enum Kind {
    Buffer,
    Parameter,
    Gradient,
    Input,
    Output,
    Scalar,
    Immediate
  } kind = Buffer;
  unsigned index = 0; // into Program::buffers, parameters, inputs, ...
  int64_t offset = 0; // bytes, from its start
  int64_t bytes = 0;
  int64_t value = 0; // of an immediate
};

/// A tensor of the arena.
struct FlatBuffer {
  std::string name;
  mlir::RankedTensorType type;
  int64_t bytes = 0;
  unsigned first = 0, last = 0;   // launches, both included
  int layer = -1;                 // the layer that made it
  int run = -1;                   // into Program::runs: where it was made, and
  int64_t slice = 0;              // in which of that run's layers, from 0
  bool backward = false;          // made after the phase "backward"
  bool recomputed = false;        // made by a kernel that runs again
  bool onHost = false;            // in the second arena, the host's memory
  std::optional<unsigned> parent; // the buffer it lies in, at parentOffset
  int64_t parentOffset = 0;
  std::optional<unsigned> reuses; // took over this buffer's memory in place
  mlir::Value origin; // the result of a group, or the stack, that it holds, or
  mlir::Operation *workspaceOf = nullptr; // the group whose workspace it is,
  unsigned workspace = 0;                 // and which of them
  FlatBuffer(mlir::Value origin) : origin(origin) {}
  /// Equal for all buffers that the same part of the IR makes, in any layer.
  std::pair<const void *, unsigned> source() const {
    return {workspaceOf ? workspaceOf : origin.getAsOpaquePointer(), workspace};
  }
};

/// A repeat over layers, written out.
struct FlatRun {
  std::string callee, letter; // the letter of the count, or empty
  int64_t from = 0, count = 0;
  bool backward = false;
  unsigned body = 0; // the enclosing function body: runs of one body belong to
                     // one pass through the model
};

/// One tensor of a parameter: one layer's, or the whole model's.
struct FlatParameter {
  mutable ParameterOp op; // a handle; its accessors are not const
  int64_t layer = -1;
  std::string name; // with the layer's index in place of {l}
};

struct FlatPort {
  std::string name;
  mlir::Type type;
  std::string updates; // of an output: the input whose new value it is, or ""
};

/// Whether a launch copies its one input between the arenas.
enum class Copy { None, ToHost, FromHost };

struct FlatLaunch {
  Copy copy = Copy::None;
  mutable GroupOp group; // a handle; its accessors are not const
  int layer = -1;
  int run = -1; // into Program::runs, and which of that run's layers, from 0
  int64_t slice = 0;
  std::vector<Place> inputs, results, workspaces;
  /// Parameters whose persistent buffers the group's effects touch, in the
  /// order of its ops with a ParameterEffectOpInterface.
  std::vector<unsigned> effects;
  bool recomputed = false;
  std::string name;
};

struct Program {
  std::string function;
  std::vector<FlatLaunch> launches;
  std::vector<FlatBuffer> buffers;
  std::vector<FlatRun> runs;
  std::vector<FlatParameter> parameters;
  std::vector<FlatPort> inputs, outputs, scalars;
  /// The first launch of the backward pass and of the update, if any.
  std::optional<unsigned> backward, update;
  int64_t flops = 0, recomputedFlops = 0;

  /// The buffer that owns the memory of `b`, through parents and in-place
  /// reuse.
  unsigned root(unsigned b) const;
  /// For each launch, the bytes of the root buffers alive during it: in the
  /// device arena, or on the host. Sizes are rounded up to `alignment`.
  std::vector<int64_t> liveBytes(int64_t alignment = 1,
                                 bool onHost = false) const;
};

/// Flattens `function`. Kernels must have been formed. Fails with a diagnostic
/// on dynamic shapes or on a program that kernels cannot express.
mlir::FailureOr<Program> flatten(mlir::ModuleOp module,
                                 llvm::StringRef function);

/// Every kernel argument starts at a multiple of this many bytes.
inline constexpr int64_t arenaAlignment = 64;

/// Whether `op` is a split whose parts are slices of its input's memory: the
/// input has one dimension and each part starts at a valid kernel-argument
/// alignment. It stays outside groups, whose operands are the parts.
bool isSlice(mlir::Operation *op);

} // namespace act
#endif
