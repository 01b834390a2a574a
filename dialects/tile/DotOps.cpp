// SPDX-License-Identifier: Apache-2.0
//
// Which products of blocks there are: element types, accumulators, shapes; and
// the fragments that tensor cores take.
#include "act/Layout/Mma.h"
#include "dialects/tile/ShapeCheck.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace act::tile;
using act::layout::Distributed;

static bool isF8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

// The default accumulator type for products of blocks of this type; none if
// there are no such products.
static Type accumulatorOf(Type element) {
  MLIRContext *context = element.getContext();
  if (isa<BFloat16Type, Float16Type, Float32Type>(element) || isF8(element))
    return Float32Type::get(context);
  if (element.isInteger(8))
    return IntegerType::get(context, 32);
  return isa<Float64Type>(element) ? element : Type();
}

bool DotOp::isInParts() {
  return getElementTypeOrSelf(getA().getType()).isF32() &&
         getPrecision() != DotPrecision::TF32;
}

int64_t DotOp::getParts() {
  return !isInParts() ? 1 : getPrecision() == DotPrecision::BF16x3 ? 2 : 3;
}

// Verifies that
// - all three are matrices, and fit: [m, k] [k, n] -> [m, n];
// - a and b have one element type (or are both of f8), and acc has their
//   accumulator type, or f16 for f16;
// - only f32 has a precision;
// - the instruction multiplies such elements, and its k divides that of a;
// - within has two blocks of i32, a number for each row, and a is of bf16, f16
//   or f32.
LogicalResult DotOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType(),
                   acc = getAcc().getType();
  for (auto [name, type] :
       {std::pair<StringRef, RankedTensorType>("a", a), {"b", b}, {"acc", acc}})
    if (type.getRank() != 2)
      return emitOpError() << name << " has rank " << type.getRank()
                           << ", expected 2";
  if (a.getDimSize(1) != b.getDimSize(0))
    return emitOpError() << "contracts " << a.getDimSize(1)
                         << " columns of a with " << b.getDimSize(0)
                         << " rows of b";
  if (failed(checkShape(*this, "acc", acc, {a.getDimSize(0), b.getDimSize(1)},
                        "for a of shape " + shapeText(a.getShape()) +
                            " and b of shape " + shapeText(b.getShape()))))
    return failure();
  Type element = a.getElementType();
  if (!(isF8(element) && isF8(b.getElementType())) &&
      failed(checkElement(*this, "b", b, element, "as in a")))
    return failure();
  Type sum = accumulatorOf(element);
  if (!sum)
    return emitOpError() << "a has elements of type " << element
                         << ", expected bf16, f16, f8, f32, f64 or i8";
  bool inHalves = element.isF16() && acc.getElementType().isF16();
  if (!inHalves &&
      failed(checkElement(*this, "acc", acc, sum, "to add up products")))
    return failure();
  if (getPrecision() != DotPrecision::IEEE && !isa<Float32Type>(element))
    return emitOpError() << "precision is "
                         << stringifyDotPrecision(getPrecision())
                         << ", expected none for elements of type " << element;
  if (InstructionAttr instruction = getInstructionAttr()) {
    // f32 is multiplied as tf32, or in parts of bf16.
    Type own = isInParts()       ? Type(BFloat16Type::get(getContext()))
               : element.isF32() ? Type(FloatTF32Type::get(getContext()))
                                 : element;
    if (instruction.getElement() != own ||
        instruction.getParts() != getParts() ||
        a.getDimSize(1) % instruction.getK())
      return emitOpError() << "of " << a << " does not become " << instruction;
  }
  if (getWithin().empty())
    return success();
  if (getWithin().size() != 2)
    return emitOpError() << "has " << getWithin().size()
                         << " within bounds, expected two, low and high";
  if (!isa<BFloat16Type, Float16Type, Float32Type>(element))
    return emitOpError() << "has within bounds for elements of type " << element
                         << ", expected bf16, f16 or f32";
  for (auto [name, end] :
       {std::pair<StringRef, Value>("low", getLow()), {"high", getHigh()}}) {
    auto type = cast<RankedTensorType>(end.getType());
    if (failed(checkShape(*this, name, type, {a.getDimSize(0)},
                          "for a of shape " + shapeText(a.getShape()))) ||
        failed(checkElement(*this, name, type,
                            IntegerType::get(getContext(), 32),
                            "as places along k")))
      return failure();
  }
  return success();
}

