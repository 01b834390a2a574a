// SPDX-License-Identifier: Apache-2.0
//
// The pass --decompose=torch: writes the steps of a run of lib/Eager as IR for
// people to read. What runs is decided there; here steps become ops, and layers
// that run the same steps become one function.
#include "dialects/act/AttrNames.h"
#include "dialects/act/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/module/Sizes.h"
#include "passes/torch/AtenDialect.h"
#include "passes/torch/Passes.h"
#include "passes/torch/TorchModel.h"
#include <map>
#include <set>

MLIR_DEFINE_EXPLICIT_TYPE_ID(act::AtenDialect)

namespace act {
#define GEN_PASS_DEF_DECOMPOSETORCHPASS
#include "passes/torch/Passes.h.inc"

AtenDialect::AtenDialect(mlir::MLIRContext *context)
    : Dialect(getDialectNamespace(), context,
              mlir::TypeID::get<AtenDialect>()) {
  allowUnknownOperations();
}
} // namespace act

using namespace mlir;
using namespace act;

namespace {

using Steps = ArrayRef<eager::Step>;

/// Steps [from, to) of one layer, or outside the layers.
struct Part {
  int layer = -1;
  size_t from = 0, to = 0;
  std::vector<int64_t> reads;  // numbers of values from outside, in order
  std::vector<int64_t> writes; // numbers of values that later parts read
  std::string key;             // equal for parts that run the same operators
};

/// Writes the steps. Values have numbers, and `values` says which IR value has
/// a number in the function that is being written.
class Writer {
public:
  Writer(ModuleOp module, Steps steps) : module(module), steps(steps) {}
  LogicalResult run();

private:
  void cut();
  void write(OpBuilder &b, size_t from, size_t to, int layer);
  size_t writeLayers(OpBuilder &b, size_t part);
  Type typeOf(const eager::Step::Value &v);
  Value operand(OpBuilder &b, const eager::Step::Value &v, int layer);
  ParameterOp parameterNamed(StringRef name, bool layered);

