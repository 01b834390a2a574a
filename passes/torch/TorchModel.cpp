// SPDX-License-Identifier: Apache-2.0
//
// Reads a Hugging Face configuration off the IR and proves it by importing that
// configuration and comparing op by op. The reading may guess, since a wrong
// guess does not survive the comparison.
#include "passes/torch/TorchModel.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/fuse/Passes.h"
#include "passes/import/ImportModel.h"
#include "passes/module/Entries.h"
#include "passes/remat/RematPolicy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace act {
namespace {

func::FuncOp forwardOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>(forwardName);
}

/// @forward and the layer functions it repeats, in order.
SmallVector<func::FuncOp> functionsOf(ModuleOp module) {
  SmallVector<func::FuncOp> all;
  func::FuncOp forward = forwardOf(module);
  if (!forward)
    return all;
  for (RepeatOp r : forward.getOps<RepeatOp>())
    if (auto layer = module.lookupSymbol<func::FuncOp>(r.getCallee()))
      all.push_back(layer);
  all.push_back(forward);
  return all;
}

/// A copy with only the functions that @forward needs, and with attention and
/// the loss fused, so that it does not matter whether they already were.
FailureOr<OwningOpRef<ModuleOp>> forwardAlone(ModuleOp module) {
  OwningOpRef<ModuleOp> copy(module.clone());
  SmallVector<func::FuncOp> keep = functionsOf(*copy);
  for (func::FuncOp f :
       llvm::make_early_inc_range(copy->getOps<func::FuncOp>()))
    if (!llvm::is_contained(keep, f))
      f.erase();
  PassManager fuse(module.getContext());
  FuseAttentionPassOptions quietly;
  quietly.remarks = "none";
  fuse.addPass(createFuseAttentionPass(quietly));
  if (failed(fuse.run(*copy)))
    return failure();
  return copy;
}

/// Reads the configuration. Letters give the sizes, parameter names the family
/// and what is optional, and ops the activation, dropouts and windows.
class Reader {
public:
  Reader(ModuleOp module) : module(module) {}
  FailureOr<eager::Model> run();

private:
  InFlightDiagnostic refuse() {
    return emitError(module.getLoc()) << "view torch: ";
  }
  void letters(RankedTensorType type) {
    auto names = dimNames(type);
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (llvm::isAlpha(names[d][0]) && !StringRef(names[d]).contains('*'))
        sizes[names[d]] = type.getDimSize(d);
  }
  bool has(StringRef ending) {
    return llvm::any_of(names,
                        [&](StringRef n) { return n.ends_with(ending); });
  }
  void readForward(func::FuncOp forward);
  void readLayer(func::FuncOp layer, int64_t count);
  LogicalResult readNames();

  ModuleOp module;
  llvm::StringMap<int64_t> sizes;
  SmallVector<std::string> names; // parameter names, as in files
  Type element;
  eager::Model model;
  ImportOptions options;
};

// View torch knows only models whose parameters are all trained and of one
// type.
LogicalResult Reader::readNames() {
  for (auto p : module.getOps<ParameterOp>()) {
    auto type = cast<RankedTensorType>(p.getType());
    if (p.getFrozen())
      return refuse() << "parameter @" << p.getSymName()
                      << " is frozen; only models whose parameters are all "
                         "trained are supported";
    letters(type);
    names.push_back(p.getHfName().str());
    if (!element)
      element = type.getElementType();
    if (type.getElementType() != element)
      return refuse() << "parameter @" << p.getSymName() << " is of type "
                      << type.getElementType() << ", others are of type "
                      << element;
  }
  return success();
}

void Reader::readLayer(func::FuncOp layer, int64_t count) {
  hf::ModelConfig &c = model.config;
  std::optional<int64_t> window;
  layer.walk([&](Operation *op) {
    for (Type t : op->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(t))
        letters(tensor);
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      if (auto p = attention.getDropout())
        c.attentionDropout = p->convertToDouble();
      window = attention.getWindow();
    } else if (auto dropout = dyn_cast<DropoutOp>(op)) {
      c.residualDropout = dropout.getP().convertToDouble();
    }
    if (isa<SwigluOp, SiluOp>(op))
      c.activation = hf::Activation::Silu;
    if (isa<GeluOp>(op))
      c.activation = hf::Activation::Gelu;
    if (auto gated = dyn_cast<GegluOp>(op))
      c.activation =
          gated.getTanh() ? hf::Activation::GeluTanh : hf::Activation::Gelu;
    if (isa<GeluNewOp>(op))
      c.activation = hf::Activation::GeluTanh;
    if (op->hasAttr(oneOperatorAttr))
      c.geluInSteps = false;
  });
  if (window) {
    c.slidingWindow = window;
    c.firstWindowLayer = c.layers;
  }
  c.layers += count;
}

