// SPDX-License-Identifier: Apache-2.0
//
// What ops about the program require: parameters and their users, repeats and
// their callees, groups, sites and phases.
#include "dialects/act/LayerName.h"
#include "dialects/act/ParameterUse.h"
#include "dialects/act/ShapeCheck.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace act;

// Verifies that
// - the name in files is not empty, and it and each tied name contain `{l}`, or
//   a multiple of it plus a number, exactly if there are layers;
// - layers are positive and init_std is finite and not negative;
// - only floats are trained;
// - every dimension has a size or a name.
LogicalResult ParameterOp::verify() {
  if (getLayers() && int64_t(*getLayers()) < 1)
    return emitOpError() << "layers is " << int64_t(*getLayers())
                         << ", expected 1 or more";
  SmallVector<StringRef> names{getHfName()};
  if (getTied())
    llvm::append_range(names, getTied()->getAsValueRange<StringAttr>());
  for (StringRef name : names) {
    if (name.empty())
      return emitOpError("has an empty name");
    if (isLayerName(name) != getLayers().has_value())
      return emitOpError() << "name '" << name << "' "
                           << (getLayers() ? "has no {l} for its layers"
                                           : "has {l} but no layers");
  }
  if (!getInitStd().isFinite() || getInitStd().isNegative())
    return emitOpError() << "init_std is " << getInitStd().convertToDouble()
                         << ", expected a finite number of 0 or more";
  auto type = cast<RankedTensorType>(getType());
  if (!getFrozen() && !isa<FloatType>(type.getElementType()))
    return emitOpError() << "has elements of type " << type.getElementType()
                         << ", which cannot be trained; expected 'frozen'";
  return impl::verifyNamedTensor(*this, "type", type);
}

FailureOr<ParameterOp> act::lookupParameter(Operation *op,
                                            FlatSymbolRefAttr name,
                                            SymbolTableCollection &symbols) {
  Operation *target = symbols.lookupNearestSymbolFrom(op, name);
  if (auto parameter = dyn_cast_or_null<ParameterOp>(target))
    return parameter;
  InFlightDiagnostic error = op->emitOpError()
                             << "refers to " << name << ", which "
                             << (target ? "is not an act.parameter"
                                        : "does not exist");
  if (target)
    error.attachNote(target->getLoc()) << "declared here";
  return failure();
}

FailureOr<ParameterOp> act::lookupTrained(Operation *op, FlatSymbolRefAttr name,
                                          SymbolTableCollection &symbols) {
  FailureOr<ParameterOp> parameter = lookupParameter(op, name, symbols);
  if (failed(parameter) || !parameter->getFrozen())
    return parameter;
  InFlightDiagnostic error = op->emitOpError() << "refers to the gradient of "
                                               << name << ", which is frozen";
  error.attachNote(parameter->getLoc()) << "declared here";
  return failure();
}

// Verifies that
// - the name is that of a parameter, and the result has its type.
LogicalResult ParamOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<ParameterOp> parameter =
      lookupParameter(*this, getNameAttr(), symbols);
  if (failed(parameter))
    return failure();
  if (parameter->getType() == getType())
    return success();
  InFlightDiagnostic error =
      emitOpError() << "result has type " << getType() << ", expected "
                    << parameter->getType() << " as in " << getNameAttr();
  error.attachNote(parameter->getLoc()) << "declared here";
  return error;
}

// Verifies that
// - the name is that of a parameter that is not frozen;
// - the value has its shape.
LogicalResult AccumulateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FailureOr<ParameterOp> parameter =
      lookupTrained(*this, getNameAttr(), symbols);
  if (failed(parameter))
    return failure();
  return checkShape(*this, "value", getValue().getType(),
                    dimsOf(cast<RankedTensorType>(parameter->getType())),
                    "as in @" + getName());
}

// Whether the first dimension of `stack` counts the iterations of `op`.
static bool countsIterations(RepeatOp op, RankedTensorType stack) {
  return stack && stack.getRank() > 0 &&
         dimsOf(stack)[0] ==
             Dim(op.getCount(), op.getLetter().empty()
                                    ? std::to_string(op.getCount())
                                    : op.getLetter().str());
}

