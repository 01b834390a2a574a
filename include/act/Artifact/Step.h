// SPDX-License-Identifier: Apache-2.0
//
// A compiled step: the border between the compiler and the runtime.
//
// A Step is data. It lists kernels (native code in an ELF shared object), the
// parameters and states that live as long as the model does, and functions:
// flat lists of launches, in order, each argument an offset into the arena, or
// a parameter, a state, an input, an output or a scalar. Repeated layers are
// already written out, once per layer and launch; they share their kernels.
//
// Everything is sized and placed before the step runs: a kernel allocates
// nothing. What it needs beyond its operands is either part of the arena
// (planned, `Space::Arena`) or `Kernel::scratchBytes` per thread.
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
// A step for cuda runs on sim as well. Its code is PTX (or, for cuda alone, a
// cubin). A kernel has one 64-bit parameter per argument: the address of the
// argument's first byte, of a scalar its slot's in the device's memory. `grid`,
// `threads` and `cluster` are the launch's x dimensions.
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
  NF4Nested // its absmax values have 8 bits themselves
};

/// Element type and static shape. Row-major and contiguous. i1 takes a byte per
/// element. nf4 takes half a byte per element (two codes per byte, the first in
/// the high nibble, as bitsandbytes packs them), padded to a multiple of 64
/// bytes, followed by one f32 absmax per `blockSize` elements; nested by what
/// nf4::Layout says.
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
  /// Further names under which files store the same tensor: a head that is tied
  /// to the embedding. No parameter of the step has one of them.
  std::vector<std::string> tied = {};
};

/// What belongs to a parameter and outlives a step, zero at first but for
/// Master, which starts as the parameter's value.
enum class Role : uint8_t { Gradient, Master, ExpAvg, ExpAvgSq, Momentum };
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
};

/// Run-time scalars, set before each run: lr (f32), step (i64, from 1),
/// seed (i64).
struct Scalar {
  std::string name;
  DType dtype = DType::F32;
};

/// What the loss of a step of several micro-batches is, and a held-out loss of
/// several batches: the mean of theirs, or that over all their labels.
enum class LossAverage : uint8_t { MicroBatches, Labels };

enum class Space : uint8_t {
  Arena,     // offset into the arena
  Parameter, // index into Step::parameters
  State,     // index into Step::states
  Input,     // index into Function::inputs; offset in bytes
  Output,    // index into Function::outputs; offset in bytes
  Scalar,    // index into Step::scalars
  Immediate, // a constant, its eight bytes in `offset`
  Host       // offset into the arena on the host; of copies only
};
struct Operand {
  Space space = Space::Arena;
  bool written = false;
  uint32_t index = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0; // the range [offset, offset + bytes) that is touched
};

struct Kernel {
  std::string symbol;
  uint64_t grid = 1;
  uint64_t scratchBytes = 0; // host: per thread
  uint32_t threads = 0;      // cuda: of a block; the host takes no number
  uint32_t cluster = 0;      // cuda: blocks of a cluster; 0: as the PTX says
  uint32_t sharedBytes = 0;  // cuda: dynamic shared memory of a block
};
/// In place of a kernel's number: the launch copies its first argument to the
/// second, as many bytes. One of them is in the arena, the other on the host.
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
  bool onHost = false; // in the arena on the host
};
struct Function {
  std::string name; // step, eval, forward
  std::vector<Port> inputs, outputs;
  std::vector<Launch> launches;
  std::vector<Buffer> plan;
  uint64_t arenaBytes = 0;
  /// Of the second arena, memory of the host whatever the device: what forward
  /// has moved away until backward needs it.
  uint64_t hostArenaBytes = 0;
};

struct Step {
  std::string model;
  std::string device = "host"; // host | cuda
  std::string target;          // CPU or sm_XX the code was made for
  std::string optimizer;       // adamw | sgd | "" (inference)
  uint32_t microBatches = 1;
  /// What the integers among the inputs may be. A kernel reads a row outside of
  /// a table as the nearest one, so whoever feeds the step has to look.
  uint64_t vocabulary = 0;   // `tokens` are below this; 0: any
  uint64_t maxPositions = 0; // no sequence is longer than this; 0: any length
  /// Whether `labels` are, unless somebody gives others, the successors of the
  /// tokens. Not so in a model that sees them (bert), whose labels are its own.
  bool predictsNext = true;
  LossAverage lossAverage = LossAverage::Labels;
  std::vector<Kernel> kernels;
  std::vector<Parameter> parameters;
  std::vector<State> states;
  std::vector<Scalar> scalars;
  std::vector<Function> functions;
  std::string report;        // the memory report as JSON, or empty
  std::vector<uint8_t> code; // host: ELF shared object; cuda: PTX
};

} // namespace act::artifact
#endif
