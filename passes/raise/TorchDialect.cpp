// SPDX-License-Identifier: Apache-2.0
//
// The table of the torch dialect's ops, which are PyTorch's ATen operators
// (pytorch.org/docs/stable/torch.compiler_ir.html), by what each means.
// Operands that are numbers, lists or words are constants.
#include "passes/raise/TorchDialect.h"
#include "mlir/IR/Verifier.h"
#include "passes/raise/TorchLowering.h"

using namespace mlir;
using namespace act;
using namespace act::torch;

/// `vtensor<[2,3],f32>`; null for what is no tensor of static shape.
static RankedTensorType tensorTypeOf(Type type) {
  auto opaque = dyn_cast<OpaqueType>(type);
  if (!opaque || opaque.getDialectNamespace() != "torch")
    return {};
  StringRef text = opaque.getTypeData();
  if (!text.consume_front("vtensor<[") || !text.consume_back(">"))
    return {};
  auto [list, element] = text.split("],");
  SmallVector<int64_t> shape;
  SmallVector<StringRef> sizes;
  list.split(sizes, ',', -1, /*KeepEmpty=*/false);
  for (StringRef size : sizes) {
    int64_t n;
    if (size.trim().getAsInteger(10, n) || n < 0)
      return {};
    shape.push_back(n);
  }
  MLIRContext *context = type.getContext();
  Type of = llvm::StringSwitch<Type>(element)
                .Case("f32", Float32Type::get(context))
                .Case("f64", Float64Type::get(context))
                .Case("f16", Float16Type::get(context))
                .Case("bf16", BFloat16Type::get(context))
                .Case("si64", IntegerType::get(context, 64))
                .Case("si32", IntegerType::get(context, 32))
                .Case("i1", IntegerType::get(context, 1))
                .Default(Type());
  return of ? RankedTensorType::get(shape, of) : RankedTensorType();
}

Value Lowering::inverted() {
  Value x = tensor(0);
  if (!x || !element().isInteger(1))
    return {};
  return elementwise(x, [&](OpBuilder &inner, ValueRange v) -> Value {
    Value one = arith::ConstantOp::create(inner, loc, inner.getBoolAttr(true));
    return arith::XOrIOp::create(inner, loc,
                                 castScalar(inner, loc, v[0], element()), one);
  });
}

Value Lowering::chosen() {
  if (!tensor(0))
    return {};
  SmallVector<Value> operands{tensor(0)};
  for (unsigned i : {1u, 2u}) {
    if (tensor(i))
      operands.push_back(tensor(i));
    else if (!number(i))
      return {};
  }
  return elementwise(operands, [&](OpBuilder &inner, ValueRange v) -> Value {
    unsigned next = 1;
    Value sides[2];
    for (unsigned i : {1u, 2u})
      sides[i - 1] = tensor(i) ? castScalar(inner, loc, v[next++], element())
                               : scalar(inner, element(), *number(i));
    return arith::SelectOp::create(inner, loc, v[0], sides[0], sides[1]);
  });
}

// As torch-mlir lowers it: at 0, the derivative is 0.
Value Lowering::relu() {
  Value x = tensor(0);
  if (!x || !isa<FloatType>(element()))
    return {};
  return elementwise(x, [&](OpBuilder &inner, ValueRange v) -> Value {
    Value zero = scalar(inner, element(), 0);
    Value isAbove = arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::UGT,
                                          v[0], zero);
    return arith::SelectOp::create(inner, loc, isAbove, v[0], zero);
  });
}

Value Lowering::sigmoid() {
  Value x = tensor(0);
  if (!x || !isa<FloatType>(element()))
    return {};
  return elementwise(x, [&](OpBuilder &inner, ValueRange v) -> Value {
    Value one = scalar(inner, element(), 1);
    Value e = math::ExpOp::create(inner, loc,
                                  arith::NegFOp::create(inner, loc, v[0]));
    return arith::DivFOp::create(inner, loc, one,
                                 arith::AddFOp::create(inner, loc, e, one));
  });
}

Value Lowering::silu() {
  Value x = tensor(0);
  return x && isActType(type()) ? SiluOp::create(*b, loc, type(), x).getResult()
                                : Value();
}

Value Lowering::gelu() {
  Value x = tensor(0);
  auto found =
      count() > 1 ? constants.find(op->getOperand(1)) : constants.end();
  if (!x || !isActType(type()))
    return {};
  const std::string how =
      found == constants.end() ? "none" : found->second.word;
  if (how == "tanh")
    return GeluNewOp::create(*b, loc, type(), x);
  return how == "none" ? GeluOp::create(*b, loc, type(), x).getResult()
                       : Value();
}