// Verifies that
// - count is positive, from is not negative, and their sum fits in 31 bits;
// - the letter is an identifier, or empty;
// - there is a result of the same type for every carried value;
// - stacked operands and the other results have a first dimension of `count`.
LogicalResult RepeatOp::verify() {
  int64_t count = getCount(), from = getFrom();
  if (count < 1 || count > INT32_MAX)
    return emitOpError() << "count is " << count << ", expected 1 to 2^31 - 1";
  if (from < 0 || from > INT32_MAX - count)
    return emitOpError()
           << "from is " << from
           << ", expected 0 or more, and less than 2^31 with count";
  if (getMicroBatches() && from + count > 4096)
    return emitOpError() << "has micro-batches up to " << from + count
                         << ", expected 4096 at most";
  StringRef letter = getLetter();
  if (!letter.empty() && (!(llvm::isAlpha(letter[0]) || letter[0] == '_') ||
                          !llvm::all_of(letter, [](char c) {
                            return llvm::isAlnum(c) || c == '_';
                          })))
    return emitOpError() << "letter '" << letter << "' is not an identifier";
  if (getNumResults() < getCarried().size())
    return emitOpError() << "has " << getNumResults() << " results, expected "
                         << getCarried().size() << " carried ones or more";
  for (auto [i, carried, result] :
       llvm::enumerate(getCarried().getTypes(), getCarriedResults().getTypes()))
    if (carried != result)
      return emitOpError() << "result " << i << " has type " << result
                           << ", expected " << carried << " as carried";
  auto verifyStack = [&](StringRef what, unsigned i,
                         Type type) -> LogicalResult {
    if (countsIterations(*this, dyn_cast<RankedTensorType>(type)))
      return success();
    return emitOpError() << what << " " << i << " has type " << type
                         << ", expected a tensor whose first dimension is "
                         << count << " (" << letter << ")";
  };
  for (auto [i, type] : llvm::enumerate(getStacked().getTypes()))
    if (failed(verifyStack("stacked operand", i, type)))
      return failure();
  for (auto [i, type] : llvm::enumerate(getStacks().getTypes()))
    if (failed(verifyStack("stacked result", i, type)))
      return failure();
  return success();
}

// Whether a call of `callee` may reach `target`. Repeats are written out by
// calls, so a cycle would never end.
static bool reaches(func::FuncOp callee, func::FuncOp target, Operation *from,
                    SymbolTableCollection &symbols,
                    llvm::SmallPtrSetImpl<Operation *> &seen) {
  SmallVector<func::FuncOp> work{callee};
  while (!work.empty()) {
    func::FuncOp function = work.pop_back_val();
    if (function == target)
      return true;
    if (!seen.insert(function).second)
      continue;
    function.walk([&](Operation *op) {
      FlatSymbolRefAttr name;
      if (auto repeat = dyn_cast<RepeatOp>(op))
        name = repeat.getCalleeAttr();
      else if (auto call = dyn_cast<func::CallOp>(op))
        name = call.getCalleeAttr();
      if (!name)
        return;
      if (auto next = symbols.lookupNearestSymbolFrom<func::FuncOp>(from, name))
        work.push_back(next);
    });
  }
  return false;
}

// Checks one type passed to or returned by the callee against the op's.
static LogicalResult checkPassed(RepeatOp op, func::FuncOp callee,
                                 StringRef what, unsigned i, Type has,
                                 Type wants) {
  if (has == wants)
    return success();
  InFlightDiagnostic error = op.emitOpError()
                             << what << " " << i << " of " << op.getCalleeAttr()
                             << " has type " << wants << ", expected " << has;
  error.attachNote(callee.getLoc()) << "declared here";
  return error;
}

// Checks one slice of a stack; it may have fewer names than the callee's.
static LogicalResult checkSlice(RepeatOp op, func::FuncOp callee,
                                StringRef what, unsigned i, Type stackType,
                                Type wants) {
  RankedTensorType slice = dropFront(cast<RankedTensorType>(stackType), 1);
  auto tensor = dyn_cast<RankedTensorType>(wants);
  if (tensor && tensor.getElementType() == slice.getElementType() &&
      sameShape(dimsOf(tensor), dimsOf(slice)))
    return success();
  return checkPassed(op, callee, what, i, slice, wants);
}

