// SPDX-License-Identifier: Apache-2.0
#include "passes/kernels/LaunchBytes.h"
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"
#include "passes/kernels/KernelParts.h"
#include <set>

using namespace mlir;
using namespace act;

/// Bytes read and written in a parameter's persistent buffers: its gradient,
/// its states and itself. They are no operands of the group, so the caller
/// cannot see them in the launch. States and the master copy have the compute
/// type (f32 for 16-bit parameters).
static int64_t effectBytes(ParameterEffectOpInterface op,
                           const FlatParameter &parameter) {
  int64_t sum = 0;
  for (const BufferUse &use : op.getBufferUses()) {
    const int64_t times = use.access == BufferUse::Update ? 2 : 1;
    sum =
        flopsSum({sum, times * byteSize(bufferType(parameter.op, use.buffer))});
  }
  return sum;
}

int64_t act::readBytes(GroupOp group, unsigned input, int64_t whole) {
  int64_t rows = 0;
  BlockArgument argument = group.getBody().getArgument(input);
  for (OpOperand &use : argument.getUses()) {
    auto embedding = dyn_cast<EmbeddingOp>(use.getOwner());
    if (!embedding || use.get() != embedding.getTable())
      return whole;
    rows = flopsSum({rows, byteSize(embedding.getResult().getType())});
  }
  return argument.use_empty() ? whole : std::min(whole, rows);
}

int64_t act::leastBytes(const Program &program, const FlatLaunch &launch) {
  int64_t sum = 0;
  // The same memory passed twice is read once.
  std::set<std::tuple<int, unsigned, int64_t>> read;
  for (auto [i, p] : llvm::enumerate(launch.inputs)) {
    bool number = p.kind == Place::Scalar || p.kind == Place::Immediate;
    if (!number && read.insert({int(p.kind), p.index, p.offset}).second)
      sum = flopsSum({sum, readBytes(launch.group, i, p.bytes)});
  }
  for (const Place &p : launch.results)
    sum = flopsSum({sum, p.bytes});
  unsigned effect = 0;
  for (Operation &op : launch.group.getBody().front())
    if (auto acts = dyn_cast<ParameterEffectOpInterface>(op))
      sum = flopsSum(
          {sum,
           effectBytes(acts, program.parameters[launch.effects[effect++]])});
  return sum;
}

int64_t act::kernelCount(const FlatLaunch &launch) {
  return partsOf(launch.group, LinalgForm::Tiles).size();
}
