// SPDX-License-Identifier: Apache-2.0
//
// What PyTorch eager does with memory in one training step of a Hugging Face
// model, by doing it: a small PyTorch without values runs the model's forward
// and backward and keeps a log of every storage.
//
//   Model model;
//   model.config = *hf::load("llama-3.1-8b.json");
//   model.batch = 1, model.seq = 2048;
//   auto run = act::eager::run(model, {});
//   run->retainedBytes;     // 14281106188
//
//   lib/Eager
//     tensor, storage     which tensors share bytes, and until when
//     operators           what each makes, and what autograd saves
//     engine              nodes by number, gradients added in place
//     checkpoint          promises, early stop
//     Llama, Gpt2, Bert   what the Python of `transformers` holds, and until
//                         when: frames, locals, arguments
//
// The figures are exact for what PyTorch's operators allocate:
// test/python/torch_view_test.py compares them with PyTorch's own, byte for
// byte. They exclude what a kernel borrows while it runs; the allocator's
// rounding is up to its replay. Where the result would not be exact, run()
// fails and says why.
//
// Conditions: training mode, no cache, no attention mask given, no search for
// packed sequences, the model's output is released before backward. Activations
// and their gradients count. The loss and the first gradient count in the peak,
// but not in the retained bytes. Parameters, buffers, token ids and labels do
// not count, nor do parameter gradients, which are marked `apart`.
#ifndef ACT_EAGER_EAGER_H
#define ACT_EAGER_EAGER_H
#include "act/HuggingFace/ModelConfig.h"
#include "act/Result.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace act::eager {

enum class Attention : uint8_t { Eager, Math, Flash, Efficient };
const char *name(Attention attention); // "sdpa-flash"

struct Model {
  hf::ModelConfig config; // its dtype is that of the run
  int64_t batch = 1, seq = 1;
};

/// Whether the sliding window hides keys, so that its layers need a mask.
bool windowHides(const Model &model);

struct Options {
  Attention attention = Attention::Flash;
  /// For layers with a mask, if different.
  std::optional<Attention> masked;
  /// Whether scaled_dot_product_attention chose the kernels. It then takes
  /// grouped heads as they are; an Efficient that the user names repeats keys
  /// and values.
  bool chosen = false;
  /// End layers (exclusive) of the checkpointed runs of layers; the last is the
  /// number of layers. Empty: nothing is checkpointed.
  std::vector<int64_t> segments;
  /// Each layer's attention module is checkpointed, and all its results but the
  /// first are released. Excludes `segments`.
  bool checkpointAttention = false;
  bool reentrant = false;
};

/// Sets the attention by name: those of name(), such as "sdpa-flash"; "flash",
/// "math" and "efficient" for short; and the names that transformers uses.
/// "flash_attention_2" and _3 run the kernel that PyTorch has as Flash. "sdpa"
/// leaves the choice to scaled_dot_product_attention (choose()). The error for
/// an unknown name lists the names.
Status setAttention(const std::string &name, const Model &model,
                    Options &options);

/// Sets what scaled_dot_product_attention chooses on a CUDA GPU: flash for
/// 16-bit heads of at most 256 elements without a mask; else the
/// memory-efficient kernel, for heads of a multiple of 8 elements (f32: 4);
/// else primitives. cuDNN's kernel, which PyTorch prefers on sm_90 and sm_100,
/// is not modelled.
void choose(const Model &model, Options &options);

/// "sdpa-flash", or what was chosen: "sdpa: sdpa-flash, under a mask
/// sdpa-efficient".
std::string describeAttention(const Model &model, const Options &options);

enum class Phase : uint8_t { Forward, Backward };

/// A storage, alive at the moments [born, died). Each operator is a moment.
struct Allocation {
  int64_t bytes = 0;
  const char *op = ""; // as aten names it
  std::vector<int64_t> shape;
  const char *dtype = "";
  int64_t born = 0, died = 0;
  Phase phase = Phase::Forward;
  int layer = -1; // -1: none
  bool apart = false;
  bool recomputed = false; // made again in backward
};

/// A change of memory or a kernel launch, in order: an allocator's view.
struct Event {
  enum class Kind : uint8_t {
    Born, // which: number of an allocation
    Died,
    Product, // launch of a matrix product; which: 0 in forward, 1 in backward,
             // which PyTorch runs on another thread
    BiasedProduct, // the same with a bias, in one kernel
    Mark,          // which: the caller's
  };
  Kind kind;
  int64_t which;
  int64_t moment;
};

/// A tensor that exists before and after the step: a parameter, a module's
/// buffer, ids, labels.
struct Resident {
  std::string name; // the end of its name in a weight file
  int64_t bytes = 0;
};

/// A tensor that a node of the graph keeps. A storage that several nodes keep
/// is listed once, with the first in backward's order.
struct Saved {
  std::string node, name; // "MulBackward0", "self"
  std::vector<int64_t> shape;
  std::string dtype;
  int64_t bytes = 0;
  int layer = -1;
  size_t allocation = 0; // its number
};

/// An operator of forward as it ran, for printing.
struct Step {
  struct Value {
    int64_t number = 0; // of the tensor
    std::vector<int64_t> shape, strides;
    const char *dtype = "";
    int64_t storage = 0; // number of an allocation; -1: a parameter or an input
    const char *name = ""; // of a parameter or input: "q_proj.weight"
  };
  const char *op = "";
  const char *node = nullptr; // the autograd node, if one is recorded
  std::vector<Value> operands, results;
  struct Kept { // by the node: an operand or a result
    std::string name;
    bool result = false;
    size_t index = 0;
  };
  std::vector<Kept> saves;
  int layer = -1;
};

struct Run {
  int64_t retainedBytes = 0, peakBytes = 0;
  int64_t peakMoment = 0, backwardMoment = 0, moments = 0;
  std::vector<Saved> saved;
  std::vector<Allocation> allocations;
  std::vector<Event> events; // no Died for storages that live to the end
  /// In the order in which moving the model to the device allocates them; the
  /// inputs come last.
  std::vector<Resident> resident;
  std::vector<Step> steps; // empty unless recorded
};

/// `record` fills in Run::steps. All sizes are in bytes.
Result<Run> run(const Model &model, const Options &options,
                bool record = false);

/// Live bytes at each moment, without allocations that are apart.
std::vector<int64_t> liveBytes(const Run &run);

} // namespace act::eager
#endif