const llvm::StringMap<Lowering::Rule> &Lowering::table() {
  using F = Lowering;
  using FP = arith::CmpFPredicate;
  using IP = arith::CmpIPredicate;
  static const auto *all = new llvm::StringMap<Rule>{
      {"_reshape_alias", &F::reshaped},
      {"_softmax", &F::softmax},
      {"_unsafe_view", &F::reshaped},
      {"abs", &F::unary<math::AbsFOp>},
      {"add.Scalar", &F::withFactor<arith::AddFOp, arith::AddIOp>},
      {"add.Tensor", &F::withFactor<arith::AddFOp, arith::AddIOp>},
      {"addmm", &F::multiplied},
      {"alias", &F::same},
      {"all.dim", &F::allAlong},
      {"amax", &F::greatest},
      {"arange", &F::counted},
      {"arange.start", &F::counted},
      {"arange.start_step", &F::counted},
      {"bitwise_and.Tensor", &F::logical<arith::AndIOp>},
      {"bitwise_not", &F::inverted},
      {"bitwise_or.Tensor", &F::logical<arith::OrIOp>},
      {"bmm", &F::product},
      {"broadcast_to", &F::repeated},
      {"cat", &F::joined},
      {"ceil", &F::unary<math::CeilOp>},
      {"clone", &F::same},
      {"constant_pad_nd", &F::surrounded},
      {"contiguous", &F::same},
      {"convolution", &F::convolved},
      {"cos", &F::unary<math::CosOp>},
      {"detach", &F::same},
      {"div.Scalar", &F::divided},
      {"div.Tensor", &F::divided},
      {"embedding", &F::embedding},
      {"empty.memory_format", &F::full<0>},
      {"eq.Scalar", &F::compared<FP::OEQ, IP::eq>},
      {"eq.Tensor", &F::compared<FP::OEQ, IP::eq>},
      {"erf", &F::unary<math::ErfOp>},
      {"exp", &F::unary<math::ExpOp>},
      {"expand", &F::repeated},
      {"expm1", &F::unary<math::ExpM1Op>},
      {"flatten.using_ints", &F::reshaped},
      {"floor", &F::unary<math::FloorOp>},
      {"full", &F::fullOf},
      {"full_like", &F::fullOf},
      {"gather", &F::gathered},
      {"ge.Scalar", &F::compared<FP::OGE, IP::sge>},
      {"ge.Tensor", &F::compared<FP::OGE, IP::sge>},
      {"gelu", &F::gelu},
      {"gt.Scalar", &F::compared<FP::OGT, IP::sgt>},
      {"gt.Tensor", &F::compared<FP::OGT, IP::sgt>},
      {"layer_norm", &F::layerNorm},
      {"le.Scalar", &F::compared<FP::OLE, IP::sle>},
      {"le.Tensor", &F::compared<FP::OLE, IP::sle>},
      {"linear", &F::linear},
      {"log", &F::unary<math::LogOp>},
      {"log1p", &F::unary<math::Log1pOp>},
      {"logical_and", &F::logical<arith::AndIOp>},
      {"logical_not", &F::inverted},
      {"logical_or", &F::logical<arith::OrIOp>},
      {"lt.Scalar", &F::compared<FP::OLT, IP::slt>},
      {"lt.Tensor", &F::compared<FP::OLT, IP::slt>},
      {"matmul", &F::product},
      {"max.dim", &F::greatestAlong},
      {"max_pool2d", &F::pooled},
      {"maximum", &F::binary<arith::MaximumFOp, arith::MaxSIOp>},
      {"mean", &F::mean},
      {"mean.dim", &F::mean},
      {"minimum", &F::binary<arith::MinimumFOp, arith::MinSIOp>},
      {"mm", &F::product},
      {"mul.Scalar", &F::binary<arith::MulFOp, arith::MulIOp>},
      {"mul.Tensor", &F::binary<arith::MulFOp, arith::MulIOp>},
      {"native_layer_norm", &F::layerNorm},
      {"ne.Scalar", &F::compared<FP::UNE, IP::ne>},
      {"ne.Tensor", &F::compared<FP::UNE, IP::ne>},
      {"neg", &F::unary<arith::NegFOp>},
      {"ones", &F::full<1>},
      {"ones_like", &F::full<1>},
      {"permute", &F::permuted},
      {"pow.Scalar", &F::power},
      {"pow.Tensor_Scalar", &F::power},
      {"pow.Tensor_Tensor", &F::power},
      {"relu", &F::relu},
      {"reshape", &F::reshaped},
      {"rsqrt", &F::unary<math::RsqrtOp>},
      {"scaled_dot_product_attention", &F::attention},
      {"select.int", &F::selected},
      {"sigmoid", &F::sigmoid},
      {"silu", &F::silu},
      {"sin", &F::unary<math::SinOp>},
      {"slice.Tensor", &F::sliced},
      {"softmax.int", &F::softmax},
      {"sqrt", &F::unary<math::SqrtOp>},
      {"squeeze", &F::reshaped},
      {"squeeze.dim", &F::reshaped},
      {"sub.Scalar", &F::withFactor<arith::SubFOp, arith::SubIOp>},
      {"sub.Tensor", &F::withFactor<arith::SubFOp, arith::SubIOp>},
      {"sum", &F::summedAll},
      {"sum.dim_IntList", &F::summed},
      {"t", &F::turned},
      {"tanh", &F::unary<math::TanhOp>},
      {"to.dtype", &F::converted},
      {"transpose.int", &F::swapped},
      {"unsqueeze", &F::reshaped},
      {"view", &F::reshaped},
      {"where.ScalarOther", &F::chosen},
      {"where.ScalarSelf", &F::chosen},
      {"where.self", &F::chosen},
      {"zeros", &F::full<0>},
      {"zeros_like", &F::full<0>},
  };
  return *all;
}

