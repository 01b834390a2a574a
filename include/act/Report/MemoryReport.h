// SPDX-License-Identifier: Apache-2.0
//
// What a training step does with memory, as plain data, and how it is told: as
// text for a terminal, as JSON for programs, as one HTML page for people.
//
// Every field means one thing. In view "act", retained, peak and arena bytes
// are activations, their gradients, temporaries and workspace; parameters,
// their gradients, the optimizer's state, inputs and outputs (the loss, logits)
// have fields of their own; totalPeak is all of it. Scratch, which the host
// gives to each of its threads, is beside all that: it is known once the
// kernels are compiled, and how often it is there depends on the machine that
// runs them.
//
//   bytes
//     |                     peak
//     |                  .-'|'-.          temporaries, gradients, workspace
//     |           .-''''   | <- retained: what forward hands to backward
//     |     .-''''         |     ''''-.
//     | .-''   saved       |           ''''-.
//     +--------------------+-----------------> operations (the timeline)
//       forward                backward
//
// Whoever fills this in gives the totals, the timeline (one point per operation
// that runs) and the buffers with their lifetimes in points of the timeline.
// complete() derives the rest: the bytes per category at each point, the peak
// and who is alive there. check() recomputes every sum that can be recomputed.
//
// Counts of FLOPs are uint64: up to 1.8e19; a step of Llama-3.1-405B at 4096
// tokens is about 1e16.
#ifndef ACT_REPORT_MEMORYREPORT_H
#define ACT_REPORT_MEMORYREPORT_H
#include "act/Report/WhatIf.h"
#include "act/Result.h"
#include "act/Symbolic/Expr.h"
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace act::report {

/// What a buffer is for. Saved: written by forward, read by backward.
enum class Category : uint8_t {
  Saved,
  Gradient,  // of an activation
  Temporary, // dies in the phase that made it
  Workspace, // inside one operation
  Input,     // tokens, labels, masks
  Output,    // loss, logits
};
constexpr size_t categoryCount = 6;
const char *name(Category category); // "saved", "gradient", ...

enum class Phase : uint8_t { Forward, Backward, Update };
const char *name(Phase phase);

/// Bytes per category, indexed by size_t(Category).
using CategoryBytes = std::array<int64_t, categoryCount>;

constexpr int noLayer = -1; // JSON: null

/// A tensor with a place in memory for some time.
struct Buffer {
  std::string name;
  std::vector<int64_t> shape;
  std::string dtype;
  int64_t bytes = 0;
  int layer = noLayer;
  Category category = Category::Temporary;
  /// Alive at the points [first, last) of the timeline.
  int64_t first = 0, last = 0;
  int64_t offset = -1; // in the arena; -1: not planned
};

/// A value that forward keeps for backward.
struct SavedValue {
  std::string name;
  std::vector<int64_t> shape;
  std::string dtype;
  int64_t bytes = 0;
  int layer = noLayer;
  std::string formula;   // bytes in letters; may be empty
  std::string node = ""; // view torch: the autograd node that keeps it
};

struct TimelinePoint {
  std::string op;  // attention
  std::string loc; // model.mlir:12:8 or layer.3/attention
  int64_t liveBytes = 0;
  Phase phase = Phase::Forward;
  int layer = noLayer;
  CategoryBytes categories{}; // filled in by complete()
};

struct Peak {
  int64_t index = -1;        // point of the timeline
  std::vector<Buffer> alive; // largest first
};

/// A formula in unpadded bytes. What alignment adds at these sizes is a number
/// of its own: formula(letters) + alignmentBytes is the exact figure.
struct Formula {
  symbolic::Expr bytes;
  int64_t alignmentBytes = 0;
  bool known = false; // false: not derived, printed as "-"
  /// So many candidates, the first, can be the largest of a model with these
  /// widths, whatever its batch, length and depth; the others only of another
  /// model. People are shown these. 0: all.
  size_t shown = 0;
  size_t shownCount() const {
    return shown ? shown : bytes.candidates().size();
  }
};

struct Layer {
  std::string name; // model.layers
  int index = 0;
  std::string variant; // remat policy of this layer, or empty
  int64_t retainedBytes = 0;
  uint64_t recomputedFlops = 0;
  uint64_t flops = 0;
  /// Kernels that run for it in a step, and the least bytes that they move:
  /// each reads its inputs once and writes its outputs once.
  int64_t launches = 0, leastBytes = 0;
  /// What the blocks of those kernels move, if `target` of the report is a GPU:
  /// each program has each of its blocks once. Nothing where numbers in memory
  /// decide.
  std::optional<int64_t> blockBytes;
  Formula retained, peak;
};

/// The graph of one layer: operations, and tensors as edges.
struct GraphNode {
  std::string id, label;
  Phase phase = Phase::Forward;
  bool recomputed = false; // a forward operation run again for backward
};
struct GraphEdge {
  std::string from, to; // node ids
  std::string label;
  int64_t bytes = 0;
  bool saved = false; // crosses from forward to backward
};
struct LayerGraph {
  std::string name;
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
};

/// The timeline through an allocator that rounds up, keeps and reuses. Counted
/// is all that the total peak counts, tensor by tensor, and workspaces of
/// libraries.
struct AllocatorReplay {
  std::string allocator, settings; // "cuda-caching", and what it was told
  /// Of blocks in use, and of what the card was asked for: the most of the
  /// step, each at its point.
  int64_t allocatedPeakBytes = 0, reservedPeakBytes = 0;
  int64_t allocatedPeakAt = 0, reservedPeakAt = 0;
  /// At the allocated peak: bytes asked for, the rest is rounding; and free
  /// bytes in segments that are partly used, which cannot be given back.
  int64_t requestedBytes = 0, inactiveSplitBytes = 0;
  int64_t retries = 0; // times that all cached segments were given back
  std::optional<int64_t> deviceBytes;
  /// The first request that the card has no room for; the figures above are
  /// then those of a card with room.
  struct Exceeded {
    int64_t index = 0; // point of the timeline; -1: before it, a resident
    int64_t requestedBytes = 0, allocatedBytes = 0, reservedBytes = 0;
  };
  std::optional<Exceeded> exceeded;
  /// The most from each point to the next.
  std::vector<int64_t> allocated, reserved;

  /// The part of what is reserved at most that is never in use.
  double fragmentation() const {
    return reservedPeakBytes
               ? 1 - double(allocatedPeakBytes) / double(reservedPeakBytes)
               : 0;
  }
};

/// What forward moves to the host's memory and backward brings back. Times are
/// those of a cost model: the copies' at the link's speed, and how much of it
/// the step waits for, if copies run beside kernels as soon as memory allows
/// (each direction one after the other).
struct Offload {
  int64_t arenaBytes = 0, peakBytes = 0; // on the host
  int64_t movedBytes = 0;                // there and back
  double linkBytesPerSecond = 0;
  double copySeconds = 0, waitSeconds = 0, computeSeconds = 0;
  bool hidden() const { return waitSeconds == 0; }
};

struct MemoryReport {
  std::string view = "act";
  std::string model, function;
  symbolic::Letters letters;
  int64_t retainedBytes = 0, peakBytes = 0, totalPeakBytes = 0, arenaBytes = 0,
          lowerBoundBytes = 0, parametersBytes = 0, gradientsBytes = 0,
          optimizerBytes = 0, inputsBytes = 0, outputsBytes = 0;
  /// What a thread of the host needs for the kernel that needs most.
  std::optional<int64_t> scratchBytesPerThread;
  uint64_t recomputedFlops = 0, flops = 0;
  int64_t launches = 0, leastBytes = 0; // of the whole function, as in Layer
  std::string target; ///< the GPU that what follows is for, or empty
  std::optional<int64_t> blockBytes;
  /// Behind the arena, for products that are made in parts.
  std::optional<int64_t> scratchBytes;
  Formula retained, peak;
  std::optional<Offload> offload;
  /// What aligning every buffer adds to the peak at most, whatever the sizes.
  Formula alignment;
  /// Letters whose sizes a pass chose for this program; and letters that are
  /// half of another one, p of d.
  symbolic::Letters chosen;
  std::map<std::string, std::string> halves;
  /// For which sizes the formulas are: L_from, a number, and words for it.
  struct Condition {
    std::string name, text;
    int64_t value = 0;
  };
  std::vector<Condition> conditions;
  std::vector<Layer> layers;
  std::vector<SavedValue> saved;
  std::vector<TimelinePoint> timeline;
  std::vector<Buffer> buffers;
  Peak peakAt;
  std::vector<LayerGraph> graphs;
  /// Bytes of each tensor that is there before the step and after it:
  /// parameters, their gradients, the optimizer's state, inputs and outputs. In
  /// view torch parameters, buffers of modules and inputs, in the order in
  /// which they are moved to the device.
  std::vector<int64_t> resident;
  std::optional<AllocatorReplay> replay;
  std::optional<WhatIf> whatIf;
  std::vector<std::string> notes; // what the reader should know, a line each
};

/// Derives from the buffers: liveBytes of points that have none, categories of
/// every point, and the peak (the first point with the most live bytes).
Status complete(MemoryReport &report);

/// Recomputes what can be: live bytes of each point from the buffers, the peak
/// from the timeline, retained from the saved values, graph edges to nodes,
/// formulas at the letters. The error names the field and both numbers.
Status check(const MemoryReport &report);

/// For a terminal, at most about 100 columns wide.
std::string toText(const MemoryReport &report);
/// The fields under the names that DESIGN documents, and everything else.
std::string toJson(const MemoryReport &report);
/// Lines `name = polynomial`, for programs: layer_saved, layer_peak,
/// model_saved, model_peak, model_alignment, then what each op of them saves.
/// Letters of `chosen` are numbers there. Behind them lines of `conditions`,
/// holds_NAME.
std::string toFormulas(const MemoryReport &report);
/// One self-contained page.
std::string toHtml(const MemoryReport &report);

/// "1.50 GiB" (1024-based) and "1.23e+16" for counts.
std::string humanBytes(int64_t bytes);
std::string humanCount(uint64_t count);

} // namespace act::report
#endif
