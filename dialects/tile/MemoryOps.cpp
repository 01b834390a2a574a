// SPDX-License-Identifier: Apache-2.0
// Assembly of the ops that read and write blocks.
#include "dialects/tile/Assembly.h"
#include "dialects/tile/ShapeCheck.h"

using namespace mlir;
using namespace act::tile;

Value LoadOp::getAccessed() { return getResult(); }
Value StoreOp::getAccessed() { return getValue(); }
Value AtomicAddOp::getAccessed() { return getValue(); }

void BlockText::addNames(OperationState &state) const {
  auto isName = [](Attribute name) { return !cast<StringAttr>(name).empty(); };
  if (llvm::any_of(names, isName))
    state.addAttribute(extentNamesName,
                       ArrayAttr::get(state.getContext(), names));
}

// An index is a scalar with an optional extent, or a vector, whose type has the
// extent: [%i : 64, %rows : tensor<32xi32>, %j : K = 32]. A scalar that is no
// index has its type first: [%i : i32 : 64]. A name before the extent is the
// block size that it came from.
ParseResult act::tile::parseBlock(OpAsmParser &p, BlockText &block) {
  auto parseExtent = [&]() -> ParseResult {
    StringRef name;
    if (succeeded(p.parseOptionalKeyword(&name))) {
      block.names.back() = p.getBuilder().getStringAttr(name);
      if (p.parseEqual())
        return failure();
    }
    SMLoc loc = p.getCurrentLocation();
    int64_t &extent = block.extents.back();
    if (p.parseInteger(extent))
      return failure();
    if (extent < 1)
      return p.emitError(loc)
             << "a block's extent is " << extent << ", expected 1 or more";
    return success();
  };
  auto parseIndex = [&]() -> ParseResult {
    block.types.push_back(p.getBuilder().getIndexType());
    block.extents.push_back(-1);
    block.names.push_back(p.getBuilder().getStringAttr(""));
    if (p.parseOperand(block.indices.emplace_back()))
      return failure();
    if (failed(p.parseOptionalColon()))
      return success();
    Type type;
    OptionalParseResult typed = p.parseOptionalType(type);
    if (!typed.has_value())
      return parseExtent();
    if (failed(*typed))
      return failure();
    block.types.back() = type;
    if (auto tensor = dyn_cast<RankedTensorType>(type)) {
      if (tensor.getRank() == 1 && tensor.hasStaticShape())
        block.extents.back() = tensor.getDimSize(0);
      return success();
    }
    return succeeded(p.parseOptionalColon()) ? parseExtent() : success();
  };
  return p.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseIndex);
}

void act::tile::printBlock(OpAsmPrinter &p, BlockAccessOpInterface access) {
  auto names = access->getAttrOfType<ArrayAttr>(extentNamesName);
  p << access.getView() << '[';
  llvm::interleaveComma(
      llvm::enumerate(access.getIndices()), p, [&](auto item) {
        auto [i, index] = item;
        int64_t extent = access.getExtents()[i];
        p << index;
        if (!isa<IndexType>(index.getType()))
          p << " : " << index.getType();
        if (extent == -1 || isa<RankedTensorType>(index.getType()))
          return;
        p << " : ";
        // The printer must also handle invalid ops.
        auto name = names && i < names.size() ? dyn_cast<StringAttr>(names[i])
                                              : StringAttr();
        if (name && !name.empty())
          p << name.getValue() << " = ";
        p << extent;
      });
  p << ']';
}

// The number is read without a type, because the type comes later in the text.
// An integer gets one bit more than its digits need, so that it keeps its sign.
ParseResult act::tile::parseNumber(OpAsmParser &p, Attribute &number) {
  Builder &b = p.getBuilder();
  bool negative = succeeded(p.parseOptionalMinus());
  double real = 0;
  APInt integer;
  OptionalParseResult isInteger = p.parseOptionalInteger(integer);
  if (isInteger.has_value()) {
    if (failed(*isInteger))
      return failure();
    integer = integer.zext(integer.getBitWidth() + 1);
    if (negative)
      integer.negate();
    number = b.getIntegerAttr(b.getIntegerType(integer.getBitWidth()), integer);
    return success();
  }
  if (succeeded(p.parseOptionalKeyword("neg_inf")))
    real = -std::numeric_limits<double>::infinity();
  else if (succeeded(p.parseOptionalKeyword("inf")))
    real = std::numeric_limits<double>::infinity();
  else if (succeeded(p.parseOptionalKeyword("nan")))
    real = std::numeric_limits<double>::quiet_NaN();
  else if (p.parseFloat(real))
    return failure();
  number = b.getF64FloatAttr(negative ? -real : real);
  return success();
}