/// Whether the op is a constant or a list, which then is known.
bool Lowering::constant() {
  StringRef name = op->getName().getStringRef();
  if (name == "torch.prim.ListConstruct") {
    lists[op->getResult(0)] = llvm::to_vector(op->getOperands());
    return true;
  }
  if (!name.consume_front("torch.constant.") || op->getNumResults() != 1)
    return false;
  auto properties =
      dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
  Attribute value = properties ? properties.get("value") : op->getAttr("value");
  Constant own;
  if (auto f = dyn_cast_or_null<FloatAttr>(value))
    own.number = f.getValueAsDouble();
  else if (auto i = dyn_cast_or_null<IntegerAttr>(value))
    own.number = i.getType().isInteger(1) ? double(!i.getValue().isZero())
                                          : double(i.getValue().getSExtValue());
  else if (auto s = dyn_cast_or_null<StringAttr>(value))
    own.word = s.str();
  constants[op->getResult(0)] = own;
  return true;
}

Value Lowering::run() {
  StringRef name = op->getName().getStringRef();
  if (name == "torch.vtensor.literal")
    return literal();
  if (!name.consume_front("torch.aten."))
    return {};
  auto found = table().find(name);
  return found == table().end() ? Value() : (this->*found->second)();
}

LogicalResult Lowering::lower() {
  Block &body = function.getBody().front();
  SmallVector<Operation *> done;
  auto tensorFor = [&](Type type) -> Type {
    auto opaque = dyn_cast<OpaqueType>(type);
    if (!opaque || opaque.getDialectNamespace() != "torch")
      return type;
    return tensorTypeOf(type);
  };
  SmallVector<Type> inputs, results;
  for (BlockArgument argument : body.getArguments()) {
    Type to = tensorFor(argument.getType());
    if (!to)
      return function.emitError("argument ")
             << argument.getArgNumber() << " is " << argument.getType()
             << ", expected a tensor of static shape";
    inputs.push_back(to);
  }
  for (Type type : function.getResultTypes()) {
    Type to = tensorFor(type);
    if (!to)
      return function.emitError("a result is ")
             << type << ", expected a tensor of static shape";
    results.push_back(to);
  }
  for (auto [argument, to] : llvm::zip_equal(body.getArguments(), inputs)) {
    argument.setType(to);
    tensors[argument] = argument;
  }
  function.setFunctionType(
      FunctionType::get(function.getContext(), inputs, results));
  for (Operation &each : body) {
    if (each.getName().getDialectNamespace() != "torch") {
      auto isOpaque = [](Type type) { return isa<OpaqueType>(type); };
      if (each.hasTrait<OpTrait::IsTerminator>()
              ? false
              : llvm::any_of(each.getOperandTypes(), isOpaque) ||
                    llvm::any_of(each.getResultTypes(), isOpaque))
        return each.emitError() << "'" << each.getName()
                                << "' stands among torch ops, and has a type "
                                   "that is no tensor";
      for (Value v : each.getResults())
        tensors[v] = v;
      continue;
    }
    op = &each;
    done.push_back(op);
    if (constant())
      continue;
    Operation *before = op->getPrevNode();
    b.emplace(op);
    loc = op->getLoc();
    result = op->getNumResults() ? tensorTypeOf(op->getResult(0).getType())
                                 : RankedTensorType();
    Value v = result ? run() : Value();
    if (!v || v.getType() != result)
      return op->emitError()
             << "'" << op->getName() << "' is not known, or not in this form";
    // Numbers that do not fit are found by what they make.
    for (Operation *made = before ? before->getNextNode() : &body.front();
         made != op; made = made->getNextNode())
      if (failed(verify(made)))
        return failure();
    tensors[op->getResult(0)] = v;
  }
  for (OpOperand &operand : body.getTerminator()->getOpOperands())
    if (Value v = tensors.lookup(operand.get()))
      operand.set(v);
  for (Operation *each : done)
    for (Operation *user : each->getUsers())
      if (user->getName().getDialectNamespace() != "torch")
        return user->emitError() << "'" << user->getName() << "' reads '"
                                 << each->getName() << "', which has no tensor";
  for (Operation *each : llvm::reverse(done)) {
    each->dropAllUses();
    each->erase();
  }
  return success();
}

LogicalResult act::lowerTorchDialect(func::FuncOp function) {
  if (function.isExternal())
    return success();
  const bool hasTorch =
      function
          .walk([](Operation *op) {
            return op->getName().getDialectNamespace() == "torch"
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted();
  if (!hasTorch)
    return success();
  if (!function.getBody().hasOneBlock())
    return function.emitError("has torch ops in several blocks");
  return Lowering(function).lower();
}
