// SPDX-License-Identifier: Apache-2.0
// Reductions and scans: assembly, builders, verifiers.
#include "dialects/tile/Assembly.h"
#include "dialects/tile/Combine.h"
#include "dialects/tile/ShapeCheck.h"

using namespace mlir;
using namespace act::tile;

// Chosen by the op's class: a reduction drops the axis, a scan keeps it.
static Type resultType(ReduceOp *, RankedTensorType input, int64_t axis) {
  return dropAxis(input, axis);
}
static Type resultType(ScanOp *, RankedTensorType input, int64_t) {
  return input;
}

// tile.reduce max %a axis 1 : type -> type
// tile.reduce %a, %b axis 1 : type, type -> type, type { region }
template <typename Op>
static ParseResult parseCombine(OpAsmParser &p, OperationState &result) {
  auto &properties = result.getOrAddProperties<typename Op::Properties>();
  Region *combiner = result.addRegion();
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  SmallVector<Type> types;
  StringRef word;
  int64_t axis;
  SMLoc loc = p.getCurrentLocation();
  if (succeeded(p.parseOptionalKeyword(&word))) {
    auto kind = symbolizeCombineKind(word);
    if (!kind)
      return p.emitError(loc)
             << "expected add, max, min, mul, and, or, or an operand, got "
             << word;
    properties.kind = CombineKindAttr::get(p.getContext(), *kind);
  }
  SMLoc operandsLoc = p.getCurrentLocation(), typesLoc;
  if (p.parseOperandList(inputs) || p.parseKeyword("axis") ||
      p.parseInteger(axis) || p.parseOptionalAttrDict(result.attributes) ||
      p.parseColon() ||
      (typesLoc = p.getCurrentLocation(), p.parseTypeList(types)))
    return failure();
  properties.axis = p.getBuilder().getI64IntegerAttr(axis);
  if (succeeded(p.parseOptionalArrow())) {
    if (p.parseTypeList(result.types))
      return failure();
  } else {
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor)
        return p.emitError(typesLoc) << "expected a block, got " << type;
      std::string fault = axisFault(axis, tensor.getRank() - 1, tensor);
      if (!fault.empty())
        return emitFault(p, Op::getOperationName(), fault);
      result.addTypes(resultType(static_cast<Op *>(nullptr), tensor, axis));
    }
  }
  if (p.resolveOperands(inputs, types, operandsLoc, result.operands))
    return failure();
  return properties.kind ? success() : p.parseRegion(*combiner);
}

// Result types are printed only if they do not follow from the inputs, as when
// they have a layout.
template <typename Op> static void printCombine(OpAsmPrinter &p, Op op) {
  p << ' ';
  if (auto kind = op.getKind())
    p << stringifyCombineKind(*kind) << ' ';
  p << op.getInputs() << " axis " << op.getAxis();
  p.printOptionalAttrDict(op->getAttrs(), {"axis", "kind"});
  p << " : " << op.getInputs().getTypes();
  bool inferred = llvm::all_of(
      llvm::zip(op.getInputs().getTypes(), op.getResultTypes()),
      [&](auto pair) {
        auto type = cast<RankedTensorType>(std::get<0>(pair));
        return resultType(&op, type, op.getAxis()) == std::get<1>(pair);
      });
  if (!inferred)
    p << " -> " << op.getResultTypes();
  if (!op.getCombiner().empty()) {
    p << ' ';
    p.printRegion(op.getCombiner());
  }
}

template <typename Op>
static void buildKind(OpBuilder &b, OperationState &state, CombineKind kind,
                      Value input, int64_t axis) {
  Type type = resultType(static_cast<Op *>(nullptr),
                         cast<RankedTensorType>(input.getType()), axis);
  Op::build(b, state, TypeRange(type), ValueRange(input),
            b.getI64IntegerAttr(axis),
            CombineKindAttr::get(b.getContext(), kind));
}

using Combine = function_ref<SmallVector<Value>(OpBuilder &, Location,
                                                ValueRange, ValueRange)>;

template <typename Op>
static void buildRegion(OpBuilder &b, OperationState &state, ValueRange inputs,
                        int64_t axis, Combine combine) {
  SmallVector<Type> results, elements;
  for (Value input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    results.push_back(resultType(static_cast<Op *>(nullptr), type, axis));
    elements.push_back(type.getElementType());
  }
  Op::build(b, state, results, inputs, b.getI64IntegerAttr(axis),
            CombineKindAttr());
  size_t n = elements.size();
  elements.append(elements.begin(), elements.begin() + n);
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(state.regions[0].get(), {}, elements,
                               SmallVector<Location>(2 * n, state.location));
  SmallVector<Value> values =
      combine(b, state.location, block->getArguments().take_front(n),
              block->getArguments().drop_front(n));
  YieldOp::create(b, state.location, values);
}

ParseResult ReduceOp::parse(OpAsmParser &p, OperationState &result) {
  return parseCombine<ReduceOp>(p, result);
}
void ReduceOp::print(OpAsmPrinter &p) { printCombine(p, *this); }
void ReduceOp::build(OpBuilder &b, OperationState &state, CombineKind kind,
                     Value input, int64_t axis) {
  buildKind<ReduceOp>(b, state, kind, input, axis);
}
void ReduceOp::build(OpBuilder &b, OperationState &state, ValueRange inputs,
                     int64_t axis, Combine combine) {
  buildRegion<ReduceOp>(b, state, inputs, axis, combine);
}

