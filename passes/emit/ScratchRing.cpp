// SPDX-License-Identifier: Apache-2.0
#include "passes/emit/ScratchRing.h"
#include "dialects/act/Types.h"
#include "passes/kernels/KernelParts.h"
#include "llvm/Support/MathExtras.h"

using namespace act;

// Kernels assume 16 bytes; this keeps the regions on whole cache lines.
constexpr uint64_t alignment = 256;

static uint64_t bytesOf(const FlatLaunch &launch) {
  auto type = launch.group ? scratchType(launch.group, LinalgForm::Sums)
                           : RankedTensorType();
  return type ? llvm::alignTo(byteSize(type), alignment) : 0;
}

ScratchRing::ScratchRing(const Program &program, int64_t arenaBytes)
    : begin(arenaBytes) {
  std::vector<uint64_t> sizes;
  for (const FlatLaunch &launch : program.launches)
    if (uint64_t bytes = bytesOf(launch))
      sizes.push_back(bytes);
  if (sizes.empty())
    return;
  begin = llvm::alignTo(begin, alignment);
  llvm::sort(sizes, std::greater<>());
  sizes.resize(std::min<size_t>(sizes.size(), 3));
  for (uint64_t bytes : sizes)
    size += bytes;
}

artifact::Operand ScratchRing::next(const FlatLaunch &launch) {
  artifact::Operand o;
  o.space = artifact::Space::Arena;
  o.bytes = bytesOf(launch);
  if (used + o.bytes > size)
    used = 0;
  o.offset = begin + used;
  used += o.bytes;
  return o;
}