// A float may be rounded, but not to infinity or from it. An integer may be
// meant as signed or as unsigned: -1 and 255 are the same i8.
TypedAttr act::tile::numberOfType(Attribute number, Type type) {
  auto integer = dyn_cast<IntegerAttr>(number);
  if (auto real = dyn_cast<FloatType>(type)) {
    APFloat value = integer ? APFloat(integer.getValue().signedRoundToDouble())
                            : cast<FloatAttr>(number).getValue();
    bool nan = value.isNaN(), infinite = value.isInfinity(), inexact;
    value.convert(real.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &inexact);
    if (value.isNaN() != nan || value.isInfinity() != infinite)
      return {};
    return FloatAttr::get(type, value);
  }
  if (!integer || !isa<IntegerType>(type))
    return {};
  unsigned width = type.getIntOrFloatBitWidth();
  APInt value = integer.getValue();
  if (!value.isSignedIntN(width) && !value.isIntN(width))
    return {};
  return IntegerAttr::get(type, value.sextOrTrunc(width));
}

// A literal cannot be infinite, but the padding of a maximum is. So infinities
// and NaN are keywords.
void act::tile::printNumber(OpAsmPrinter &p, TypedAttr number) {
  auto real = dyn_cast<FloatAttr>(number);
  if (!real || real.getValue().isFinite())
    return p.printAttributeWithoutType(number);
  if (real.getValue().isNaN())
    p << "nan";
  else
    p << (real.getValue().isNegative() ? "neg_inf" : "inf");
}

// The block type of an access, where it is not written.
static ParseResult inferBlock(OpAsmParser &p, OperationState &op, ViewType view,
                              const BlockText &block, Type &type) {
  std::string fault = accessFault(view, block.types, block.extents);
  if (!fault.empty())
    return emitFault(p, op.name.getStringRef(), fault);
  type = blockType(view, block.extents);
  return success();
}

// tile.load %v[...] pad = neg_inf : view -> type
ParseResult LoadOp::parse(OpAsmParser &p, OperationState &result) {
  OpAsmParser::UnresolvedOperand view;
  BlockText block;
  Attribute pad;
  SMLoc padLoc, typeLoc;
  Type viewType, blockResult;
  if (p.parseOperand(view) || parseBlock(p, block))
    return failure();
  if (succeeded(p.parseOptionalKeyword("pad"))) {
    if (p.parseEqual() ||
        (padLoc = p.getCurrentLocation(), parseNumber(p, pad)))
      return failure();
  }
  if (p.parseOptionalAttrDict(result.attributes) || p.parseColon() ||
      (typeLoc = p.getCurrentLocation(), p.parseType(viewType)))
    return failure();
  auto type = dyn_cast<ViewType>(viewType);
  if (!type)
    return p.emitError(typeLoc) << "expected a view, got " << viewType;
  if (succeeded(p.parseOptionalArrow())
          ? p.parseType(blockResult)
          : inferBlock(p, result, type, block, blockResult))
    return failure();
  auto &properties = result.getOrAddProperties<Properties>();
  properties.extents = p.getBuilder().getDenseI64ArrayAttr(block.extents);
  block.addNames(result);
  if (pad) {
    properties.pad = numberOfType(pad, type.getElementType());
    if (!properties.pad)
      return p.emitError(padLoc)
             << "pad is not a number of type " << type.getElementType();
  }
  result.addTypes(blockResult);
  return failure(p.resolveOperand(view, type, result.operands) ||
                 p.resolveOperands(block.indices, block.types, p.getNameLoc(),
                                   result.operands));
}

void LoadOp::print(OpAsmPrinter &p) {
  p << ' ';
  printBlock(p, *this);
  if (getPadAttr()) {
    p << " pad = ";
    printNumber(p, getPadAttr());
  }
  p.printOptionalAttrDict((*this)->getAttrs(),
                          {"extents", "pad", extentNamesName});
  p << " : " << getView().getType();
  if (getResult().getType() != blockType(getView().getType(), getExtents()))
    p << " -> " << getResult().getType();
}

