// SPDX-License-Identifier: Apache-2.0
#include "passes/emit/StepCubins.h"
#include "act/Artifact/Format.h"
#include "act/Target/Target.h"
#include "mlir/IR/Threading.h"
#include "passes/tile-to-nvvm/FindPtxas.h"
#include "passes/tile-to-nvvm/Ptxas.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace act;

std::optional<Cubins> act::cubinsNamed(StringRef word) {
  return llvm::StringSwitch<std::optional<Cubins>>(word)
      .Case("auto", Cubins::Auto)
      .Case("on", Cubins::On)
      .Case("off", Cubins::Off)
      .Default(std::nullopt);
}

/// The ptxas for the kernels; empty if they stay PTX.
static FailureOr<std::string> choosePtxas(const artifact::Step &step,
                                          const GpuLaunches &kernels,
                                          Cubins cubins, Location loc) {
  const bool isPortable = !findTarget(step.target)->suffix;
  if (cubins == Cubins::Off || (cubins == Cubins::Auto && isPortable))
    return std::string();
  auto ptxas = tile::findPtxas();
  const bool isRight = ptxas && ptxas->isRightForWgmma();
  if (cubins == Cubins::Auto)
    return isRight ? ptxas->path : std::string();
  if (!ptxas)
    return emitError(loc) << "cubin=on needs ptxas, which is in none of "
                          << tile::ptxasPlaces;
  for (auto [i, k] : llvm::enumerate(kernels.compiled))
    if (!isRight && StringRef(k.ptx).contains("wgmma."))
      return emitError(kernels.locationOf(i))
             << "cubin=on needs ptxas 13.3 or newer for a kernel with wgmma; "
                "the newest in "
             << tile::ptxasPlaces << " is " << ptxas->str();
  return ptxas->path;
}

LogicalResult act::addCubins(artifact::Step &step, const GpuLaunches &kernels,
                             Cubins cubins, const tile::PtxCache &cache,
                             Location loc) {
  ArrayRef<tile::CompiledKernel> list = kernels.compiled;
  auto ptxas = choosePtxas(step, kernels, cubins, loc);
  if (failed(ptxas) || ptxas->empty())
    return success(succeeded(ptxas));
  std::vector<tile::Cubin> made(list.size());
  auto assemble = [&](size_t i) -> LogicalResult {
    // A limit of registers that suits this ptxas is not for the PTX, which
    // another one assembles.
    std::string ptx = list[i].ptx;
    auto cubin = tile::assembleWithFewSpills(
        ptx, step.target, kernels.locationOf(i), cache, *ptxas);
    if (failed(cubin))
      return failure();
    made[i] = std::move(*cubin);
    return success();
  };
  if (failed(
          failableParallelForEachN(loc.getContext(), 0, list.size(), assemble)))
    return failure();
  for (auto [kernel, cubin] : llvm::zip_equal(step.kernels, made)) {
    step.images.resize(
        llvm::alignTo(step.images.size(), artifact::imageAlignment));
    kernel.imageOffset = step.images.size();
    kernel.imageBytes = cubin.bytes.size();
    step.images.insert(step.images.end(), cubin.bytes.begin(),
                       cubin.bytes.end());
  }
  return success();
}
