// SPDX-License-Identifier: Apache-2.0
// The generated op classes, hand-written assembly, and builders.
#include "dialects/act/Types.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace act;

// Numbers are printed with seven digits if those are exact, otherwise with as
// many as needed: MLIR's own printer turns 1e-6 into 9.9999999999999995E-7.
static ParseResult parseNumber(OpAsmParser &p, FloatAttr &number) {
  return p.parseAttribute(number, p.getBuilder().getF64Type());
}

static void printNumber(OpAsmPrinter &p, double number) {
  char text[32];
  for (int digits = 6; digits < 18; ++digits) {
    snprintf(text, sizeof text, "%.*e", digits, number);
    if (strtod(text, nullptr) == number)
      break;
  }
  p << text;
}

static void printNumber(OpAsmPrinter &p, Operation *, FloatAttr number) {
  if (number.getValue().isFinite())
    printNumber(p, number.getValueAsDouble());
  else
    p.printAttributeWithoutType(number);
}

static ParseResult parseNumbers(OpAsmParser &p, DenseF64ArrayAttr &numbers) {
  SmallVector<double> values;
  auto parseOne = [&]() -> ParseResult {
    FloatAttr number;
    if (parseNumber(p, number))
      return failure();
    values.push_back(number.getValueAsDouble());
    return success();
  };
  if (p.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, parseOne))
    return failure();
  numbers = p.getBuilder().getDenseF64ArrayAttr(values);
  return success();
}

static void printNumbers(OpAsmPrinter &p, Operation *op,
                         DenseF64ArrayAttr numbers) {
  p << '[';
  llvm::interleaveComma(numbers.asArrayRef(), p, [&](double number) {
    printNumber(p, op, Builder(op).getF64FloatAttr(number));
  });
  p << ']';
}

// `L = 28`, or just `28` if formulas show the number.
static ParseResult parseCount(OpAsmParser &p, StringAttr &letter,
                              IntegerAttr &count) {
  StringRef name;
  int64_t n = 0;
  if (succeeded(p.parseOptionalKeyword(&name)) && p.parseEqual())
    return failure();
  if (p.parseInteger(n))
    return failure();
  letter = p.getBuilder().getStringAttr(name);
  count = p.getBuilder().getI64IntegerAttr(n);
  return success();
}

static void printCount(OpAsmPrinter &p, Operation *, StringAttr letter,
                       IntegerAttr count) {
  if (!letter.getValue().empty())
    p << letter.getValue() << " = ";
  p << count.getInt();
}

// The contents of `init(...)`: `normal, 2.000000e-02` or `zeros`.
static ParseResult parseInit(OpAsmParser &p, InitKindAttr &init,
                             FloatAttr &std) {
  std = p.getBuilder().getF64FloatAttr(0.02);
  StringRef word;
  SMLoc loc = p.getCurrentLocation();
  if (p.parseKeyword(&word))
    return failure();
  auto kind = symbolizeInitKind(word);
  if (!kind)
    return p.emitError(loc) << "expected normal, zeros or ones, got " << word;
  init = InitKindAttr::get(p.getContext(), *kind);
  return failure(succeeded(p.parseOptionalComma()) && parseNumber(p, std));
}

static void printInit(OpAsmPrinter &p, Operation *op, InitKindAttr init,
                      FloatAttr std) {
  p << stringifyInitKind(init.getValue());
  if (std.getValueAsDouble() != 0.02) {
    p << ", ";
    printNumber(p, op, std);
  }
}

static ParseResult parseConstantValue(OpAsmParser &p, ElementsAttr &value,
                                      Type &type) {
  SMLoc loc = p.getCurrentLocation();
  if (p.parseAttribute(value))
    return failure();
  type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return p.emitError(loc)
           << "expected a constant of tensor type, got " << value.getType();
  return success();
}

static void printConstantValue(OpAsmPrinter &p, Operation *, ElementsAttr value,
                               Type) {
  p.printAttribute(value);
}

static ParseResult parseKernelOperands(OpAsmParser &p, ArrayAttr &operands) {
  SmallVector<Attribute> list;
  auto one = [&]() -> ParseResult {
    auto operand = KernelOperandAttr::parseOperand(p);
    if (failed(operand))
      return failure();
    list.push_back(*operand);
    return success();
  };
  if (p.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, one))
    return failure();
  operands = p.getBuilder().getArrayAttr(list);
  return success();
}

static void printKernelOperands(OpAsmPrinter &p, Operation *,
                                ArrayAttr operands) {
  p << '(';
  llvm::interleaveComma(
      operands.getAsRange<KernelOperandAttr>(), p,
      [&](KernelOperandAttr operand) { operand.printOperand(p.getStream()); });
  p << ')';
}

