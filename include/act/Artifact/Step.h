// SPDX-License-Identifier: Apache-2.0
//
// A compiled step: the border between the compiler and the runtime.
//
// A Step is data. It lists the kernels (native code in an ELF shared object, or
// PTX), the parameters and states that live as long as the model, and the
// functions. A function is a flat, ordered list of launches. Each argument is
// an offset into the arena, a parameter, a state, an input, an output or a
// scalar. Repeated layers are written out, one launch per layer; they share
// their kernels.
//
// Everything is sized and placed before the step runs: a kernel allocates
// nothing. Memory beyond its operands is either part of the arena (planned,
// `Space::Arena`) or `Kernel::scratchBytes` per thread.
//
// Host kernels have the C signature
//     void kernel(void *const *args, int64_t block);
// and are called once for every block in [0, grid), in any order, from any
// thread. args[i] points at the i-th argument's first byte; a scalar argument
// points at an 8-byte slot that holds an i64, or an f64, or an f32 in its first
// four bytes. When scratchBytes > 0, args[n] (one past the last argument) is a
// 64-byte aligned block of that many bytes, private to the calling thread and
// undefined at entry.
//
// A step for cuda runs on sim as well. Its code is PTX (or a cubin, which only
// cuda runs). Beside the PTX a kernel may have an image, a cubin of that kernel
// alone: a card that takes the image needs no PTX of the kernel.
// A kernel has one 64-bit parameter per argument: the address of
// the argument's first byte, or of a scalar's slot in device memory. Behind
// these it may have tensor maps, parameters of 128 bytes
// (`Kernel::tensorMaps`). `grid`, `threads` and `cluster` are the launch's x
// dimensions.
#ifndef ACT_ARTIFACT_STEP_H
#define ACT_ARTIFACT_STEP_H
#include <cstdint>
#include <string>
#include <vector>

