// SPDX-License-Identifier: Apache-2.0
// The generated op classes, hand-written assembly, and builders.
//
// Result types are omitted where they follow from the operands. A result with
// an encoding does not follow, so it is written after `->`.
#include "dialects/tile/Assembly.h"
#include "dialects/tile/ShapeCheck.h"

using namespace mlir;
using namespace act::tile;

// An enum keyword, with a message that lists the valid ones.
static ParseResult parseAxis(OpAsmParser &p, GridAxisAttr &axis) {
  SMLoc loc = p.getCurrentLocation();
  StringRef word;
  bool isWord = succeeded(p.parseOptionalKeyword(&word));
  auto value = symbolizeGridAxis(word);
  if (!value) {
    auto diag = p.emitError(loc) << "expected x, y or z";
    return isWord ? diag << ", got " << word : diag;
  }
  axis = GridAxisAttr::get(p.getContext(), *value);
  return success();
}
static void printAxis(OpAsmPrinter &p, Operation *, GridAxisAttr axis) {
  p << stringifyGridAxis(axis.getValue());
}

static ParseResult parsePrecision(OpAsmParser &p, DotPrecisionAttr &precision) {
  SMLoc loc = p.getCurrentLocation();
  StringRef word;
  bool isWord = succeeded(p.parseOptionalKeyword(&word));
  auto value = symbolizeDotPrecision(word);
  if (!value) {
    auto diag = p.emitError(loc) << "expected ieee, tf32 or bf16x3";
    return isWord ? diag << ", got " << word : diag;
  }
  precision = DotPrecisionAttr::get(p.getContext(), *value);
  return success();
}
static void printPrecision(OpAsmPrinter &p, Operation *,
                           DotPrecisionAttr precision) {
  p << stringifyDotPrecision(precision.getValue());
}

ParseResult act::tile::emitFault(OpAsmParser &p, StringRef op,
                                 const Twine &fault) {
  return p.emitError(p.getNameLoc()) << "'" << op << "' op " << fault;
}

// `: input` or `: input -> result`. If the result is not written, `infer`
// provides it, unless `fault` says why there is none.
template <typename Op>
static ParseResult
parseInferred(OpAsmParser &p, Type &input, Type &result,
              function_ref<Type(RankedTensorType)> infer,
              function_ref<std::string(RankedTensorType)> fault) {
  SMLoc loc;
  if (p.parseColon() || (loc = p.getCurrentLocation(), p.parseType(input)))
    return failure();
  if (succeeded(p.parseOptionalArrow()))
    return p.parseType(result);
  auto tensor = dyn_cast<RankedTensorType>(input);
  if (!tensor)
    return p.emitError(loc) << "expected a block, got " << input;
  if (std::string why = fault(tensor); !why.empty())
    return emitFault(p, Op::getOperationName(), why);
  result = infer(tensor);
  return success();
}

static void printInferred(OpAsmPrinter &p, Type input, Type result,
                          Type inferred) {
  p << ": " << input;
  if (result != inferred)
    p << " -> " << result;
}

// Invalid operands still get a result type: a built op must have one, and its
// verifier reports the error.
static Type inferTrans(RankedTensorType type) {
  if (!transFault(type).empty())
    return type;
  SmallVector<int64_t> shape(type.getShape());
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return RankedTensorType::get(shape, type.getElementType());
}

static ParseResult parseTransTypes(OpAsmParser &p, Type &input, Type &result) {
  return parseInferred<TransOp>(p, input, result, inferTrans, transFault);
}
static void printTransTypes(OpAsmPrinter &p, Operation *,
                            RankedTensorType input, RankedTensorType result) {
  printInferred(p, input, result, inferTrans(input));
}

static Type inferExpandDims(RankedTensorType type, int64_t axis) {
  if (!axisFault(axis, type.getRank(), type).empty())
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + axis, 1);
  return RankedTensorType::get(shape, type.getElementType());
}

static ParseResult parseExpandDimsTypes(OpAsmParser &p, Type &input,
                                        Type &result, IntegerAttr axis) {
  return parseInferred<ExpandDimsOp>(
      p, input, result,
      [&](RankedTensorType type) {
        return inferExpandDims(type, axis.getInt());
      },
      [&](RankedTensorType type) {
        return axisFault(axis.getInt(), type.getRank(), type);
      });
}
static void printExpandDimsTypes(OpAsmPrinter &p, Operation *,
                                 RankedTensorType input,
                                 RankedTensorType result, IntegerAttr axis) {
  printInferred(p, input, result, inferExpandDims(input, axis.getInt()));
}

