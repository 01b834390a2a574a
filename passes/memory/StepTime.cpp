// SPDX-License-Identifier: Apache-2.0
#include "passes/memory/StepTime.h"
#include "dialects/act/Types.h"
#include "passes/kernels/LaunchBytes.h"

using namespace mlir;
using namespace act;

// Between the kernels of a stream, on all cards that were measured.
static constexpr double launchSeconds = 3e-6;

/// Time of an op's arithmetic. Elementwise work hides behind its bytes.
static double arithmeticSeconds(CostOpInterface op, const Card &card) {
  double reached = 0;
  switch (op.getCostClass()) {
  case CostClass::Gemm:
  case CostClass::Loss:
    reached = card.reached.products;
    break;
  case CostClass::Attention:
    reached = isa<AttentionGradOp>(op) ? card.reached.attentionGrad
                                       : card.reached.attention;
    break;
  default:
    return 0;
  }
  bool narrow = llvm::any_of(op->getOperandTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<FloatType>(tensor.getElementType()) &&
           tensor.getElementTypeBitWidth() == 16;
  });
  double peak = narrow ? card.tensorFlops : card.f32Flops;
  return double(op.getFlops()) / (peak * reached);
}

double act::stepSeconds(const Program &program, const Card &card) {
  double sum = 0;
  DenseMap<Operation *, double> known; // all layers launch the same groups
  for (const FlatLaunch &launch : program.launches) {
    auto [it, fresh] = known.try_emplace(launch.group, 0);
    if (fresh)
      launch.group.getBody().walk([&](CostOpInterface op) {
        it->second += arithmeticSeconds(op, card);
      });
    double bytes = double(leastBytes(program, launch));
    sum +=
        std::max(it->second, bytes / (card.memoryBytes * card.reached.memory)) +
        launchSeconds * double(kernelCount(launch));
  }
  return sum;
}
