// SPDX-License-Identifier: Apache-2.0
//
// What the index of kernels says about a kernel: its ops and shapes, the FLOPs
// of its group, and the bytes that it reads and writes if each operand moves
// once. Benchmarks divide what they measure by these.
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"
#include "passes/emit/StepKernels.h"
#include "passes/kernels/LaunchBytes.h"

using namespace mlir;
using namespace act;

/// 128x64xbf16, or i64 for a number.
static std::string shapeOf(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Type element = type;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    for (int64_t d : tensor.getShape())
      os << d << "x";
    element = tensor.getElementType();
  }
  os << element;
  return text;
}

static int64_t bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
  return tensor.getNumElements() *
         int64_t(llvm::divideCeil(
             tensor.getElementType().getIntOrFloatBitWidth(), 8));
}

llvm::json::Object act::aboutKernel(LaunchOp launch, func::FuncOp function) {
  auto group = launch->getParentOfType<GroupOp>();
  llvm::json::Array ops, shapes;
  int64_t flops = 0, bytes = 0;
  for (Operation &op : group.getBody().front().without_terminator()) {
    ops.push_back(op.getName().stripDialect());
    if (auto cost = dyn_cast<CostOpInterface>(op); cost && launch.getMain())
      flops = flopsSum({flops, cost.getFlops()});
  }
  // The function's types: arguments, then results that are not in place.
  FunctionType type = function.getFunctionType();
  llvm::SmallDenseSet<int64_t> inPlace;
  for (auto [i, t] : llvm::enumerate(type.getInputs())) {
    ArgumentRoleAttr role = roleOf(function, i);
    bool read = (role && role.getKind() == ArgumentRoleKind::Summed) ||
                !function.getArgument(i).use_empty();
    bool written = role && role.makesResult();
    if (written)
      inPlace.insert(role.getResult());
    shapes.push_back(shapeOf(t)); // of every parameter, read or not
    auto operand = cast<KernelOperandAttr>(launch.getOperandsAttr()[i]);
    int64_t whole = bytesOf(t);
    int64_t once = operand.getKind() == KernelMemory::Input
                       ? readBytes(group, operand.getIndex(), whole)
                       : whole;
    bytes = flopsSum({bytes, read * once + written * whole});
  }
  for (auto [i, t] : llvm::enumerate(type.getResults())) {
    if (inPlace.contains(int64_t(i)))
      continue;
    shapes.push_back(shapeOf(t));
    bytes = flopsSum({bytes, bytesOf(t)});
  }
  return llvm::json::Object{{"ops", std::move(ops)},
                            {"shapes", std::move(shapes)},
                            {"useful_flops", flops},
                            {"least_bytes", bytes}};
}
