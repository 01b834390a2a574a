// SPDX-License-Identifier: Apache-2.0
//
// What the index of kernels says about a kernel: its ops and shapes, the FLOPs
// of its group, and the bytes that it reads and writes if each operand moves
// once. Benchmarks divide what they measure by these.
#include "dialects/act/Flops.h"
#include "dialects/act/Types.h"
#include "passes/act/LaunchBytes.h"
#include "passes/emit/GpuKernels.h"

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

llvm::json::Object act::aboutKernel(GroupOp group,
                                    const LoweredKernel &kernel) {
  llvm::json::Array ops, shapes;
  int64_t flops = 0, bytes = 0;
  for (Operation &op : group.getBody().front().without_terminator()) {
    ops.push_back(op.getName().stripDialect());
    if (auto cost = dyn_cast<CostOpInterface>(op); cost && kernel.isMain)
      flops = flopsSum({flops, cost.getFlops()});
  }
  // The function's types: arguments, then results that are not in place.
  func::FuncOp function = kernel.function;
  FunctionType type = function.getFunctionType();
  llvm::SmallDenseSet<int64_t> inPlace;
  for (auto [i, t] : llvm::enumerate(type.getInputs())) {
    auto replaced = function.getArgAttrOfType<IntegerAttr>(i, "act.inplace"),
         summed = function.getArgAttrOfType<IntegerAttr>(i, "act.summed"),
         parts = function.getArgAttrOfType<IntegerAttr>(i, "act.parts");
    bool read = summed || !function.getArgument(i).use_empty();
    bool written = replaced || summed || parts;
    if (written)
      inPlace.insert((replaced ? replaced : summed ? summed : parts).getInt());
    shapes.push_back(shapeOf(t)); // of every parameter, read or not
    const KernelOperand &operand = kernel.operands[i];
    int64_t whole = bytesOf(t);
    int64_t once = operand.kind == KernelOperand::Input
                       ? readBytes(group, operand.index, whole)
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
