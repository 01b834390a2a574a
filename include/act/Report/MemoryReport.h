// SPDX-License-Identifier: Apache-2.0
//
// A training step's memory as plain data, and its output as text for a
// terminal, JSON for programs and one HTML page for people.
//
// Every field means one thing. In view "act", retained, peak and arena bytes
// are activations, their gradients, temporaries and workspace. Parameters,
// their gradients, the optimizer's state, inputs and outputs (the loss, logits)
// have fields of their own. totalPeak is all of these. It excludes the host's
// per-thread scratch: its size is known once the kernels are compiled, and the
// number of threads depends on the machine that runs them.
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
// The producer gives the totals, the timeline (one point per operation that
// runs) and the buffers with their lifetimes in points of the timeline.
// complete() derives the rest: the bytes per category at each point, the peak
// and the buffers alive at it. check() recomputes every sum that it can.
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

/// A buffer's purpose. Saved: written by forward, read by backward.
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

/// A tensor in memory for part of the step.
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

/// A formula in unpadded bytes. alignmentBytes is what alignment adds at the
/// report's sizes: formula(letters) + alignmentBytes is the exact figure.
struct Formula {
  symbolic::Expr bytes;
  int64_t alignmentBytes = 0;
  bool known = false; // false: not derived, printed as "-"
  /// The first `shown` candidates can be the largest for a model of these
  /// widths, at some batch, length and depth; the others only for other models.
  /// Output for people has only these. 0: all.
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
  /// The layer's kernel launches in a step, and their minimum traffic in bytes:
  /// each kernel reads its inputs once and writes its outputs once.
  int64_t launches = 0, leastBytes = 0;
  /// Bytes that the blocks of those kernels move, if the report's `target` is a
  /// GPU: each program moves each of its blocks once. Nothing if it depends on
  /// values in memory.
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

/// The timeline replayed through an allocator that rounds up, caches and reuses
/// blocks. Includes everything in the total peak, tensor by tensor, and
/// libraries' workspaces.
struct AllocatorReplay {
  std::string allocator, settings; // "cuda-caching", and its settings
  /// Peaks of the blocks in use and of the memory reserved from the GPU, each
  /// with its point.
  int64_t allocatedPeakBytes = 0, reservedPeakBytes = 0;
  int64_t allocatedPeakAt = 0, reservedPeakAt = 0;
  /// At the allocated peak: the bytes requested (the rest is rounding), and the
  /// free bytes in partly used segments, which cannot be released.
  int64_t requestedBytes = 0, inactiveSplitBytes = 0;
  int64_t retries = 0; // how often all cached segments were released
  std::optional<int64_t> deviceBytes;
  /// The first request that does not fit on the GPU. The figures above are then
  /// those of a GPU with enough memory.
  struct Exceeded {
    int64_t index = 0; // point of the timeline; -1: a resident, before it
    int64_t requestedBytes = 0, allocatedBytes = 0, reservedBytes = 0;
  };
  std::optional<Exceeded> exceeded;
  /// The maximum from each point to the next.
  std::vector<int64_t> allocated, reserved;

  /// The fraction of the reserved peak that is never in use.
  double fragmentation() const {
    return reservedPeakBytes
               ? 1 - double(allocatedPeakBytes) / double(reservedPeakBytes)
               : 0;
  }
};

/// Values that forward offloads to host memory and backward brings back. Times
/// are from a cost model: of the copies at the link's speed, and how long the
/// step waits for them if copies overlap kernels and start as soon as memory
/// allows (one at a time in each direction).
struct Offload {
  int64_t arenaBytes = 0, peakBytes = 0; // on the host
  int64_t movedBytes = 0;                // in both directions
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
  /// The largest scratch that a kernel needs per host thread.
  std::optional<int64_t> scratchBytesPerThread;
  uint64_t recomputedFlops = 0, flops = 0;
  int64_t launches = 0, leastBytes = 0; // of the whole function, as in Layer
  std::string card; ///< the card that the next field is for, or empty
  std::optional<double> seconds; ///< of the whole function, estimated
  std::string target; ///< the GPU that the next three fields are for, or empty
  std::optional<int64_t> blockBytes;
  /// Behind the arena, for products split into parts.
  std::optional<int64_t> scratchBytes;
  /// Tensor maps of all launches, which the runtime encodes on the host when
  /// memory is bound and passes with the kernels' arguments.
  std::optional<int64_t> tensorMapBytes;
  Formula retained, peak;
  std::optional<Offload> offload;
  /// Upper bound on what aligning every buffer adds to the peak, for all sizes.
  Formula alignment;
  /// Letters whose sizes a pass chose for this program, and letters that are
  /// half of another one, as p is of d.
  symbolic::Letters chosen;
  std::map<std::string, std::string> halves;
  /// Sizes that the formulas hold for: a name (L_from), a number and a text.
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
  /// Bytes of each tensor that exists before and after the step: parameters,
  /// their gradients, the optimizer's state, inputs and outputs. In view torch:
  /// parameters, modules' buffers and inputs, in the order in which they are
  /// moved to the device.
  std::vector<int64_t> resident;
  std::optional<AllocatorReplay> replay;
  std::optional<WhatIf> whatIf;
  std::vector<std::string> notes; // for the reader, one line each
};

/// Derives from the buffers: liveBytes of points that have none, categories of
/// every point, and the peak (the first point with the most live bytes).
Status complete(MemoryReport &report);

/// Recomputes and compares the live bytes of each point from the buffers, the
/// peak from the timeline, retained from the saved values, graph edges to
/// nodes, and formulas at the letters. The error names the field and both
/// numbers.
Status check(const MemoryReport &report);

/// For a terminal, at most about 100 columns wide.
std::string toText(const MemoryReport &report);
/// All fields; those that DESIGN documents have its names.
std::string toJson(const MemoryReport &report);
/// Lines `name = polynomial`, for programs: layer_saved, layer_peak,
/// model_saved, model_peak, model_alignment, then what each op saves, and a
/// line holds_NAME for each of `conditions`. Letters of `chosen` are replaced
/// by their numbers.
std::string toFormulas(const MemoryReport &report);
/// One self-contained page.
std::string toHtml(const MemoryReport &report);

/// "1.50 GiB" (1024-based) and "1.23e+16" for counts.
std::string humanBytes(int64_t bytes);
std::string humanCount(uint64_t count);

} // namespace act::report
#endif