namespace act::artifact {

enum class DType : uint8_t {
  F64,
  F32,
  BF16,
  F16,
  F8E4M3FN,
  I1,
  I32,
  I64,
  NF4,
  NF4Nested, // with 8-bit absmax values
  U8
};

/// Element type and static shape. Row-major and contiguous. i1 takes a byte per
/// element. nf4 takes half a byte per element (two codes per byte, the first in
/// the high nibble, as bitsandbytes packs them), padded to a multiple of 64
/// bytes, followed by one f32 absmax per `blockSize` elements; for nested nf4
/// see nf4::Layout.
struct TensorType {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  int64_t blockSize = 0; // nf4 only
};

enum class Init : uint8_t { Zeros, Ones, Normal }; // Normal: mean 0, `initStd`

struct Parameter {
  std::string name; // Hugging Face name: model.layers.3.self_attn.q_proj.weight
  TensorType type;
  bool frozen = false;
  Init init = Init::Normal;
  double initStd = 0.02;
  /// Other names under which files store the same tensor, such as a head tied
  /// to the embedding. No parameter of the step has one of these names.
  std::vector<std::string> tied = {};
};

/// Per-parameter data that outlives a step. Starts at zero, except Master,
/// which starts as the parameter's value.
/// What a step may be trained by.
inline const std::vector<std::string> optimizers{"adamw", "adamw8bit", "lion",
                                                 "sgd"};
/// "adamw, .. or sgd", for messages.
inline std::string optimizerNames() {
  std::string names;
  for (size_t i = 0, n = optimizers.size(); i < n; ++i)
    names += (i == 0 ? "" : i + 1 < n ? ", " : " or ") + optimizers[i];
  return names;
}

enum class Role : uint8_t {
  Gradient,
  Master,
  ExpAvg,
  ExpAvgSq,
  Momentum,
  // Moments of 8 bits, in blocks with a scale each.
  ExpAvgCodes,
  ExpAvgScales,
  ExpAvgSqCodes,
  ExpAvgSqScales
};
struct State {
  std::string name; // <parameter>.exp_avg, ...
  TensorType type;
  Role role = Role::Gradient;
  uint32_t parameter = 0;
};

/// An input or output of a function, by name: tokens, labels, cu_seqlens,
/// attention_mask, loss, logits, ...
struct Port {
  std::string name;
  TensorType type;
  std::string updates =
      {}; // of an output: the input whose new value it is, or ""
};

/// Run-time scalars, set before each run: lr (f32), step (i64, from 1),
/// seed (i64).
struct Scalar {
  std::string name;
  DType dtype = DType::F32;
};

/// How the losses of a step's micro-batches, or of several held-out batches,
/// combine: the mean of their means, or the mean over all their labels.
enum class LossAverage : uint8_t { MicroBatches, Labels };

enum class Space : uint8_t {
  Arena,     // offset into the arena
  Parameter, // index into Step::parameters
  State,     // index into Step::states
  Input,     // index into Function::inputs; offset in bytes
  Output,    // index into Function::outputs; offset in bytes
  Scalar,    // index into Step::scalars
  Immediate, // a constant, its eight bytes in `offset`
  Host       // offset into the host arena; copies only
};
struct Operand {
  Space space = Space::Arena;
  bool written = false;
  uint32_t index = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0; // the launch touches [offset, offset + bytes) only
};

/// A tensor map of an argument, which a launch passes to the kernel behind its
/// arguments: 128 bytes that tell the copy engine of sm_90 how the tensor lies.
/// It holds the argument's address, so it is encoded when memory is bound. All
/// lists begin with the innermost dimension.
struct TensorMap {
  uint32_t argument = 0;
  uint32_t type = 0;            // the number of the CUDA driver's enumeration
  std::vector<int64_t> sizes;   // elements
  std::vector<int64_t> strides; // bytes; the first is an element
  std::vector<int64_t> box;     // elements that one copy moves
  uint32_t swizzle = 0;         // bytes: 0, 32, 64, 128
};

struct Kernel {
  std::string symbol;
  uint64_t grid = 1;
  uint64_t scratchBytes = 0; // host: per thread
  uint32_t threads = 0;      // cuda: per block; unused on the host
  uint32_t cluster = 0;      // cuda: blocks per cluster; 0: as the PTX says
  uint32_t sharedBytes = 0;  // cuda: dynamic shared memory per block
  std::vector<TensorMap> tensorMaps = {}; // cuda: parameters behind arguments
  /// cuda: a launch needs no more blocks than run at once; each does the work
  /// of several of the `grid`.
  bool persistent = false;
  /// cuda: blocks that start one after the other may wait for each other, so
  /// many of them, and a device must run these at once.
  uint32_t atOnce = 0;
  /// cuda: the kernel's image, bytes of Step::images; no bytes: it has none.
  uint64_t imageOffset = 0, imageBytes = 0;
};
/// In place of a kernel's number: the launch copies its first argument to its
/// second, which has the same size. One is in the arena, the other on the host.
constexpr uint32_t copyKernel = 0xffffffff;
struct Launch {
  uint32_t kernel = 0;
  std::vector<Operand> args;
  std::string name; // layer.3/attention, for messages and traces
};

/// A buffer of the plan: alive from the start of launch `first` to the end of
/// launch `last` (inclusive) of its function.
struct Buffer {
  std::string name;
  uint64_t offset = 0, bytes = 0;
  uint32_t first = 0, last = 0;
  bool onHost = false; // in the host arena
};
struct Function {
  std::string name; // step, eval, forward, grad
  std::vector<Port> inputs, outputs;
  std::vector<Launch> launches;
  std::vector<Buffer> plan;
  uint64_t arenaBytes = 0;
  /// The second arena, in host memory on every device: values that forward
  /// offloads until backward needs them.
  uint64_t hostArenaBytes = 0;
  /// The first launch of backward, if the function may be run in two parts:
  /// the second one is given gradients that depend on the results of the first.
  /// 0: it runs as a whole.
  uint32_t backward = 0;
};

struct Step {
  std::string model;
  std::string device = "host"; // host | cuda
  std::string target;          // CPU or sm_XX that the code is for
  std::string optimizer;       // of optimizers, or "" (inference)
  uint32_t microBatches = 1;
  /// Limits of the integer inputs. Kernels clamp an index outside a table to
  /// the nearest row, so the caller has to check the inputs.
  uint64_t vocabulary = 0;   // `tokens` are below this; 0: any
  uint64_t maxPositions = 0; // no sequence is longer than this; 0: any length
  /// Whether `labels` default to the next tokens. False for a model that sees
  /// the next tokens (bert), which needs labels of its own.
  bool predictsNext = true;
  LossAverage lossAverage = LossAverage::Labels;
  std::vector<Kernel> kernels;
  std::vector<Parameter> parameters;
  std::vector<State> states;
  std::vector<Scalar> scalars;
  std::vector<Function> functions;
  std::string report;        // the memory report as JSON, or empty
  std::vector<uint8_t> code; // host: ELF shared object; cuda: PTX
  /// cuda: the kernels' images, in the order of the kernels.
  std::vector<uint8_t> images;
};

} // namespace act::artifact
#endif