// tile.store %value, %v[...] : view, or `: type, view` for a value with an
// encoding.
template <typename Op>
static ParseResult parseWrite(OpAsmParser &p, OperationState &result) {
  OpAsmParser::UnresolvedOperand value, view;
  BlockText block;
  SMLoc typeLoc;
  Type first, viewType;
  if (p.parseOperand(value) || p.parseComma() || p.parseOperand(view) ||
      parseBlock(p, block) || p.parseOptionalAttrDict(result.attributes) ||
      p.parseColon() || (typeLoc = p.getCurrentLocation(), p.parseType(first)))
    return failure();
  viewType = first;
  bool written = succeeded(p.parseOptionalComma());
  if (written && (typeLoc = p.getCurrentLocation(), p.parseType(viewType)))
    return failure();
  auto type = dyn_cast<ViewType>(viewType);
  if (!type)
    return p.emitError(typeLoc) << "expected a view, got " << viewType;
  result.getOrAddProperties<typename Op::Properties>().extents =
      p.getBuilder().getDenseI64ArrayAttr(block.extents);
  block.addNames(result);
  Type valueType = first;
  if (!written && inferBlock(p, result, type, block, valueType))
    return failure();
  return failure(p.resolveOperand(value, valueType, result.operands) ||
                 p.resolveOperand(view, type, result.operands) ||
                 p.resolveOperands(block.indices, block.types, p.getNameLoc(),
                                   result.operands));
}

template <typename Op> static void printWrite(OpAsmPrinter &p, Op op) {
  p << ' ' << op.getValue() << ", ";
  printBlock(p, op);
  p.printOptionalAttrDict(op->getAttrs(), {"extents", extentNamesName});
  p << " : ";
  if (op.getValue().getType() !=
      blockType(op.getView().getType(), op.getExtents()))
    p << op.getValue().getType() << ", ";
  p << op.getView().getType();
}

ParseResult StoreOp::parse(OpAsmParser &p, OperationState &result) {
  return parseWrite<StoreOp>(p, result);
}
void StoreOp::print(OpAsmPrinter &p) { printWrite(p, *this); }

ParseResult AtomicAddOp::parse(OpAsmParser &p, OperationState &result) {
  return parseWrite<AtomicAddOp>(p, result);
}
void AtomicAddOp::print(OpAsmPrinter &p) { printWrite(p, *this); }

// tile.copy_async %v[...] to %s[%slot] : view, shared
ParseResult StoreTensorOp::parse(OpAsmParser &p, OperationState &result) {
  OpAsmParser::UnresolvedOperand value, view, shared;
  BlockText block;
  Type valueType, viewType, sharedType;
  if (p.parseOperand(value) || p.parseComma() || p.parseOperand(view) ||
      parseBlock(p, block) || p.parseKeyword("by") || p.parseOperand(shared) ||
      p.parseOptionalAttrDict(result.attributes) ||
      p.parseColonType(valueType) || p.parseComma() || p.parseType(viewType) ||
      p.parseComma() || p.parseType(sharedType))
    return failure();
  auto &properties = result.getOrAddProperties<Properties>();
  properties.extents = p.getBuilder().getDenseI64ArrayAttr(block.extents);
  block.addNames(result);
  return failure(p.resolveOperand(value, valueType, result.operands) ||
                 p.resolveOperand(view, viewType, result.operands) ||
                 p.resolveOperands(block.indices, block.types, p.getNameLoc(),
                                   result.operands) ||
                 p.resolveOperand(shared, sharedType, result.operands));
}
void StoreTensorOp::print(OpAsmPrinter &p) {
  p << ' ' << getValue() << ", ";
  printBlock(p, *this);
  p << " by " << getShared();
  p.printOptionalAttrDict((*this)->getAttrs(), {"extents", extentNamesName});
  p << " : " << getValue().getType() << ", " << getView().getType() << ", "
    << getShared().getType();
}

// tile.reduce_bulk %s[%slot] to %v[...] : shared, view
ParseResult ReduceBulkOp::parse(OpAsmParser &p, OperationState &result) {
  OpAsmParser::UnresolvedOperand view, shared;
  SmallVector<OpAsmParser::UnresolvedOperand> slot;
  BlockText block;
  Type viewType, sharedType;
  if (p.parseOperand(shared) ||
      p.parseOperandList(slot, OpAsmParser::Delimiter::OptionalSquare) ||
      p.parseKeyword("to") || p.parseOperand(view) || parseBlock(p, block) ||
      p.parseOptionalAttrDict(result.attributes) ||
      p.parseColonType(sharedType) || p.parseComma() || p.parseType(viewType))
    return failure();
  auto &properties = result.getOrAddProperties<Properties>();
  properties.extents = p.getBuilder().getDenseI64ArrayAttr(block.extents);
  block.addNames(result);
  properties.operandSegmentSizes = {1, int32_t(slot.size()), 1,
                                    int32_t(block.indices.size())};
  return failure(
      p.resolveOperand(shared, sharedType, result.operands) ||
      p.resolveOperands(slot, p.getBuilder().getIndexType(), result.operands) ||
      p.resolveOperand(view, viewType, result.operands) ||
      p.resolveOperands(block.indices, block.types, p.getNameLoc(),
                        result.operands));
}
void ReduceBulkOp::print(OpAsmPrinter &p) {
  p << ' ' << getShared();
  if (!getSlot().empty())
    p << '[' << getSlot() << ']';
  p << " to ";
  printBlock(p, *this);
  p.printOptionalAttrDict((*this)->getAttrs(),
                          {"extents", extentNamesName, "operandSegmentSizes"});
  p << " : " << getShared().getType() << ", " << getView().getType();
}