// Layers count as they are repeated. What @forward does outside them is the
// embedding, with its dropout and padding, and the head.
void Reader::readForward(func::FuncOp forward) {
  hf::ModelConfig &c = model.config;
  c.geluInSteps = true; // unless an op says otherwise
  for (Operation &op : forward.getBody().front()) {
    for (Type t : op.getOperandTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(t))
        letters(tensor);
    if (auto dropout = dyn_cast<DropoutOp>(op))
      c.embeddingDropout = dropout.getP().convertToDouble();
    if (auto embedding = dyn_cast<EmbeddingOp>(op))
      if (auto padding = embedding.getPaddingIdx())
        c.padToken = *padding;
    if (auto repeat = dyn_cast<RepeatOp>(op))
      if (auto layer = module.lookupSymbol<func::FuncOp>(repeat.getCallee()))
        readLayer(layer, repeat.getCount());
  }
  if (c.activation != hf::Activation::GeluTanh)
    c.geluInSteps = false;
}

FailureOr<eager::Model> Reader::run() {
  func::FuncOp forward = forwardOf(module);
  if (!forward)
    return refuse() << "the module has no @forward";
  if (failed(readNames()))
    return failure();
  hf::ModelConfig &c = model.config;
  if (has("embed_tokens.weight"))
    c.family = hf::Family::Llama;
  else if (has("wte.weight"))
    c.family = hf::Family::Gpt2;
  else if (has("word_embeddings.weight"))
    c.family = hf::Family::Bert;
  else
    return refuse() << "no parameter is the token embedding of a Hugging Face "
                       "llama, mistral, qwen2, gpt2 or bert";
  readForward(forward);
  bool bert = c.family == hf::Family::Bert;
  for (unsigned i = 0; !bert && i < forward.getNumArguments(); ++i)
    if (auto name = forward.getArgAttrOfType<StringAttr>(i, nameAttr);
        name && name.getValue() == "attention_mask")
      return refuse() << "causal models with a padding mask are not supported; "
                         "import it without --attention-mask";
  c.dtype = element.isBF16()  ? artifact::DType::BF16
            : element.isF16() ? artifact::DType::F16
                              : artifact::DType::F32;
  auto size = [&](StringRef letter) { return sizes.lookup(letter); };
  for (StringRef letter : {"b", "s", "h", "a", "d", "f", "V"})
    if (size(letter) < 1)
      return refuse() << "no dimension of the model is named " << letter
                      << (size("t") ? "; packed sequences are not supported"
                                    : "");
  model.batch = size("b");
  model.seq = size("s");
  c.hidden = size("h");
  c.heads = size("a");
  c.kvHeads = size("k") ? size("k") : c.heads;
  c.headDim = size("d");
  c.intermediate = size("f");
  c.vocab = size("V");
  // Only a learned table of positions has the letter P.
  c.maxPositions = size("P") ? size("P") : model.seq;
  c.tokenTypes = size("T");
  c.head = bert ? hf::Head::MaskedLM : hf::Head::CausalLM;
  c.tied = !has(bert ? "decoder.weight" : "lm_head.weight");
  // Any number will do here: signatures leave real numbers out.
  c.normEps = 1e-5;
  if (c.family == hf::Family::Llama) {
    c.rope = true;
    c.ropeTheta = 10000;
    c.qkvBias = has("q_proj.bias");
    c.attentionBias = has("o_proj.bias");
    c.mlpBias = has("gate_proj.bias");
    if (c.slidingWindow) // these two differ in masks and biases
      c.family = c.qkvBias ? hf::Family::Qwen2 : hf::Family::Mistral;
  } else {
    c.qkvBias = c.attentionBias = c.mlpBias = true;
  }
  return model;
}

/// One line per op: name, operands, result types and attributes. Real numbers
/// are left out, because they do not affect memory. Values are numbered by
/// their first appearance and parameters go by their name in files, so names in
/// the IR do not matter.
std::vector<std::pair<std::string, Operation *>> signature(ModuleOp module) {
  std::vector<std::pair<std::string, Operation *>> lines;
  for (func::FuncOp f : functionsOf(module)) {
    llvm::DenseMap<Value, unsigned> numbers;
    auto number = [&](Value v) {
      return numbers.try_emplace(v, numbers.size()).first->second;
    };
    auto typeText = [&](llvm::raw_ostream &os, Type t) {
      if (auto tensor = dyn_cast<RankedTensorType>(t)) {
        llvm::interleave(tensor.getShape(), os, "x");
        os << ":" << tensor.getElementType();
      } else {
        os << t;
      }
    };
    auto line = [&](Operation *op, auto write) {
      std::string text;
      llvm::raw_string_ostream os(text);
      write(os);
      lines.push_back({text, op});
    };
    line(f, [&](llvm::raw_ostream &os) {
      for (BlockArgument a : f.getArguments()) {
        number(a);
        typeText(os, a.getType());
        os << " ";
      }
    });
    for (Operation &op : f.getBody().front())
      line(&op, [&](llvm::raw_ostream &os) {
        os << op.getName() << " (";
        for (Value v : op.getOperands())
          os << number(v) << " ";
        os << ") ";
        for (Value v : op.getResults()) {
          os << number(v) << " ";
          typeText(os, v.getType());
          os << " ";
        }
        if (auto param = dyn_cast<ParamOp>(op)) {
          if (auto p = module.lookupSymbol<ParameterOp>(param.getName()))
            os << p.getHfName();
          return;
        }
        for (NamedAttribute a : op.getAttrDictionary()) {
          // Layer functions may have other names, the chunk is act's own
          // choice, and act.* attributes are notes.
          StringRef name = a.getName().getValue();
          if (isa<FloatAttr, DenseF64ArrayAttr>(a.getValue()) ||
              name == "callee" || name == "chunk" || name.starts_with("act."))
            continue;
          os << name << "=" << a.getValue() << " ";
        }
      });
  }
  return lines;
}

} // namespace

