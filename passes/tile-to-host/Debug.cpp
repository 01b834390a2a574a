// SPDX-License-Identifier: Apache-2.0
//
// Random bits, assert and print.
#include "dialects/act/Philox.h"
#include "dialects/tile/Float8.h"
#include "passes/tile-to-host/HostBuilder.h"
#include "passes/tile-to-host/HostContext.h"

using namespace mlir;
using namespace act::tile;

/// The numbers that act.dropout draws, by the same code.
static void lowerPhilox(PhiloxOp op, HostBuilder &h) {
  act::PhiloxKey key =
      act::preparePhilox(h.b, h.loc, h.scalar(op.getSeed()),
                         h.scalar(op.getStep()), h.scalar(op.getSite()));
  auto word = [&](ValueRange at) {
    act::Scalars scalars(h.b, h.loc, h.b.getF32Type());
    return act::philoxWord(scalars, key, h.element(op.getIndex(), at));
  };
  if (!HostBuilder::isBlock(op.getResult())) {
    h.scalars.map(op.getResult(), word({}));
    return;
  }
  Value memory = h.make(op.getResult());
  h.forEach(cast<ShapedType>(op.getResult().getType()).getShape(),
            [&](ValueRange at) { h.write(word(at), memory, at); });
}

/// A check for each element; the first that fails is reported.
static void lowerAssert(AssertOp op, HostBuilder &h) {
  Value condition = op.getCondition();
  ArrayRef<int64_t> shape;
  if (auto type = dyn_cast<RankedTensorType>(condition.getType()))
    shape = type.getShape();
  h.forEach(shape, [&](ValueRange at) {
    Value wrong = arith::XOrIOp::create(
        h.b, h.loc, h.element(condition, at),
        arith::ConstantIntOp::create(h.b, h.loc, h.b.getI1Type(), 1));
    h.check(wrong, "an assertion failed: " + op.getMessage());
  });
}

/// An fprintf argument and its conversion specifier.
static std::pair<Value, StringRef> printed(Value v, HostBuilder &h) {
  OpBuilder &b = h.b;
  Type type = v.getType();
  if (isa<FloatType>(type)) {
    if (isFloat8(type))
      v = createExtFloat8(b, h.loc, v);
    if (!type.isF64())
      v = arith::ExtFOp::create(b, h.loc, b.getF64Type(), v);
    return {v, "%f"};
  }
  if (type.isIndex())
    return {arith::IndexCastOp::create(b, h.loc, b.getI64Type(), v), "%lld"};
  if (type.isInteger(64))
    return {v, "%lld"};
  if (type.isInteger(1))
    return {arith::ExtUIOp::create(b, h.loc, b.getI64Type(), v), "%lld"};
  return {arith::ExtSIOp::create(b, h.loc, b.getI64Type(), v), "%lld"};
}

/// The address of a zero-terminated string in the module.
static Value textOf(StringRef text, HostBuilder &h) {
  auto function = h.b.getInsertionBlock()->getParentOp();
  while (!isa<func::FuncOp>(function))
    function = function->getParentOp();
  auto module = cast<ModuleOp>(function->getParentOp());
  int64_t n = 0;
  std::string name;
  do {
    name = "tile.text." + std::to_string(n++);
  } while (module.lookupSymbol(name));
  OpBuilder b(module.getBodyRegion());
  std::string bytes = text.str() + '\0';
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
  LLVM::GlobalOp::create(b, h.loc, type, /*isConstant=*/true,
                         LLVM::Linkage::Internal, name, b.getStringAttr(bytes));
  return LLVM::AddressOfOp::create(
      h.b, h.loc, LLVM::LLVMPointerType::get(h.b.getContext()), name);
}

static LLVM::LLVMFunctionType fprintfType(OpBuilder &b) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  return LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer, pointer},
                                     /*isVarArg=*/true);
}

/// The file is the caller's (HostContext.h), so output goes where act-run wants
/// it.
static void declarePrint(HostBuilder &h) {
  Operation *function = h.b.getInsertionBlock()->getParentOp();
  while (!isa<func::FuncOp>(function))
    function = function->getParentOp();
  auto module = cast<ModuleOp>(function->getParentOp());
  if (module.lookupSymbol("fprintf"))
    return;
  OpBuilder b(module.getBodyRegion());
  LLVM::LLVMFuncOp::create(b, h.loc, "fprintf", fprintfType(b));
}

/// Prints a line per element.
static void lowerPrint(PrintOp op, HostBuilder &h) {
  ArrayRef<int64_t> shape;
  for (Value v : op.getValues())
    if (auto type = dyn_cast<RankedTensorType>(v.getType()))
      shape = type.getShape();
  declarePrint(h);
  auto pointer = LLVM::LLVMPointerType::get(h.b.getContext());
  h.forEach(shape, [&](ValueRange at) {
    Value file = LLVM::IntToPtrOp::create(h.b, h.loc, pointer,
                                          h.word(hostcontext::file));
    SmallVector<Value> operands{file, Value()};
    std::string format;
    auto literal = [&](StringRef text) {
      for (char c : text)
        format += c == '%' ? std::string("%%") : std::string(1, c);
    };
    StringRef rest = op.getFormat();
    for (Value v : op.getValues()) {
      auto [value, word] = printed(h.element(v, at), h);
      operands.push_back(value);
      auto [text, after] = rest.split("{}");
      literal(text);
      format += word;
      rest = after;
    }
    literal(rest);
    operands[1] = textOf(format + "\n", h);
    LLVM::CallOp::create(h.b, h.loc, fprintfType(h.b), "fprintf", operands);
  });
}

LogicalResult act::tile::lowerDebug(Operation *op, HostBuilder &h) {
  if (auto philox = dyn_cast<PhiloxOp>(op))
    lowerPhilox(philox, h);
  else if (auto check = dyn_cast<AssertOp>(op))
    lowerAssert(check, h);
  else
    lowerPrint(cast<PrintOp>(op), h);
  return success();
}
