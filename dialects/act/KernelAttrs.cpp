// SPDX-License-Identifier: Apache-2.0
//
// What a kernel does with its arguments (#act.role), and what memory a launch
// binds to them (#act.operand).
#include "dialects/act/Types.h"

using namespace mlir;
using namespace act;

LogicalResult
ArgumentRoleAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                         ArgumentRoleKind kind, int64_t result, int64_t tiles) {
  bool names = kind != ArgumentRoleKind::Read;
  if (names != (result >= 0))
    return emitError() << "role " << stringifyArgumentRoleKind(kind)
                       << (names ? " needs the number of a result"
                                 : " has no result");
  if (tiles && kind != ArgumentRoleKind::Read &&
      kind != ArgumentRoleKind::Summed)
    return emitError() << "role " << stringifyArgumentRoleKind(kind)
                       << " has no tiles; summed and read may have";
  if (tiles < 0 || tiles % 8)
    return emitError() << "tiles are cut from rows of " << tiles
                       << " numbers, expected a multiple of 8";
  return success();
}

// An operand as act.launch has it: effect 0 gradient written
FailureOr<KernelOperandAttr> KernelOperandAttr::parseOperand(AsmParser &p) {
  auto word = [&](auto symbolize, StringRef what) {
    StringRef text;
    SMLoc loc = p.getCurrentLocation();
    decltype(symbolize(text)) value;
    if (failed(p.parseKeyword(&text)))
      return value;
    if (!(value = symbolize(text)))
      p.emitError(loc) << "'" << text << "' is no " << what;
    return value;
  };
  auto kind = word([](StringRef s) { return symbolizeKernelMemory(s); },
                   "memory: input, result, workspace, scratch or effect");
  if (!kind)
    return failure();
  unsigned index = 0;
  if (*kind != KernelMemory::Scratch && p.parseInteger(index))
    return failure();
  ParameterBuffer buffer = ParameterBuffer::Parameter;
  if (*kind == KernelMemory::Effect) {
    auto named = word([](StringRef s) { return symbolizeParameterBuffer(s); },
                      "buffer of a parameter: parameter, gradient, master, "
                      "exp_avg, exp_avg_sq, momentum, or a moment's codes or "
                      "scales");
    if (!named)
      return failure();
    buffer = *named;
  }
  bool written = succeeded(p.parseOptionalKeyword("written"));
  return KernelOperandAttr::get(p.getContext(), *kind, index, written, buffer);
}

void KernelOperandAttr::printOperand(raw_ostream &os) const {
  os << stringifyKernelMemory(getKind());
  if (getKind() != KernelMemory::Scratch)
    os << ' ' << getIndex();
  if (getKind() == KernelMemory::Effect)
    os << ' ' << stringifyParameterBuffer(getBuffer());
  if (getWritten())
    os << " written";
}

// #act.operand<effect 0 gradient written>
Attribute KernelOperandAttr::parse(AsmParser &p, Type) {
  if (p.parseLess())
    return {};
  auto operand = parseOperand(p);
  return failed(operand) || p.parseGreater() ? KernelOperandAttr() : *operand;
}

void KernelOperandAttr::print(AsmPrinter &p) const {
  p << '<';
  printOperand(p.getStream());
  p << '>';
}

// Verifies that
// - act.role is an #act.role, on an argument of a function with results;
// - it names a result, which no other argument is the memory of;
// - the argument can be that memory: equal types in place, as many numbers of a
//   float type for a sum, i32 numbers for its order, rows of the result's
//   numbers for parts;
// - a sum in turns has both of its numbers.
LogicalResult ActDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                   unsigned argument,
                                                   NamedAttribute attribute) {
  if (attribute.getName() != getRoleAttrName())
    return success();
  auto error = [&] {
    return op->emitError() << "argument " << argument << ": ";
  };
  auto role = dyn_cast<ArgumentRoleAttr>(attribute.getValue());
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!role || !function)
    return error() << getRoleAttrName()
                   << " is an #act.role on an argument of a function";
  auto tensor =
      dyn_cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  if (!tensor || !tensor.hasStaticShape())
    return error() << "has a role, expected a tensor of static shape";
  if (role.getKind() == ArgumentRoleKind::Read)
    return success();
  if (role.getResult() >= int64_t(function.getNumResults()))
    return error() << "its role names result " << role.getResult() << " of "
                   << function.getNumResults();
  auto result =
      dyn_cast<RankedTensorType>(function.getResultTypes()[role.getResult()]);
  if (!result)
    return error() << "its role names result " << role.getResult()
                   << ", which is no tensor";
  bool counts[2] = {false, false}; // turns, ticket
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    ArgumentRoleAttr other = roleOf(function, i);
    if (!other || other.getResult() != role.getResult())
      continue;
    if (i != argument && other.makesResult() && role.makesResult())
      return error() << "and argument " << i
                     << " are both the memory of result " << role.getResult();
    counts[0] |= other.getKind() == ArgumentRoleKind::Turns;
    counts[1] |= other.getKind() == ArgumentRoleKind::Ticket;
  }
  bool agrees = true;
  switch (role.getKind()) {
  case ArgumentRoleKind::InPlace:
    agrees = byteSize(tensor) == byteSize(result);
    break;
  case ArgumentRoleKind::Summed:
    agrees = isa<FloatType>(tensor.getElementType()) &&
             tensor.getNumElements() == result.getNumElements();
    if (!counts[0] || !counts[1])
      return error() << "is summed in turns, but no arguments have the roles "
                        "turns and ticket of result "
                     << role.getResult();
    break;
  case ArgumentRoleKind::Turns:
  case ArgumentRoleKind::Ticket:
    agrees = tensor.getElementType().isInteger(32);
    break;
  case ArgumentRoleKind::Parts:
    agrees = tensor.getRank() > 0 && tensor.getDimSize(0) > 0 &&
             tensor.getNumElements() / tensor.getDimSize(0) ==
                 result.getNumElements();
    break;
  case ArgumentRoleKind::Read:
    break;
  }
  if (!agrees)
    return error() << "of type " << tensor << " cannot have the role "
                   << stringifyArgumentRoleKind(role.getKind())
                   << " of a result of type " << result;
  return success();
}

ArgumentRoleAttr act::roleOf(FunctionOpInterface function, unsigned argument) {
  return function.getArgAttrOfType<ArgumentRoleAttr>(
      argument, ActDialect::getRoleAttrName());
}
