// SPDX-License-Identifier: Apache-2.0
#include "passes/emit/GpuLaunches.h"
#include "act/Artifact/Format.h"
#include "dialects/act/Flops.h"
#include "passes/act-to-tile/PlanGrid.h"
#include "passes/emit/JoinLaunches.h"

using namespace mlir;
using namespace act;

/// The kind of a launch; only equal kinds merge. Kernels of one kind have
/// equally many warps and stages, in groups or not, agree on having a sum of
/// products, and belong to one layer. -1: no kind. Kernels that wait for turns
/// number their programs themselves.
int64_t GpuLaunches::kindOf(const PlacedFunction &f, uint32_t launch,
                            const tile::PlanOptions &options) {
  uint32_t kernel = f.function.launches[launch].kernel;
  if (!mayJoin || kernel == artifact::copyKernel)
    return -1;
  auto [it, fresh] = kinds.insert({kernel, -1});
  func::FuncOp function = kernels.list()[kernel].function;
  bool takesTurns = llvm::any_of(
      llvm::seq<unsigned>(0, function.getNumArguments()), [&](unsigned i) {
        ArgumentRoleAttr role = roleOf(function, i);
        return role && role.getKind() == ArgumentRoleKind::Ticket;
      });
  if (fresh && !takesTurns)
    if (auto kind = tile::kindOf(function, options);
        succeeded(kind) && kind->products <= 1)
      it->second = ((kind->warps * 2 + kind->products) * 8 + kind->stages) * 2 +
                   kind->inGroups;
  if (it->second < 0)
    return -1;
  // Distinct: 1 to 32 warps, at most one product, 1 to 4 stages, in groups or
  // not. Layer -1 is outside layers.
  return it->second + (int64_t(f.layers[launch]) + 1) * 2048;
}

/// The kernels of `launches`, each with its number of consecutive repetitions.
GpuLaunches::Parts GpuLaunches::partsOf(const PlacedFunction &f,
                                        const std::vector<uint32_t> &launches) {
  Parts parts;
  for (uint32_t i : launches) {
    uint32_t kernel = f.function.launches[i].kernel;
    if (parts.empty() || parts.back().first != kernel)
      parts.push_back({kernel, 0});
    ++parts.back().second;
  }
  return parts;
}

/// The number of the kernel that does all of `launches`, given in the order of
/// its arguments.
uint32_t GpuLaunches::launchKernel(const PlacedFunction &f,
                                   const std::vector<uint32_t> &launches) {
  Parts parts = partsOf(f, launches);
  auto [it, fresh] =
      launchKernelAt.insert({parts, uint32_t(launchKernels.size())});
  if (!fresh)
    return it->second;
  LaunchKernel k;
  for (auto [kernel, times] : parts)
    k.parts.push_back({&kernels.list()[kernel], times});
  func::FuncOp first = kernels.list()[parts[0].first].function;
  k.name = first.getName().str();
  if (launches.size() > 1)
    k.name += "_and_" + std::to_string(launches.size() - 1);
  auto taken = [&](StringRef name) {
    return llvm::any_of(launchKernels, [&](const LaunchKernel &other) {
      return other.name == name;
    });
  };
  const std::string name = k.name;
  for (int again = 2; taken(k.name); ++again)
    k.name = name + "_" + std::to_string(again);
  launchKernels.push_back(std::move(k));
  return it->second;
}

/// Decides which launches to merge, and their kernels. It starts over each time
/// it is called, since `apart` may have grown.
void GpuLaunches::join(const tile::PlanOptions &options) {
  launchKernelAt.clear();
  launchKernels.clear();
  functions.clear();
  merged.clear();
  for (const PlacedFunction &f : placed) {
    Merged &launches = merged.emplace_back();
    for (std::vector<uint32_t> &one :
         joinLaunches(f.function, [&](uint32_t launch) {
           return kindOf(f, launch, options);
         })) {
      // Launches of one kernel are its instances, and their arguments must be
      // adjacent: q, gate, k of kernels A, B, A become q, k, gate.
      std::vector<uint32_t> seen;
      auto rank = [&](uint32_t launch) {
        return llvm::find(seen, f.function.launches[launch].kernel);
      };
      for (uint32_t i : one)
        if (rank(i) == seen.end())
          seen.push_back(f.function.launches[i].kernel);
      llvm::stable_sort(
          one, [&](uint32_t a, uint32_t b) { return rank(a) < rank(b); });
      if (!apart.count(partsOf(f, one))) {
        launches.push_back(std::move(one));
        continue;
      }
      llvm::sort(one);
      for (uint32_t i : one)
        launches.push_back({i});
    }
    functions.push_back(
        withLaunches(f.function, launches, [&](const auto &launches) {
          return f.function.launches[launches[0]].kernel == artifact::copyKernel
                     ? artifact::copyKernel
                     : launchKernel(f, launches);
        }));
  }
}

LogicalResult GpuLaunches::compile(const GpuOptions &options,
                                   const tile::PtxCache &cache) {
  auto joinAndCompile = [&] {
    join(planOptions(options));
    auto made = compileGpuKernels(launchKernels, options, cache);
    if (succeeded(made))
      compiled = std::move(*made);
    return success(succeeded(made));
  };
  if (failed(joinAndCompile()))
    return failure();
  // Launches of one kind that cannot be one kernel after all, because it was
  // planned again or has too many programs, are single ones.
  for (auto &[parts, number] : launchKernelAt)
    if (compiled[number].ptx.empty())
      apart.insert(parts);
  return apart.empty() ? success() : joinAndCompile();
}

Location GpuLaunches::locationOf(size_t kernel) const {
  GroupOp group = launchKernels[kernel].parts[0].first->group;
  return group.getLoc();
}

/// On the GPU one launch may do several groups of a layer, and a group may take
/// several launches.
void GpuLaunches::count(size_t function, report::MemoryReport &report) const {
  const PlacedFunction &f = placed[function];
  report.scratchBytes = f.function.arenaBytes - f.plan.arenaBytes;
  report.blockBytes = 0;
  report.tensorMapBytes = 0;
  report.launches = 0;
  std::map<int, report::Layer *> layers;
  for (report::Layer &layer : report.layers) {
    layer.blockBytes = 0;
    layer.launches = 0;
    layers[layer.index] = &layer;
  }
  for (auto [launch, members] :
       llvm::zip_equal(functions[function].launches, merged[function])) {
    if (launch.kernel == artifact::copyKernel)
      continue;
    const tile::CompiledKernel &kernel = compiled[launch.kernel];
    *report.tensorMapBytes +=
        int64_t(artifact::tensorMapBytes * kernel.tensorMaps.size());
    int64_t bytes = kernel.blockBytes;
    auto add = [&](auto &to) {
      ++to.launches;
      if (bytes < 0)
        to.blockBytes.reset();
      if (to.blockBytes)
        to.blockBytes = flopsSum({*to.blockBytes, bytes});
    };
    add(report);
    // kindOf() keeps launches of different layers apart.
    if (auto layer = layers.find(f.layers[members[0]]); layer != layers.end())
      add(*layer->second);
  }
}