#define GET_OP_CLASSES
#include "dialects/act/Ops.cpp.inc"

// act.group "name" (%a = %x : type, ...) workspace(types) inplace [0, -1]
//     -> types attributes {...} { body } launches { launches }
ParseResult GroupOp::parse(OpAsmParser &p, OperationState &result) {
  Builder &b = p.getBuilder();
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SMLoc loc = p.getCurrentLocation();
  auto &properties = result.getOrAddProperties<Properties>();
  std::string name;
  if (p.parseString(&name))
    return failure();
  properties.name = b.getStringAttr(name);
  auto binding = [&]() -> ParseResult {
    return failure(p.parseArgument(arguments.emplace_back()) ||
                   p.parseEqual() || p.parseOperand(operands.emplace_back()) ||
                   p.parseColonType(arguments.back().type));
  };
  if (p.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, binding))
    return failure();
  SmallVector<Type> workspace;
  if (succeeded(p.parseOptionalKeyword("workspace")) &&
      (p.parseLParen() || p.parseTypeList(workspace) || p.parseRParen()))
    return failure();
  properties.workspace = b.getTypeArrayAttr(workspace);
  properties.inplace = b.getDenseI64ArrayAttr({});
  if (succeeded(p.parseOptionalKeyword("inplace"))) {
    properties.inplace = dyn_cast_or_null<DenseI64ArrayAttr>(
        DenseI64ArrayAttr::parse(p, Type()));
    if (!properties.inplace)
      return failure();
  }
  SMLoc attributesLoc;
  if (p.parseOptionalArrowTypeList(result.types) ||
      (attributesLoc = p.getCurrentLocation(),
       p.parseOptionalAttrDictWithKeyword(result.attributes)))
    return failure();
  for (StringRef inherent : {"name", "workspace", "inplace"})
    if (result.attributes.get(inherent))
      return p.emitError(attributesLoc)
             << "'" << inherent << "' is written before the results";
  SmallVector<Type> types;
  for (const OpAsmParser::Argument &argument : arguments)
    types.push_back(argument.type);
  if (p.resolveOperands(operands, types, loc, result.operands))
    return failure();
  // Values inside are numbered anew, as the region is isolated from above.
  if (p.parseRegion(*result.addRegion(), arguments,
                    /*enableNameShadowing=*/true))
    return failure();
  Region *launches = result.addRegion();
  return succeeded(p.parseOptionalKeyword("launches"))
             ? p.parseRegion(*launches)
             : ParseResult(success());
}

void GroupOp::print(OpAsmPrinter &p) {
  p << ' ';
  p.printAttributeWithoutType(getNameAttr());
  p << " (";
  llvm::interleaveComma(llvm::zip_equal(getBody().getArguments(), getInputs()),
                        p, [&](auto pair) {
                          auto [argument, input] = pair;
                          p.printRegionArgument(argument, /*argAttrs=*/{},
                                                /*omitType=*/true);
                          p << " = " << input << " : " << input.getType();
                        });
  p << ")";
  if (!getWorkspace().empty()) {
    p << " workspace(";
    llvm::interleaveComma(getWorkspaceTypes(), p);
    p << ")";
  }
  if (!getInplace().empty()) {
    p << " inplace ";
    p.printStrippedAttrOrType(getInplaceAttr());
  }
  p.printOptionalArrowTypeList(getResultTypes());
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                     {"name", "workspace", "inplace"});
  p << ' ';
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  if (!getLaunches().empty()) {
    p << " launches ";
    p.printRegion(getLaunches());
  }
}

void ConstantOp::build(OpBuilder &b, OperationState &state,
                       RankedTensorType type, double splat) {
  Type element = type.getElementType();
  Attribute value = isa<FloatType>(element)
                        ? Attribute(b.getFloatAttr(element, splat))
                        : Attribute(b.getIntegerAttr(element, int64_t(splat)));
  build(b, state, type,
        cast<ElementsAttr>(DenseElementsAttr::get(type, value)));
}

void TransposeOp::build(OpBuilder &b, OperationState &state, Value input,
                        ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(input.getType());
  auto names = dimNames(type);
  SmallVector<int64_t> shape;
  SmallVector<std::string> permuted;
  for (int64_t p : permutation) {
    shape.push_back(type.getDimSize(p));
    permuted.push_back(names[p]);
  }
  build(b, state,
        namedTensor(shape, type.getElementType(), permuted, b.getContext()),
        input, permutation);
}

void LinearOp::build(OpBuilder &b, OperationState &state, Type result,
                     Value input, Value weight, Value bias) {
  build(b, state, result, input, weight, bias, /*lora_a=*/Value(),
        /*lora_b=*/Value(), /*lora_scale=*/FloatAttr(), /*in_out=*/UnitAttr());
}