// Verifies that
// - the callee is a function with a body that does not call back its caller;
// - its arguments are the layer's index (optional), the carried and shared
//   values and a slice of each stack;
// - its results are the carried values and a slice of each stacked result.
LogicalResult RepeatOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *target = symbols.lookupNearestSymbolFrom(*this, getCalleeAttr());
  auto callee = dyn_cast_or_null<func::FuncOp>(target);
  if (!callee || callee.isExternal())
    return emitOpError() << "calls " << getCalleeAttr() << ", which "
                         << (!target   ? "does not exist"
                             : !callee ? "is not a function"
                                       : "has no body");
  llvm::SmallPtrSet<Operation *, 8> seen;
  if (auto caller = (*this)->getParentOfType<func::FuncOp>())
    if (reaches(callee, caller, *this, symbols, seen))
      return emitOpError() << "calls " << getCalleeAttr()
                           << ", which calls this function again";
  TypeRange arguments = callee.getArgumentTypes();
  unsigned operands = getNumOperands();
  if (arguments.size() == operands + 1 && arguments.front().isInteger(64))
    arguments = arguments.drop_front();
  if (arguments.size() != operands)
    return emitOpError() << "passes " << operands << " values to "
                         << getCalleeAttr() << ", which takes "
                         << callee.getNumArguments();
  unsigned whole = getCarried().size() + getShared().size();
  for (auto [i, type] : llvm::enumerate(arguments)) {
    Type has = getOperand(i).getType();
    if (failed(i < whole ? checkPassed(*this, callee, "argument", i, has, type)
                         : checkSlice(*this, callee, "argument", i, has, type)))
      return failure();
  }
  TypeRange results = callee.getResultTypes();
  if (results.size() != getNumResults())
    return emitOpError() << "has " << getNumResults() << " results, but "
                         << getCalleeAttr() << " returns " << results.size();
  for (auto [i, type] : llvm::enumerate(results)) {
    Type has = getResult(i).getType();
    if (failed(i < getCarried().size()
                   ? checkPassed(*this, callee, "result", i, has, type)
                   : checkSlice(*this, callee, "result", i, has, type)))
      return failure();
  }
  return success();
}

// Verifies that
// - the body's arguments are the operands, and it ends in an act.yield of the
//   results;
// - the other region has launches only;
// - workspaces are tensors;
// - inplace has one entry per result, or none: -1, or an operand of as many
//   bytes, which no other result takes.
LogicalResult GroupOp::verify() {
  TypeRange arguments = getBody().getArgumentTypes();
  if (arguments != getInputs().getTypes())
    return emitOpError() << "body has arguments (" << arguments
                         << "), expected (" << getInputs().getTypes() << ")";
  Block &body = getBody().front();
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitOpError("body does not end in an act.yield");
  if (yield.getValues().getTypes() != getResultTypes())
    return emitOpError() << "yields (" << yield.getValues().getTypes()
                         << "), expected (" << getResultTypes() << ")";
  for (Operation &op : getLaunches().getOps())
    if (!isa<LaunchOp>(op))
      return op.emitOpError("is among the launches of a group");
  for (Type type : getWorkspaceTypes())
    if (!isa<RankedTensorType>(type))
      return emitOpError() << "has a workspace of type " << type
                           << ", expected a tensor";
  ArrayRef<int64_t> inplace = getInplace();
  if (inplace.empty())
    return success();
  if (inplace.size() != getNumResults())
    return emitOpError() << "inplace has " << inplace.size()
                         << " entries, expected one for each of "
                         << getNumResults() << " results";
  llvm::SmallDenseSet<int64_t> taken;
  for (auto [i, operand] : llvm::enumerate(inplace)) {
    if (operand == -1)
      continue;
    if (operand < 0 || operand >= getNumOperands())
      return emitOpError() << "inplace names operand " << operand
                           << ", expected -1 or one of " << getNumOperands();
    if (!taken.insert(operand).second)
      return emitOpError() << "inplace gives operand " << operand
                           << " to two results";
    auto from = dyn_cast<RankedTensorType>(getOperand(operand).getType());
    auto to = dyn_cast<RankedTensorType>(getResult(i).getType());
    if (!from || !to || byteSize(from) != byteSize(to))
      return emitOpError() << "inplace gives operand " << operand << " of type "
                           << getOperand(operand).getType() << " to result "
                           << i << " of type " << getResult(i).getType();
  }
  return success();
}

// Verifies that
// - an id that a layer is added to fits in the counter's 16 bits; without a
//   layer, it may be the 32-bit id of an unrolled one.
LogicalResult SiteOp::verify() {
  int64_t id = int64_t(getId()), most = getLayer() ? 65535 : UINT32_MAX;
  if (id < 0 || id > most)
    return emitOpError() << "id is " << id << ", expected 0 to " << most;
  return success();
}

// Verifies that
// - the name is that of a phase.
LogicalResult PhaseOp::verify() {
  if (getName() != "backward" && getName() != "update")
    return emitOpError() << "name is '" << getName()
                         << "', expected 'backward' or 'update'";
  return success();
}