act::Result<Distributed> DotOp::factorLayout(OpOperand &factor,
                                             const Distributed &acc) {
  int64_t bits = isInParts() ? 16 : getA().getType().getElementTypeBitWidth();
  auto shape = cast<RankedTensorType>(factor.get().getType()).getShape().vec();
  return factor.getOperandNumber() == 0
             ? act::layout::mmaOperandA(std::move(shape), acc, bits)
             : act::layout::mmaOperandB(std::move(shape), acc, bits);
}

// The accumulator stays where it is. A thread holds the `within` bounds of the
// rows that it has accumulators of.
std::optional<Distributed> DotOp::operandLayout(OpOperand &operand,
                                                const Distributed &acc) {
  unsigned i = operand.getOperandNumber();
  if (i >= 2)
    return i == 2 ? acc : acc.dropped(1);
  if (auto l = factorLayout(operand, acc))
    return *l;
  return std::nullopt;
}
std::optional<Distributed> DotOp::resultLayout(OpOperand &operand,
                                               const Distributed &l) {
  return operand.getOperandNumber() == 2 ? std::optional(l) : std::nullopt;
}
// Fragments of a and b come by conversions, which tile-stage-loads turns into a
// ring in shared memory.
bool DotOp::takesSuggestion(OpOperand &operand) {
  return operand.getOperandNumber() >= 2;
}

// Verifies that
// - a sum has one reader. A product changes it in place, so another reader
//   would see it change. Nothing runs after a begin_dot: that sum may be read
//   often.
static LogicalResult checkOneReader(Operation *op, Value pending) {
  if (pending.getDefiningOp<BeginDotOp>())
    return success();
  SmallVector<Operation *> readers;
  for (Operation *user : pending.getUsers()) {
    if (isa<AwaitDotOp>(user))
      continue;
    for (Operation *other : readers)
      if (!insideMutuallyExclusiveRegions(user, other)) {
        InFlightDiagnostic error =
            op->emitOpError() << "has a sum with two readers, expected one: a "
                                 "product changes it in place";
        error.attachNote(other->getLoc()) << "a reader";
        error.attachNote(user->getLoc()) << "a reader";
        return error;
      }
    readers.push_back(user);
  }
  return success();
}

// What wgmma multiplies (PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions"). Verifies that
// - all three are matrices, and fit: [m, k] [k, n] -> [m, n];
// - the instruction is a wgmma of the elements, and divides m, n and k;
// - operands are of 16 bits, or not transposed: a of [m, k], b of [n, k];
// - a sum has one reader.
LogicalResult DotAsyncOp::verify() {
  auto shapeOf = [](Type type) {
    if (auto shared = dyn_cast<SharedType>(type))
      return shared.getShape();
    return cast<RankedTensorType>(type).getShape();
  };
  Type aType = getA().getType();
  SharedType b = getB().getType();
  RankedTensorType acc = getAcc().getType().getBlock();
  ArrayRef<int64_t> a = shapeOf(aType), n = b.getShape(), c = acc.getShape();
  if (a.size() != 2 || n.size() != 2 || c.size() != 2 || a[1] != n[0] ||
      c[0] != a[0] || c[1] != n[1])
    return emitOpError() << "multiplies " << shapeText(a) << " by "
                         << shapeText(n) << " into " << shapeText(c)
                         << ", expected m x k, k x n and m x n";
  Type element = b.getElementType(),
       other = isa<SharedType>(aType)
                   ? cast<SharedType>(aType).getElementType()
                   : cast<RankedTensorType>(aType).getElementType();
  InstructionAttr instruction = getInstruction();
  if (instruction.getKind() != InstructionKind::Wgmma || element != other ||
      instruction.getElement() != element ||
      acc.getElementType() != accumulatorOf(element) ||
      a[0] % instruction.getM() || n[1] % instruction.getN() ||
      a[1] % instruction.getK())
    return emitOpError() << "of " << aType << ", " << b << " and " << acc
                         << " does not become " << instruction;
  if (element.getIntOrFloatBitWidth() != 16) {
    auto shared = dyn_cast<SharedType>(aType);
    if ((shared && shared.isTransposed()) || !b.isTransposed())
      return emitOpError() << "reads operands of " << element
                           << ", which must lie in memory along k";
  }
  return failure(failed(checkOneReader(*this, getAcc())) ||
                 failed(checkOneReader(*this, getResult())));
}