ParseResult CopyTensorOp::parse(OpAsmParser &p, OperationState &result) {
  OpAsmParser::UnresolvedOperand view, shared, mbarriers, mbarrier;
  SmallVector<OpAsmParser::UnresolvedOperand> slot;
  BlockText block;
  Type viewType, sharedType, mbarriersType;
  if (p.parseOperand(view) || parseBlock(p, block) || p.parseKeyword("to") ||
      p.parseOperand(shared) ||
      p.parseOperandList(slot, OpAsmParser::Delimiter::OptionalSquare) ||
      p.parseKeyword("signals") || p.parseOperand(mbarriers) ||
      p.parseLSquare() || p.parseOperand(mbarrier) || p.parseRSquare())
    return failure();
  const bool isMulticast = succeeded(p.parseOptionalKeyword("multicast"));
  if (p.parseOptionalAttrDict(result.attributes) ||
      p.parseColonType(viewType) || p.parseComma() || p.parseType(sharedType) ||
      p.parseComma() || p.parseType(mbarriersType))
    return failure();
  auto &properties = result.getOrAddProperties<Properties>();
  if (isMulticast)
    properties.multicast = p.getBuilder().getUnitAttr();
  properties.extents = p.getBuilder().getDenseI64ArrayAttr(block.extents);
  block.addNames(result);
  properties.operandSegmentSizes = {
      1, int32_t(block.indices.size()), 1, int32_t(slot.size()), 1, 1};
  Type index = p.getBuilder().getIndexType();
  return failure(p.resolveOperand(view, viewType, result.operands) ||
                 p.resolveOperands(block.indices, block.types, p.getNameLoc(),
                                   result.operands) ||
                 p.resolveOperand(shared, sharedType, result.operands) ||
                 p.resolveOperands(slot, index, result.operands) ||
                 p.resolveOperand(mbarriers, mbarriersType, result.operands) ||
                 p.resolveOperand(mbarrier, index, result.operands));
}
void CopyTensorOp::print(OpAsmPrinter &p) {
  p << ' ';
  printBlock(p, *this);
  p << " to " << getShared();
  if (!getSlot().empty())
    p << '[' << getSlot() << ']';
  p << " signals " << getMbarriers() << '[' << getMbarrier() << ']';
  if (getMulticast())
    p << " multicast";
  p.printOptionalAttrDict(
      (*this)->getAttrs(),
      {"extents", "multicast", "operandSegmentSizes", extentNamesName});
  p << " : " << getView().getType() << ", " << getShared().getType() << ", "
    << getMbarriers().getType();
}

ParseResult CopyAsyncOp::parse(OpAsmParser &p, OperationState &result) {
  OpAsmParser::UnresolvedOperand view, shared;
  SmallVector<OpAsmParser::UnresolvedOperand> slot;
  BlockText block;
  Type viewType, sharedType;
  if (p.parseOperand(view) || parseBlock(p, block) || p.parseKeyword("to") ||
      p.parseOperand(shared) ||
      p.parseOperandList(slot, OpAsmParser::Delimiter::OptionalSquare) ||
      p.parseOptionalAttrDict(result.attributes) ||
      p.parseColonType(viewType) || p.parseComma() || p.parseType(sharedType))
    return failure();
  auto &properties = result.getOrAddProperties<Properties>();
  properties.extents = p.getBuilder().getDenseI64ArrayAttr(block.extents);
  block.addNames(result);
  properties.operandSegmentSizes = {1, int32_t(block.indices.size()), 1,
                                    int32_t(slot.size())};
  return failure(
      p.resolveOperand(view, viewType, result.operands) ||
      p.resolveOperands(block.indices, block.types, p.getNameLoc(),
                        result.operands) ||
      p.resolveOperand(shared, sharedType, result.operands) ||
      p.resolveOperands(slot, p.getBuilder().getIndexType(), result.operands));
}

void CopyAsyncOp::print(OpAsmPrinter &p) {
  p << ' ';
  printBlock(p, *this);
  p << " to " << getShared();
  if (!getSlot().empty())
    p << '[' << getSlot() << ']';
  p.printOptionalAttrDict((*this)->getAttrs(),
                          {"extents", "operandSegmentSizes", extentNamesName});
  p << " : " << getView().getType() << ", " << getShared().getType();
}
