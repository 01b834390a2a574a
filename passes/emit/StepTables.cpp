// SPDX-License-Identifier: Apache-2.0
#include "passes/emit/StepTables.h"
#include "dialects/act/LayerName.h"
#include "dialects/act/Types.h"
#include "llvm/ADT/StringMap.h"
#include <set>

using namespace mlir;
using namespace act;

namespace {

artifact::DType dtypeOf(Type element) {
  using artifact::DType;
  if (auto nf4 = dyn_cast<NF4Type>(element))
    return nf4.getNested() ? DType::NF4Nested : DType::NF4;
  if (element.isF64())
    return DType::F64;
  if (element.isF32())
    return DType::F32;
  if (element.isBF16())
    return DType::BF16;
  if (element.isF16())
    return DType::F16;
  if (isa<FloatType>(element))
    return DType::F8E4M3FN;
  if (element.isInteger(1))
    return DType::I1;
  if (element.isInteger(8))
    return DType::U8;
  return element.isInteger(32) ? DType::I32 : DType::I64;
}

/// The states of a parameter, in the order of the artifact. Each is named after
/// the parameter, with `suffix` behind it.
constexpr struct {
  ParameterBuffer buffer;
  artifact::Role role;
  const char *suffix;
} parameterStates[] = {
    {ParameterBuffer::Gradient, artifact::Role::Gradient, "grad"},
    {ParameterBuffer::Master, artifact::Role::Master, "master"},
    {ParameterBuffer::ExpAvg, artifact::Role::ExpAvg, "exp_avg"},
    {ParameterBuffer::ExpAvgSq, artifact::Role::ExpAvgSq, "exp_avg_sq"},
    {ParameterBuffer::Momentum, artifact::Role::Momentum, "momentum"},
    {ParameterBuffer::ExpAvgCodes, artifact::Role::ExpAvgCodes,
     "exp_avg_codes"},
    {ParameterBuffer::ExpAvgScales, artifact::Role::ExpAvgScales,
     "exp_avg_scales"},
    {ParameterBuffer::ExpAvgSqCodes, artifact::Role::ExpAvgSqCodes,
     "exp_avg_sq_codes"},
    {ParameterBuffer::ExpAvgSqScales, artifact::Role::ExpAvgSqScales,
     "exp_avg_sq_scales"}};

} // namespace

artifact::TensorType act::tensorOf(RankedTensorType type) {
  artifact::TensorType t;
  t.dtype = dtypeOf(type.getElementType());
  t.shape.assign(type.getShape().begin(), type.getShape().end());
  if (auto nf4 = dyn_cast<NF4Type>(type.getElementType()))
    t.blockSize = nf4.getBlock();
  return t;
}

// The indices are the ones that operands name (`persistent`).
void StepTables::addParameters(ModuleOp module, bool trains) {
  // The buffers that ops use of each parameter.
  llvm::StringMap<std::set<ParameterBuffer>> used;
  module.walk([&](ParameterEffectOpInterface op) {
    auto &of = used[op.getParameterName().getValue()];
    of.insert(ParameterBuffer::Gradient);
    for (const BufferUse &use : op.getBufferUses())
      of.insert(use.buffer);
  });
  for (auto op : module.getOps<ParameterOp>()) {
    auto type = cast<RankedTensorType>(op.getType());
    for (int64_t l = 0, n = op.getLayers().value_or(1); l < n; ++l) {
      artifact::Parameter p;
      p.name = layerName(op.getHfName(), l);
      p.type = tensorOf(type);
      p.frozen = op.getFrozen();
      p.init = op.getInit() == InitKind::Ones    ? artifact::Init::Ones
               : op.getInit() == InitKind::Zeros ? artifact::Init::Zeros
                                                 : artifact::Init::Normal;
      p.initStd = op.getInitStd().convertToDouble();
      if (op.getTied())
        for (StringRef name : op.getTied()->getAsValueRange<StringAttr>())
          p.tied.push_back(layerName(name, l));
      uint32_t index = step.parameters.size();
      parameterIndex[{op.getSymName().str(), op.getLayers() ? l : -1}] = index;
      step.parameters.push_back(p);
      // Frozen parameters, and those of inference, have no state.
      if (!trains)
        continue;
      const std::set<ParameterBuffer> buffers = used.lookup(op.getSymName());
      for (const auto &state : parameterStates) {
        if (!buffers.count(state.buffer))
          continue;
        stateIndex[{index, state.buffer}] = step.states.size();
        step.states.push_back({p.name + "." + state.suffix,
                               tensorOf(bufferType(op, state.buffer)),
                               state.role, index});
      }
    }
  }
}

/// Functions share scalars by name: the learning rate of @step is one number,
/// however many kernels read it.
uint32_t StepTables::scalar(const FlatPort &port) {
  for (auto [i, s] : llvm::enumerate(step.scalars))
    if (s.name == port.name)
      return i;
  step.scalars.push_back({port.name, dtypeOf(port.type)});
  return step.scalars.size() - 1;
}

artifact::Operand StepTables::place(const Place &p, const ArenaPlan &plan,
                                    const Program &program) {
  artifact::Operand o;
  o.bytes = p.bytes;
  o.offset = p.offset;
  o.index = p.index;
  switch (p.kind) {
  case Place::Buffer:
    o.space = program.buffers[p.index].onHost ? artifact::Space::Host
                                              : artifact::Space::Arena;
    o.index = 0;
    o.offset = plan.offsets[p.index] + p.offset;
    break;
  case Place::Parameter: {
    const FlatParameter &f = program.parameters[p.index];
    o.space = artifact::Space::Parameter;
    o.index = parameterIndex.at({f.op.getSymName().str(), f.layer});
    break;
  }
  case Place::Input:
    o.space = artifact::Space::Input;
    break;
  case Place::Output:
    o.space = artifact::Space::Output;
    break;
  case Place::Scalar:
    o.space = artifact::Space::Scalar;
    o.index = scalar(program.scalars[p.index]);
    break;
  case Place::Immediate:
    o.space = artifact::Space::Immediate;
    o.index = 0;
    o.offset = uint64_t(p.value); // the number itself
    o.bytes = 8;
    break;
  case Place::Gradient:
    llvm_unreachable("gradients are effects");
  }
  return o;
}

artifact::Operand StepTables::persistent(ParameterBuffer buffer,
                                         const FlatParameter &f) const {
  artifact::Operand o;
  uint32_t parameter = parameterIndex.at({f.op.getSymName().str(), f.layer});
  if (buffer == ParameterBuffer::Parameter) {
    o.space = artifact::Space::Parameter;
    o.index = parameter;
    o.bytes = byteSize(cast<RankedTensorType>(f.op.getType()));
    return o;
  }
  o.space = artifact::Space::State;
  o.index = stateIndex.at({parameter, buffer});
  o.bytes = byteSize(bufferType(f.op, buffer));
  return o;
}