static Type inferJoin(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(2);
  return RankedTensorType::get(shape, type.getElementType());
}

static ParseResult parseJoinTypes(OpAsmParser &p, Type &lhs, Type &rhs,
                                  Type &result) {
  if (parseInferred<JoinOp>(p, lhs, result, inferJoin,
                            [](RankedTensorType) { return ""; }))
    return failure();
  rhs = lhs;
  return success();
}
static void printJoinTypes(OpAsmPrinter &p, Operation *, RankedTensorType lhs,
                           RankedTensorType, RankedTensorType result) {
  printInferred(p, lhs, result, inferJoin(lhs));
}

static Type inferSplit(RankedTensorType type) {
  if (!splitFault(type).empty())
    return type;
  return RankedTensorType::get(type.getShape().drop_back(),
                               type.getElementType());
}

static ParseResult parseSplitTypes(OpAsmParser &p, Type &input, Type &lhs,
                                   Type &rhs) {
  if (parseInferred<SplitOp>(p, input, lhs, inferSplit, splitFault))
    return failure();
  rhs = lhs;
  return success();
}
static void printSplitTypes(OpAsmPrinter &p, Operation *,
                            RankedTensorType input, RankedTensorType lhs,
                            RankedTensorType) {
  printInferred(p, input, lhs, inferSplit(input));
}

static Type inferIota(MLIRContext *context, int64_t start, int64_t end) {
  int64_t size = uint64_t(end) - uint64_t(start); // the verifier checks both
  return RankedTensorType::get({std::max<int64_t>(size, 1)},
                               IntegerType::get(context, 32));
}

// Nothing, or `: type`.
static ParseResult parseIotaType(OpAsmParser &p, Type &result,
                                 IntegerAttr start, IntegerAttr end) {
  if (succeeded(p.parseOptionalColon()))
    return p.parseType(result);
  if (std::string why = iotaFault(start.getInt(), end.getInt()); !why.empty())
    return emitFault(p, IotaOp::getOperationName(), why);
  result = inferIota(p.getContext(), start.getInt(), end.getInt());
  return success();
}
static void printIotaType(OpAsmPrinter &p, Operation *op,
                          RankedTensorType result, IntegerAttr start,
                          IntegerAttr end) {
  if (result != inferIota(op->getContext(), start.getInt(), end.getInt()))
    p << " : " << result;
}

// Indices of i64 give bits of i32, with the same shape and encoding.
static Type inferPhilox(Type index) {
  Type i32 = IntegerType::get(index.getContext(), 32);
  if (auto tensor = dyn_cast<RankedTensorType>(index))
    return tensor.clone(i32);
  return i32;
}

static ParseResult parsePhiloxTypes(OpAsmParser &p, Type &index, Type &result) {
  if (p.parseColonType(index))
    return failure();
  result = inferPhilox(index);
  return success();
}
static void printPhiloxTypes(OpAsmPrinter &p, Operation *, Type index, Type) {
  p << ": " << index;
}

static ParseResult parseSizeName(OpAsmParser &p, StringAttr &name) {
  StringRef word;
  if (p.parseKeyword(&word))
    return failure();
  name = p.getBuilder().getStringAttr(word);
  return success();
}
static void printSizeName(OpAsmPrinter &p, Operation *, StringAttr name) {
  p << name.getValue();
}

// `strides [64, 1]`, or nothing.
static ParseResult
parseViewStrides(OpAsmParser &p,
                 SmallVectorImpl<OpAsmParser::UnresolvedOperand> &strides,
                 DenseI64ArrayAttr &numbers) {
  numbers = p.getBuilder().getDenseI64ArrayAttr({});
  if (failed(p.parseOptionalKeyword("strides")))
    return success();
  return parseDynamicIndexList(p, strides, numbers);
}
static void printViewStrides(OpAsmPrinter &p, Operation *op,
                             OperandRange strides, DenseI64ArrayAttr numbers) {
  if (numbers.empty())
    return;
  p << " strides ";
  printDynamicIndexList(p, op, strides, numbers);
}

#define GET_OP_CLASSES
#include "dialects/tile/Ops.cpp.inc"

void ProgramIdOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  set(getResult(), ("pid_" + stringifyGridAxis(getAxis())).str());
}

void NumProgramsOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  set(getResult(), ("programs_" + stringifyGridAxis(getAxis())).str());
}

void BlockSizeOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  set(getResult(), getName());
}

void PhiloxOp::build(OpBuilder &b, OperationState &state, Value seed,
                     Value step, Value site, Value index) {
  build(b, state, inferPhilox(index.getType()), seed, step, site, index);
}

void ViewOp::build(OpBuilder &b, OperationState &state, Type result,
                   Value pointer, ArrayRef<OpFoldResult> sizes,
                   ArrayRef<OpFoldResult> strides) {
  SmallVector<Value> dynamicSizes, dynamicStrides;
  SmallVector<int64_t> staticSizes, staticStrides;
  dispatchIndexOpFoldResults(sizes, dynamicSizes, staticSizes);
  dispatchIndexOpFoldResults(strides, dynamicStrides, staticStrides);
  build(b, state, result, pointer, dynamicSizes, dynamicStrides, staticSizes,
        staticStrides);
}

SmallVector<OpFoldResult> ViewOp::getMixedSizes() {
  return getMixedValues(getStaticSizes(), getSizes(), getContext());
}

SmallVector<OpFoldResult> ViewOp::getMixedStrides() {
  return getMixedValues(getStaticStrides(), getStrides(), getContext());
}

void TransposedViewOp::build(OpBuilder &b, OperationState &state, Value view,
                             ArrayRef<int64_t> permutation) {
  auto type = cast<ViewType>(view.getType());
  SmallVector<int64_t> shape, strides, full = type.getFullStrides();
  for (int64_t p : permutation) {
    shape.push_back(type.getShape()[p]);
    strides.push_back(full[p]);
  }
  build(b, state, ViewType::get(shape, type.getElementType(), strides), view,
        permutation);
}

void LoadOp::build(OpBuilder &b, OperationState &state, Value view,
                   ValueRange indices, ArrayRef<int64_t> extents,
                   TypedAttr pad) {
  build(b, state, blockType(cast<ViewType>(view.getType()), extents), view,
        indices, extents, pad);
}

void IotaOp::build(OpBuilder &b, OperationState &state, int64_t start,
                   int64_t end) {
  build(b, state, inferIota(b.getContext(), start, end), start, end);
}

void TransOp::build(OpBuilder &b, OperationState &state, Value input) {
  build(b, state, inferTrans(cast<RankedTensorType>(input.getType())), input);
}

bool act::tile::touchesBlocks(Operation *op) {
  auto isBlock = llvm::IsaPred<RankedTensorType, PendingType>;
  return llvm::any_of(op->getOperandTypes(), isBlock) ||
         llvm::any_of(op->getResultTypes(), isBlock);
}

bool act::tile::hasOneLayout(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() || op->hasTrait<OneLayout>();
}

// Whether the op has all the flags that let tile-simplify-math approximate it.
bool act::tile::mayApproximate(Operation *op) {
  auto math = dyn_cast<arith::ArithFastMathInterface>(op);
  auto flags = math ? math.getFastMathFlagsAttr() : nullptr;
  return flags && arith::bitEnumContainsAll(flags.getValue(), approximate);
}

// The value whose memory a view shows, behind all views of views.
Value act::tile::memoryOf(Value view) {
  while (Operation *made = view.getDefiningOp()) {
    if (!isa<ViewOp, TransposedViewOp>(made))
      break;
    view = made->getOperand(0);
  }
  return view;
}

void ExpandDimsOp::build(OpBuilder &b, OperationState &state, Value input,
                         int64_t axis) {
  build(b, state,
        inferExpandDims(cast<RankedTensorType>(input.getType()), axis), input,
        axis);
}

void JoinOp::build(OpBuilder &b, OperationState &state, Value lhs, Value rhs) {
  build(b, state, inferJoin(cast<RankedTensorType>(lhs.getType())), lhs, rhs);
}

void SplitOp::build(OpBuilder &b, OperationState &state, Value input) {
  Type half = inferSplit(cast<RankedTensorType>(input.getType()));
  build(b, state, half, half, input);
}

void DotOp::build(OpBuilder &b, OperationState &state, Value a, Value bb,
                  Value acc, DotPrecision precision, ValueRange within) {
  build(b, state, acc.getType(), a, bb, acc, within, precision,
        /*instruction=*/{});
}