ParseResult ScanOp::parse(OpAsmParser &p, OperationState &result) {
  return parseCombine<ScanOp>(p, result);
}
void ScanOp::print(OpAsmPrinter &p) { printCombine(p, *this); }
void ScanOp::build(OpBuilder &b, OperationState &state, CombineKind kind,
                   Value input, int64_t axis) {
  buildKind<ScanOp>(b, state, kind, input, axis);
}
void ScanOp::build(OpBuilder &b, OperationState &state, ValueRange inputs,
                   int64_t axis, Combine combine) {
  buildRegion<ScanOp>(b, state, inputs, axis, combine);
}

// Floats have no bitwise kinds, and i1 has only those.
static bool hasKind(Type element, CombineKind kind) {
  bool bitwise = kind == CombineKind::And || kind == CombineKind::Or;
  if (isa<FloatType>(element))
    return !bitwise;
  return bitwise || !element.isInteger(1);
}

// Verifies that
// - there are operands of one shape that has the axis;
// - there is one result per operand, of its element type and the op's shape;
// - there is either a kind or a region;
// - a kind has one operand, of a type that it is defined for;
// - a region takes two elements of each operand and yields one; its ops have no
//   side effects and work on single elements.
template <typename Op> static LogicalResult verifyCombine(Op op) {
  if (op.getInputs().empty())
    return op.emitOpError("has no operands");
  auto first = cast<RankedTensorType>(op.getInputs()[0].getType());
  int64_t axis = op.getAxis();
  std::string fault = axisFault(axis, first.getRank() - 1, first);
  if (!fault.empty())
    return op.emitOpError(fault);
  if (op.getNumResults() != op.getInputs().size())
    return op.emitOpError() << "has " << op.getNumResults()
                            << " results, expected " << op.getInputs().size();
  SmallVector<Type> elements;
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    auto type = cast<RankedTensorType>(op.getInputs()[i].getType());
    std::string n = std::to_string(i);
    if (failed(checkShape(op, "input " + n, type, first.getShape(),
                          "as in input 0")) ||
        failed(checkLike(op, "result " + n, op.getResult(i).getType(),
                         "input " + n + " and the axis",
                         resultType(&op, type, axis))))
      return failure();
    elements.push_back(type.getElementType());
  }
  Region &region = op.getCombiner();
  if (auto kind = op.getKind()) {
    StringRef word = stringifyCombineKind(*kind);
    if (!region.empty())
      return op.emitOpError() << "has a region, expected none beside " << word;
    if (op.getInputs().size() != 1)
      return op.emitOpError() << "has " << op.getInputs().size()
                              << " operands, expected one for " << word;
    if (!hasKind(elements[0], *kind))
      return op.emitOpError()
             << word << " is not defined for elements of type " << elements[0];
    return success();
  }
  if (region.empty())
    return op.emitOpError("has neither a kind nor a region");
  Block &block = region.front();
  size_t n = elements.size();
  elements.append(elements.begin(), elements.begin() + n);
  if (TypeRange(block.getArgumentTypes()) != TypeRange(elements))
    return op.emitOpError() << "region takes (" << block.getArgumentTypes()
                            << "), expected (" << TypeRange(elements) << ")";
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield)
    return op.emitOpError("region ends without tile.yield");
  if (yield.getOperandTypes() != TypeRange(elements).take_front(n))
    return yield.emitOpError()
           << "yields (" << yield.getOperandTypes() << "), expected ("
           << TypeRange(elements).take_front(n) << ")";
  for (Operation &inner : block.without_terminator()) {
    if (!isMemoryEffectFree(&inner))
      return inner.emitOpError() << "is in the combiner of " << op->getName()
                                 << ", expected an op without side effects";
    auto isBlock = [](Type type) { return isa<TensorType>(type); };
    WalkResult walked = inner.walk([&](Operation *nested) -> WalkResult {
      if (llvm::any_of(nested->getOperandTypes(), isBlock) ||
          llvm::any_of(nested->getResultTypes(), isBlock))
        return nested->emitOpError()
               << "takes or returns a block in the combiner of "
               << op->getName() << ", expected single elements";
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult ReduceOp::verify() { return verifyCombine(*this); }
LogicalResult ScanOp::verify() { return verifyCombine(*this); }

// If a reader of the result wants another layout, the result is converted: it
// has fewer elements than the operands.
bool ReduceOp::operandsDecide() { return true; }
std::optional<act::layout::Distributed>
ReduceOp::resultLayout(OpOperand &, const act::layout::Distributed &inputs) {
  return inputs.dropped(getAxis());
}

Value act::tile::createCombine(OpBuilder &b, Location loc, CombineKind kind,
                               Value a, Value c) {
  bool isFloat = isa<FloatType>(a.getType());
  switch (kind) {
  case CombineKind::Add:
    return isFloat ? Value(arith::AddFOp::create(b, loc, a, c))
                   : arith::AddIOp::create(b, loc, a, c);
  case CombineKind::Mul:
    return isFloat ? Value(arith::MulFOp::create(b, loc, a, c))
                   : arith::MulIOp::create(b, loc, a, c);
  case CombineKind::Max:
    return isFloat ? Value(arith::MaximumFOp::create(b, loc, a, c))
                   : arith::MaxSIOp::create(b, loc, a, c);
  case CombineKind::Min:
    return isFloat ? Value(arith::MinimumFOp::create(b, loc, a, c))
                   : arith::MinSIOp::create(b, loc, a, c);
  case CombineKind::And:
    return arith::AndIOp::create(b, loc, a, c);
  case CombineKind::Or:
    return arith::OrIOp::create(b, loc, a, c);
  }
  llvm_unreachable("a kind of combination");
}