  ModuleOp module;
  Steps steps;
  std::vector<Part> parts;
  std::map<int64_t, Value> values; // of the function being written
  std::map<int64_t, eager::Step::Value> described; // by number
  unsigned layerFunctions = 0;
  func::FuncOp forward;
};

Type Writer::typeOf(const eager::Step::Value &v) {
  Builder b(module.getContext());
  StringRef name = v.dtype;
  Type element = name == "float32"    ? Type(b.getF32Type())
                 : name == "float16"  ? Type(b.getF16Type())
                 : name == "bfloat16" ? Type(b.getBF16Type())
                 : name == "bool"     ? Type(b.getI1Type())
                 : name == "uint64"   ? Type(b.getIntegerType(64, false))
                                      : Type(b.getI64Type());
  return RankedTensorType::get(v.shape, element);
}

// PyTorch's name is the end of the name in files: "self_attn.q_proj.weight" of
// "model.layers.{l}.self_attn.q_proj.weight". It must begin after a dot, or
// "proj.weight" would match as well.
ParameterOp Writer::parameterNamed(StringRef name, bool layered) {
  for (auto p : module.getOps<ParameterOp>()) {
    StringRef file = p.getHfName();
    if (p.getLayers().has_value() == layered && file.ends_with(name) &&
        (file.size() == name.size() || name.starts_with("}") ||
         file[file.size() - name.size() - 1] == '.'))
      return p;
  }
  return {};
}

Value Writer::operand(OpBuilder &b, const eager::Step::Value &v, int layer) {
  Value &known = values[v.number];
  if (known)
    return known;
  if (ParameterOp p = parameterNamed(v.name, layer >= 0))
    return known = ParamOp::create(b, b.getUnknownLoc(), p.getType(),
                                   p.getSymName());
  // Token ids, labels and tables that the model owns.
  unsigned at = forward.getNumArguments();
  (void)forward.insertArgument(
      at, typeOf(v),
      b.getDictionaryAttr(b.getNamedAttr(nameAttr, b.getStringAttr(v.name))),
      b.getUnknownLoc());
  return known = forward.getArgument(at);
}

// Cuts the steps where the layer changes. The key of a part numbers values from
// its own beginning, so it is equal for layers that run the same operators on
// values of the same types. Reads and writes are what crosses between parts.
void Writer::cut() {
  std::map<int64_t, size_t> home; // value -> part that makes it
  for (size_t i = 0; i < steps.size(); ++i) {
    if (parts.empty() || parts.back().layer != steps[i].layer) {
      parts.emplace_back();
      parts.back().layer = steps[i].layer;
      parts.back().from = i;
    }
    parts.back().to = i + 1;
  }
  for (size_t p = 0; p < parts.size(); ++p) {
    Part &part = parts[p];
    std::map<int64_t, size_t> local;
    llvm::raw_string_ostream os(part.key);
    auto mention = [&](const eager::Step::Value &v) {
      described.insert({v.number, v});
      auto [it, fresh] = local.insert({v.number, local.size()});
      os << it->second << ":" << v.name << ":" << v.dtype;
      for (int64_t d : v.shape)
        os << "x" << d;
      os << " ";
      return fresh;
    };
    for (size_t i = part.from; i < part.to; ++i) {
      os << steps[i].op << "(";
      // A value that no step makes and that is no parameter comes in as an
      // argument; a value of another part crosses from there.
      for (const auto &v : steps[i].operands)
        if (mention(v) && !home.count(v.number) && v.storage < 0 && v.name[0]) {
          if (!parameterNamed(v.name, part.layer >= 0))
            part.reads.push_back(v.number);
        } else if (home.count(v.number) && home[v.number] != p) {
          if (!llvm::is_contained(part.reads, v.number))
            part.reads.push_back(v.number);
          std::vector<int64_t> &writes = parts[home[v.number]].writes;
          if (!llvm::is_contained(writes, v.number))
            writes.push_back(v.number);
        }
      os << ")";
      for (const auto &v : steps[i].results) {
        mention(v);
        home.insert({v.number, p});
      }
      os << "\n";
    }
  }
}

void Writer::write(OpBuilder &b, size_t from, size_t to, int layer) {
  for (size_t i = from; i < to; ++i) {
    const eager::Step &step = steps[i];
    OperationState state(b.getUnknownLoc(), "aten." + std::string(step.op));
    for (const auto &v : step.operands)
      state.addOperands(operand(b, v, layer));
    for (const auto &v : step.results)
      state.addTypes(typeOf(v));
    if (step.node)
      state.addAttribute("node", b.getStringAttr(step.node));
    SmallVector<Attribute> saves;
    for (const auto &s : step.saves)
      saves.push_back(b.getStringAttr(s.name + (s.result ? " #" : " %") +
                                      std::to_string(s.index)));
    if (!saves.empty())
      state.addAttribute("saves", b.getArrayAttr(saves));
    const eager::Step::Value &first = step.results.front();
    // A result that shares an operand's memory is a view of it.
    for (size_t o = 0; o < step.operands.size(); ++o)
      if (step.operands[o].storage == first.storage) {
        state.addAttribute("storage_of", b.getI64IntegerAttr(o));
        break;
      }
    int64_t stride = 1;
    bool contiguous = true;
    for (int64_t d = int64_t(first.shape.size()) - 1; d >= 0; --d) {
      contiguous &= first.shape[d] == 1 || first.strides[d] == stride;
      stride *= first.shape[d];
    }
    if (!contiguous)
      state.addAttribute("strides", b.getDenseI64ArrayAttr(first.strides));
    Operation *op = b.create(state);
    for (auto [v, result] : llvm::zip_equal(step.results, op->getResults()))
      values[v.number] = result;
  }
}

// Writes the layers from `at` on that run the same operators as one function
// and a repeat. Only the value that each passes to the next may differ. Returns
// the first part after them.
size_t Writer::writeLayers(OpBuilder &b, size_t at) {
  const Part &first = parts[at];
  if (first.writes.size() != 1 || first.reads.empty()) {
    write(b, first.from, first.to, first.layer);
    return at + 1;
  }
  // The carried value is the only read in which the second layer differs.
  size_t end = at + 1, carried = 0;
  for (; end < parts.size(); ++end) {
    const Part &next = parts[end], &last = parts[end - 1];
    if (next.layer != last.layer + 1 || next.key != first.key ||
        next.reads.size() != first.reads.size() || next.writes.size() != 1)
      break;
    SmallVector<size_t> differ;
    for (size_t r = 0; r < first.reads.size(); ++r)
      if (next.reads[r] != last.reads[r])
        differ.push_back(r);
    if (differ.size() != 1 || next.reads[differ[0]] != last.writes[0] ||
        (end > at + 1 && differ[0] != carried))
      break;
    carried = differ[0];
  }
  // The carried value comes first among the function's arguments, as act.repeat
  // passes it.
  SmallVector<Value> outside, shared;
  SmallVector<int64_t> order{first.reads[carried]};
  for (size_t r = 0; r < first.reads.size(); ++r)
    if (r != carried)
      order.push_back(first.reads[r]);
  for (int64_t number : order)
    outside.push_back(operand(b, described.at(number), -1));
  shared.assign(outside.begin() + 1, outside.end());

  std::string name =
      "layer.torch" +
      (layerFunctions ? "." + std::to_string(layerFunctions) : "");
  ++layerFunctions;
  OpBuilder top(forward);
  auto function = func::FuncOp::create(
      top, forward.getLoc(), name,
      top.getFunctionType(ValueRange(outside).getTypes(), {}));
  function.setPrivate();
  OpBuilder inside = OpBuilder::atBlockBegin(function.addEntryBlock());
  std::map<int64_t, Value> around = std::move(values);
  values.clear();
  for (auto [number, argument] :
       llvm::zip_equal(order, function.getArguments()))
    values[number] = argument;
  write(inside, first.from, first.to, first.layer);
  Value out = values.at(first.writes[0]);
  func::ReturnOp::create(inside, forward.getLoc(), out);
  function.setType(
      inside.getFunctionType(function.getArgumentTypes(), out.getType()));
  values = std::move(around);

  auto repeat =
      RepeatOp::create(b, forward.getLoc(), TypeRange(out.getType()), name, "",
                       int64_t(end - at), first.layer, /*reverse=*/false,
                       ValueRange(outside[0]), shared, ValueRange());
  values[parts[end - 1].writes[0]] = repeat.getResult(0);
  return end;
}

LogicalResult Writer::run() {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  forward = func::FuncOp::create(b, module.getLoc(), "forward.torch",
                                 b.getFunctionType({}, {}));
  OpBuilder inside = OpBuilder::atBlockBegin(forward.addEntryBlock());
  cut();
  for (size_t p = 0; p < parts.size();) {
    if (parts[p].layer >= 0) {
      p = writeLayers(inside, p);
      continue;
    }
    write(inside, parts[p].from, parts[p].to, -1);
    ++p;
  }
  Value loss = values.at(steps.back().results.front().number);
  func::ReturnOp::create(inside, forward.getLoc(), loss);
  forward.setType(
      b.getFunctionType(forward.getArgumentTypes(), loss.getType()));
  forward.setResultAttr(0, nameAttr, b.getStringAttr("loss"));
  return success();
}

struct DecomposeTorch : act::impl::DecomposeTorchPassBase<DecomposeTorch> {
  using DecomposeTorchPassBase::DecomposeTorchPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!torch) {
      emitError(module.getLoc(),
                "--decompose needs a value: expected --decompose=torch");
      return signalPassFailure();
    }
    if (module.lookupSymbol("forward.torch")) {
      emitError(module.getLoc(),
                "the module already has a function @forward.torch");
      return signalPassFailure();
    }
    // Sizes are bound in a copy: the module may keep its letters open.
    OwningOpRef<ModuleOp> copy(module.clone());
    if (failed(bindLetters(*copy, dims)))
      return signalPassFailure();
    auto model = torchModel(*copy);
    if (failed(model))
      return signalPassFailure();
    eager::Options options;
    if (auto s = eager::setAttention(attention, *model, options); !s) {
      emitError(module.getLoc()) << s.error().str();
      return signalPassFailure();
    }
    auto run = eager::run(*model, options, /*record=*/true);
    if (!run) {
      emitError(module.getLoc()) << "view torch: " << run.error().str();
      return signalPassFailure();
    }
    if (failed(Writer(module, run->steps).run()))
      signalPassFailure();
  }
};

} // namespace
