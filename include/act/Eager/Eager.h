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
//   lib/Eager      tensor, storage      who shares bytes with whom, and until
//   when
//                  operators            what each makes, and what autograd
//                  saves engine               nodes by number, gradients added
//                  in place checkpoint           promises, early stop Llama,
//                  Gpt2, Bert    what the Python of `transformers` holds, and
//                                       until when: frames, locals, arguments
//
// The figures are exact, for what PyTorch's operators allocate: the test
// test/python/torch_view_test.py compares them with PyTorch's own, byte for
// byte. What a kernel borrows while it runs is not in them, and what an
// allocator rounds up is its replay's matter. What would not be exact is an
// error that says why.
//
// Conditions: training mode, no cache, no attention mask given, nobody looks
// for packed sequences, the model's output is released before backward. Counted
// are activations and their gradients; the loss and the gradient it begins with
// count in the peak, not in what is retained. Not counted: parameters, buffers,
// token ids, labels; and, marked `apart`, what arrives at a parameter as its
// gradient.
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
  hf::ModelConfig config; // its dtype is the one that runs
  int64_t batch = 1, seq = 1;
};

/// Whether a window hides keys, so that the layers that have one have a mask.
bool windowHides(const Model &model);

struct Options {
  Attention attention = Attention::Flash;
  /// Where a layer has a mask, if that is another one.
  std::optional<Attention> masked;
  /// scaled_dot_product_attention chose them. It takes grouped heads as they
  /// are; an Efficient named by the user repeats keys and values.
  bool chosen = false;
  /// Layers at which a checkpointed run of layers ends; the last is the number
  /// of layers. Empty: nothing is checkpointed.
  std::vector<int64_t> segments;
  /// Each layer's attention module is checkpointed, what it gives beside its
  /// first result let go; not with segments.
  bool checkpointAttention = false;
  bool reentrant = false;
};

/// Sets the attention by its name, as people write it: "sdpa-flash" and the
/// others of name(), "flash", "math" and "efficient" for short, and what
/// transformers calls them; "flash_attention_2" and _3 run the kernel that
/// PyTorch has as Flash. "sdpa" leaves the choice to
/// scaled_dot_product_attention (choose()). Fails with a list of names.
Status setAttention(const std::string &name, const Model &model,
                    Options &options);

/// What scaled_dot_product_attention chooses on a CUDA card: flash for 16-bit
/// heads of at most 256 elements without a mask; else the memory-efficient
/// kernel, for heads of a multiple of 8 elements (f32: 4); else primitives.
/// cuDNN's kernel, which PyTorch prefers on sm_90 and sm_100, is not known
/// here.
void choose(const Model &model, Options &options);

/// "sdpa-flash", or what was chosen: "sdpa: sdpa-flash, under a mask
/// sdpa-efficient".
std::string describeAttention(const Model &model, const Options &options);

enum class Phase : uint8_t { Forward, Backward };

/// A storage: alive at the moments [born, died). A moment is an operator.
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

/// What happens to memory, in its order: what an allocator gets to see.
struct Event {
  enum class Kind : uint8_t {
    Born, // which: number of an allocation
    Died,
    Product, // of matrices is launched; which: 0 in forward, 1 in backward,
    BiasedProduct, // another thread of PyTorch's. Biased: with a bias, in one
                   // kernel
    Mark,          // which: the caller's
  };
  Kind kind;
  int64_t which;
  int64_t moment;
};

/// A tensor that is there before the step and after it: a parameter, a buffer
/// of a module, ids and labels.
struct Resident {
  std::string name; // as files end it
  int64_t bytes = 0;
};

/// What a node of the graph keeps; storages that several nodes keep are listed
/// with the first, in the order of backward.
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
    const char *name = ""; // of one of these, as files end it: "q_proj.weight"
  };
  const char *op = "";
  const char *node = nullptr; // what autograd records, if it does
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
  std::vector<Event> events; // what lives to the end does not die in them
  /// In the order in which a model that is moved to the device puts them there,
  /// the inputs last.
  std::vector<Resident> resident;
  std::vector<Step> steps; // empty unless asked for
};

Result<Run> run(const Model &model, const Options &options,
                bool record = false);

/// Live bytes at each moment, what is apart left out.
std::vector<int64_t> liveBytes(const Run &run);

} // namespace act::eager
#endif