// An op that differs is where the error points: what the module has there is
// not what PyTorch would run.
FailureOr<eager::Model> torchModel(ModuleOp module) {
  for (func::FuncOp f : functionsOf(module))
    for (Operation &op : f.getBody().front())
      if (isa<GroupOp>(op))
        return emitError(module.getLoc())
               << "view torch: @" << f.getSymName()
               << " is in kernel form; view torch needs the module as imported";
  if (!returnsLoss(module))
    return emitError(module.getLoc())
           << "view torch: @forward returns no loss, so nothing is kept for a "
              "backward pass";
  auto given = forwardAlone(module);
  if (failed(given))
    return failure();
  auto model = Reader(**given).run();
  if (failed(model))
    return failure();
  ImportOptions options;
  options.batch = model->batch;
  options.seq = model->seq;
  std::vector<std::string> warnings;
  auto built =
      importModel(model->config, options, module.getContext(), warnings);
  if (!built)
    return emitError(module.getLoc()) << "view torch: " << built.error().str();
  auto expected = forwardAlone(**built);
  if (failed(expected))
    return failure();
  auto have = signature(**given), want = signature(**expected);
  for (size_t i = 0; i < std::max(have.size(), want.size()); ++i) {
    if (i < have.size() && i < want.size() && have[i].first == want[i].first)
      continue;
    Operation *at = i < have.size() ? have[i].second : have.back().second;
    return at->emitError()
           << "view torch: this is not the forward function of the "
           << std::string(hf::name(model->config.family))
           << " of Hugging Face that its parameters belong to: expected "
           << (i < want.size() ? want[i].second->getName().getStringRef()
                               : StringRef("nothing more"))
           << "; act.torch_memory, in Python, runs any module";
  }
  return model;
}

/// Sets the checkpoints that the module's policy (`act.remat`) implies. PyTorch
/// checkpoints a call of a function, so only policies whose recomputed part is
/// one can be placed.
static LogicalResult placeCheckpoints(ModuleOp module,
                                      eager::Options &options) {
  auto attr = module->getAttrOfType<StringAttr>(rematAttr);
  auto policy = parseRematPolicy(attr ? attr.getValue().str() : "none");
  if (!policy)
    return emitError(module.getLoc()) << policy.error().str();
  options.checkpointAttention = policy->kind == RematPolicy::Attention;
  if (policy->kind == RematPolicy::None || options.checkpointAttention)
    return success();
  if (policy->kind != RematPolicy::Layer &&
      policy->kind != RematPolicy::Segments)
    return emitError(module.getLoc())
           << "view torch: places checkpoints for the "
              "policies none, attention, "
              "layer, sqrt and segments=N, not for '"
           << attr.getValue() << "'";
  int64_t from = 0;
  for (RepeatOp r : forwardOf(module).getOps<RepeatOp>()) {
    int64_t count = r.getCount();
    int64_t n = segmentCount(*policy, count);
    if (n < 1 || n > count)
      return r.emitError() << "cannot be cut into " << n
                           << " segments: it runs " << count << " layers";
    for (int64_t i = 1; i <= n; ++i)
      options.segments.push_back(from + segmentEnd(i, n, count));
    from += count;
  }
  return success();
}

FailureOr<eager::Options> torchOptions(ModuleOp module,
                                       const eager::Model &model,
                                       StringRef attention,
                                       StringRef checkpoint) {
  eager::Options options;
  if (auto s = eager::setAttention(attention.str(), model, options); !s)
    return emitError(module.getLoc()) << s.error().str();
  if (checkpoint != "nonreentrant" && checkpoint != "reentrant")
    return emitError(module.getLoc())
           << "unknown checkpoint '" << checkpoint
           << "': expected nonreentrant or reentrant";
  options.reentrant = checkpoint == "reentrant";
  if (failed(placeCheckpoints(module, options)))
    return failure();
  return options;
}

} // namespace act
