// SPDX-License-Identifier: Apache-2.0
//
// The launches of a step on a GPU. Several launches of a placed function may
// become one, so kernels are compiled only when the plan shows which are
// independent.
#ifndef ACT_PASSES_EMIT_GPULAUNCHES_H
#define ACT_PASSES_EMIT_GPULAUNCHES_H
#include "act/Report/MemoryReport.h"
#include "passes/emit/GpuKernels.h"
#include "passes/emit/PlaceFunction.h"
#include <map>
#include <set>

namespace act {

class GpuLaunches {
public:
  GpuLaunches(const StepKernels &kernels,
              const std::vector<PlacedFunction> &placed, bool joinLaunches)
      : kernels(kernels), placed(placed), mayJoin(joinLaunches) {}

  /// Decides which launches are joined and compiles the kernels that this
  /// needs.
  mlir::LogicalResult compile(const GpuOptions &options,
                              const tile::PtxCache &cache);

  /// The compiled kernels, and the functions whose launches name them, in the
  /// order of `placed`.
  std::vector<tile::CompiledKernel> compiled;
  std::vector<artifact::Function> functions;

  /// Where the first group of compiled[kernel] stands, for messages.
  mlir::Location locationOf(size_t kernel) const;

  /// Puts the launches on the GPU, and the bytes that they move, into a report
  /// of `placed[function]`.
  void count(size_t function, report::MemoryReport &report) const;

private:
  /// The merged launches of a function, each a list of launches.
  using Merged = std::vector<std::vector<uint32_t>>;
  /// The kernels of a merged launch, each with its number of repetitions.
  using Parts = std::vector<std::pair<uint32_t, int64_t>>;
  static Parts partsOf(const PlacedFunction &f,
                       const std::vector<uint32_t> &launches);
  int64_t kindOf(const PlacedFunction &f, uint32_t launch,
                 const tile::PlanOptions &options);
  uint32_t launchKernel(const PlacedFunction &f,
                        const std::vector<uint32_t> &launches);
  void join(const tile::PlanOptions &options);

  const StepKernels &kernels;
  const std::vector<PlacedFunction> &placed;
  const bool mayJoin;
  std::vector<Merged> merged; // in the order of `placed`
  std::map<Parts, uint32_t> launchKernelAt;
  std::vector<LaunchKernel> launchKernels; // by number
  std::set<Parts> apart;                   // those that cannot be one kernel
  std::map<uint32_t, int64_t> kinds;
};

} // namespace act
#endif
