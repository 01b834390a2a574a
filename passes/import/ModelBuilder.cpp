// SPDX-License-Identifier: Apache-2.0
//
// Types, parameters and functions. Computation.cpp has the computation. A model
// is built as
//
//     act.parameter ..                      all, at first use (declare)
//     func.func private @layer(%x, ..)      beginLayer .. endLayer
//     func.func @forward(%tokens, ..) {     beginForward
//       %y = act.repeat @layer ..           repeat
//     }                                     endForward
#include "passes/import/ModelBuilder.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/LayerName.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;

namespace act {

static Type elementType(MLIRContext *context, artifact::DType dtype) {
  Builder b(context);
  switch (dtype) {
  case artifact::DType::BF16:
    return b.getBF16Type();
  case artifact::DType::F16:
    return b.getF16Type();
  default:
    return b.getF32Type();
  }
}

// The minimum number of tokens in a step whose batch is open.
static constexpr int64_t openTokens = 4096;

ModelBuilder::ModelBuilder(const hf::ModelConfig &config,
                           const ImportOptions &options, MLIRContext *context)
    : config(config), options(options), b(context),
      layerPath(layerPathOf(config)),
      quantization(linearQuantization(config, options)) {
  auto loc = UnknownLoc::get(context);
  module = ModuleOp::create(loc, symbolName(options.name));
  element = elementType(context, options.dtype.value_or(config.dtype));
  for (auto &[letter, size] : dimensionLetters(config, options))
    sizes[letter] = size;
  if (config.rope)
    sizes["p"] = config.headDim / 2;
  NamedAttrList open;
  std::vector<std::string> letters = options.symbolic;
  if (config.rope && llvm::is_contained(letters, "d"))
    letters.push_back("p"); // p = d / 2
  for (const std::string &letter : letters) {
    if (!sizes.contains(letter))
      continue; // "k" if heads are not grouped
    symbolic.insert(letter);
    int64_t size = sizes[letter];
    if (letter == "b") // enough for a fused loss of several chunks
      size = std::max(size, openTokens / sequenceLength(config, options));
    open.set(letter, b.getI64IntegerAttr(size));
  }
  if (!open.empty())
    module->getOperation()->setAttr(openSizesAttr,
                                    open.getDictionary(b.getContext()));
}

Location ModelBuilder::at(StringRef name) {
  return NameLoc::get(b.getStringAttr(name));
}

// A dimension's name stays with the type, also where it has a size: formulas
// are derived from names. A product with a symbolic letter is dynamic.
RankedTensorType ModelBuilder::type(ArrayRef<StringRef> dims, Type of) {
  SmallVector<int64_t> shape;
  SmallVector<std::string> names;
  for (StringRef dim : dims) {
    SmallVector<StringRef> terms;
    dim.split(terms, '*');
    int64_t size = 1;
    bool dynamic = false;
    for (StringRef term : terms) {
      int64_t n;
      if (term.getAsInteger(10, n)) {
        n = sizes.lookup(term);
        dynamic |= symbolic.contains(term);
      }
      size *= n;
    }
    shape.push_back(dynamic ? ShapedType::kDynamic : size);
    names.push_back(dim.str());
  }
  return namedTensor(shape, of ? of : element, names, b.getContext());
}

RankedTensorType ModelBuilder::perToken(ArrayRef<StringRef> dims, Type of) {
  SmallVector<StringRef> all{"b", "s"};
  if (perRow)
    all = {"b"};
  else if (flat())
    all = {"t"};
  llvm::append_range(all, dims);
  return type(all, of);
}

// A new function at the end of the module, or before another one: layers come
// before @forward, which uses them.
func::FuncOp ModelBuilder::addFunction(StringRef name,
                                       ArrayRef<std::string> names,
                                       ArrayRef<Type> types,
                                       Operation *before) {
  OpBuilder at = OpBuilder::atBlockEnd(module->getBody());
  if (before)
    at.setInsertionPoint(before);
  auto function = func::FuncOp::create(at, at.getUnknownLoc(), name,
                                       b.getFunctionType(types, {}));
  Block *body = function.addEntryBlock();
  for (auto [argument, text] : llvm::zip_equal(body->getArguments(), names))
    argument.setLoc(this->at(text));
  b.setInsertionPointToStart(body);
  return function;
}

// Which inputs there are depends on the options (ImportModel.h). What layers
// need of them is shared; tokens and labels are used in @forward only.
void ModelBuilder::beginForward() {
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  SmallVector<std::string> names{"tokens"};
  SmallVector<Type> types{perToken({}, i32)};
  auto input = [&](StringRef name, Type type) {
    names.push_back(name.str());
    types.push_back(type);
  };
  if (options.attentionMask || config.family == hf::Family::Bert)
    input("attention_mask", perToken({}, b.getI1Type()));
  if (options.train)
    input("labels", perToken({}, i32));
  if (options.cache) {
    input("positions", perToken({}, i32));
    input("last", type({"b"}, i32));
    input("blocks", type({"b", "n"}, i32));
    auto mask = type({"b", "1", "s", "c"}, b.getI1Type());
    input("visible", mask);
    if (config.slidingWindow)
      input("visible_window", mask);
  }
  if (options.packed) {
    int64_t sequences = options.maxSequences.value_or(
        options.batch * sequenceLength(config, options));
    input("cu_seqlens", RankedTensorType::get({sequences + 1}, i32));
  }
  if (dropsAnywhere(config, options)) {
    input("seed", i64);
    input("step", i64);
  }
  forward = addFunction("forward", names, types, nullptr);
  for (auto [i, name] : llvm::enumerate(names)) {
    forward.setArgAttr(i, nameAttr, b.getStringAttr(name));
    Value argument = forward.getArgument(i);
    if (name == "tokens")
      tokens = argument;
    else if (name == "labels")
      labels = argument;
    else if (name == "seed")
      seed = argument;
    else if (name == "step")
      step = argument;
    else if (name == "positions" || name == "last")
      ofForward[name] = argument;
    else
      share(name, argument);
  }
  if (dropsInLayers(config, options)) {
    share("seed", seed);
    share("step", step);
  }
}

void ModelBuilder::endForward(StringRef name, Value result) {
  SmallVector<Value> results{result};
  for (const Named &named : kept)
    results.push_back(named.value);
  func::ReturnOp::create(b, b.getUnknownLoc(), results);
  forward.setType(b.getFunctionType(forward.getArgumentTypes(),
                                    ValueRange(results).getTypes()));
  forward.setResultAttr(0, nameAttr, b.getStringAttr(name));
  for (auto [i, named] : llvm::enumerate(kept))
    forward.setResultAttr(i + 1, nameAttr, b.getStringAttr(named.name));
}

// Layers get shared values as arguments, in the order of these calls.
void ModelBuilder::share(StringRef name, Value value) {
  outer.push_back({name.str(), value});
}

Value ModelBuilder::shared(StringRef name) const {
  for (const Named &named : layer ? inner : outer)
    if (named.name == name)
      return named.value;
  return {};
}

// A layer's function sees nothing of @forward, so everything that layers share
// (tables, masks, the dropout seed) is an argument after x. With dropout the
// first argument is the layer's number: each layer draws its own bits.
Value ModelBuilder::beginLayer(StringRef name, int64_t layers) {
  resume = b.saveInsertionPoint();
  SmallVector<std::string> names;
  SmallVector<Type> types;
  bool indexed = dropsInLayers(config, options);
  if (indexed) {
    names.push_back("l");
    types.push_back(b.getI64Type());
  }
  names.push_back("x");
  types.push_back(perToken({"h"}));
  for (const Named &named : outer) {
    names.push_back(named.name);
    types.push_back(named.value.getType());
  }
  if (options.cache)
    for (int64_t i = 0; i < layers; ++i)
      for (StringRef kind : {"keys", "values"}) {
        names.push_back(kind.str());
        types.push_back(type({"B", ofBlock()}));
      }
  layer = addFunction(name, names, types, forward);
  layer.setPrivate();
  layerIndex = indexed ? layer.getArgument(0) : Value();
  inner.clear();
  for (auto [i, named] : llvm::enumerate(outer))
    inner.push_back({named.name, layer.getArgument(i + 1 + indexed)});
  earlier.clear();
  for (BlockArgument a :
       layer.getArguments().drop_front(outer.size() + 1 + indexed))
    earlier.push_back(a);
  returned.clear();
  return layer.getArgument(indexed);
}

void ModelBuilder::endLayer(Value result) {
  SmallVector<Value> results{result};
  for (Value v : returned) {
    results.push_back(v);
    cached[layer.getName()].push_back(v.getType());
  }
  func::ReturnOp::create(b, b.getUnknownLoc(), results);
  layer.setType(b.getFunctionType(layer.getArgumentTypes(),
                                  ValueRange(results).getTypes()));
  layer = {};
  layerIndex = {};
  b.restoreInsertionPoint(resume);
}

// What a layer returns besides x becomes a stack over the layers of this
// repeat, and what it takes of a cache is a slice of one. With two kinds of
// layers their caches have names of their own, as have those of several layers
// in one function.
Value ModelBuilder::repeat(StringRef callee, StringRef letter, int64_t from,
                           int64_t count, Value x) {
  SmallVector<Value> values;
  for (const Named &named : outer)
    values.push_back(named.value);
  SmallVector<Type> types{x.getType()};
  for (Type t : cached.lookup(callee))
    types.push_back(prepend(cast<RankedTensorType>(t), count, letter));
  const size_t stacks = types.size() - 1;
  auto nameOf = [&](size_t i) {
    std::string name = letter == "W" ? "window_" : "";
    name += i % 2 ? "values" : "keys";
    return stacks > 2 ? name + "_" + std::to_string(i / 2) : name;
  };
  SmallVector<Value> slices;
  for (size_t i = 0; options.cache && i < stacks; ++i) {
    unsigned last = forward.getNumArguments();
    auto blocks = type({"B", ofBlock()});
    NamedAttribute name(nameAttr, b.getStringAttr("cached_" + nameOf(i)));
    (void)forward.insertArgument(last, prepend(blocks, count, letter),
                                 b.getDictionaryAttr(name),
                                 at("cached_" + nameOf(i)));
    slices.push_back(forward.getArgument(last));
  }
  auto op = RepeatOp::create(b, at("hidden"), types, callee, letter, count,
                             from, /*reverse=*/false, x, values, slices);
  for (auto [i, stack] : llvm::enumerate(op.getStacks()))
    kept.push_back({nameOf(i), stack});
  return op.getResults()[0];
}

// `trained` names modules that LoRA leaves frozen else, and `frozen` patterns
// have the last word. 4 bits are never trained.
bool ModelBuilder::isFrozen(StringRef hfName, const Declaration &how) {
  bool frozen = how.frozen;
  std::vector<std::string> names{hfName.str()};
  names.insert(names.end(), how.tied.begin(), how.tied.end());
  for (const std::string &name : names) {
    StringRef module = StringRef(name).rsplit('.').first;
    for (const std::string &target : options.trained)
      if (module == target || module.ends_with("." + target)) {
        matched.insert(target);
        frozen = false;
      }
  }
  for (const std::string &name : names)
    for (const std::string &pattern : options.frozen) {
      auto glob = llvm::GlobPattern::create(pattern);
      if (!glob)
        llvm::consumeError(glob.takeError()); // checked with the options
      else if (glob->match(name)) {
        matched.insert(pattern);
        frozen = true;
      }
    }
  return frozen;
}

std::vector<std::string> ModelBuilder::unmatched() const {
  std::vector<std::string> out;
  for (const auto *all : {&options.trained, &options.frozen})
    for (const std::string &one : *all)
      if (!matched.contains(one))
        out.push_back(one);
  return out;
}

// Declared at its first use. A layer's parameter has {l} in its file name, and
// is one declaration with a number of layers.
Value ModelBuilder::declare(StringRef given, const Twine &hfName,
                            RankedTensorType type, Declaration how) {
  how.frozen = isFrozen(hfName.str(), how);
  std::string symbol = given.str();
  if (isLayerName(hfName.str()))
    symbol += suffix;
  if (declared.insert(symbol).second) {
    // Parameters come first in the module, whichever function declares them.
    OpBuilder top(module->getContext());
    Block *body = module->getBody();
    auto other = llvm::find_if(
        *body, [](Operation &op) { return !isa<ParameterOp>(op); });
    top.setInsertionPoint(body, other);
    std::string name = hfName.str();
    IntegerAttr layers;
    if (isLayerName(name))
      layers = b.getI64IntegerAttr(repetitions ? repetitions : config.layers);
    ArrayAttr tied;
    if (!how.tied.empty()) {
      SmallVector<StringRef> names(how.tied.begin(), how.tied.end());
      tied = b.getStrArrayAttr(names);
    }
    // Zeros and ones have no deviation, so none is printed.
    double deviation = how.init == InitKind::Normal ? how.deviation : 0;
    ParameterOp::create(top, top.getUnknownLoc(), b.getStringAttr(symbol),
                        b.getStringAttr(name), TypeAttr::get(type), layers,
                        InitKindAttr::get(b.getContext(), how.init),
                        number(deviation),
                        how.frozen ? b.getUnitAttr() : UnitAttr(), tied);
  }
  return ParamOp::create(b, at(symbol), type, symbol);
}

void ModelBuilder::nextLayer(int64_t period, int64_t first, int64_t count,
                             StringRef name) {
  std::string index = "{";
  if (period > 1)
    index += std::to_string(period);
  index += "l";
  if (first)
    index += "+" + std::to_string(first);
  layerPath = layerPathOf(config);
  layerPath.replace(layerPath.find("{l}"), 3, index + "}");
  repetitions = count;
  suffix = name.str();
  firstSite = 8 * first; // more than a layer has
}

Value ModelBuilder::parameter(StringRef symbol, const Twine &hfName,
                              ArrayRef<StringRef> dims, InitKind init,
                              ArrayRef<std::string> tied) {
  Declaration how;
  how.init = init;
  how.deviation = config.initializerRange;
  how.frozen = options.loraRank.has_value();
  how.tied = tied.vec();
  return declare(symbol, hfName, type(dims), how);
}

// With LoRA only A and B are trained; a weight in nf4 is frozen in any case.
Value ModelBuilder::linear(StringRef name, StringRef symbol, StringRef path,
                           Value x, bool bias) {
  std::vector<LayerLinear> all = layerLinears(config);
  auto found =
      llvm::find_if(all, [&](const LayerLinear &l) { return l.path == path; });
  assert(found != all.end() && "not one of layerLinears()");
  StringRef in = found->in, out = found->out;
  bool inOut = config.family == hf::Family::Gpt2; // a Conv1D
  std::string module = layerPath + path.str();

  Declaration base;
  base.deviation = config.initializerRange;
  const bool nf4 =
      quantization && !llvm::is_contained(quantization->skipped, path);
  base.frozen = options.loraRank || nf4;
  Type stored = element;
  if (nf4)
    stored = NF4Type::get(b.getContext(), 64, quantization->nested);
  Value weight =
      declare(symbol, module + ".weight",
              inOut ? type({in, out}, stored) : type({out, in}, stored), base);
  Value biasValue;
  if (bias)
    biasValue = parameter((symbol + "_bias").str(), module + ".bias", {out},
                          InitKind::Zeros);

  Value loraA, loraB;
  FloatAttr scale;
  auto targets = loraTargets(config, options);
  if (llvm::any_of(targets, [&](const std::string &target) {
        return namesModule(target, path);
      })) {
    double rank = *options.loraRank;
    Declaration a, zero;
    // B is 0, so training begins with the base model's output.
    a.deviation = 1 / rank; // as PEFT's `gaussian`
    zero.init = InitKind::Zeros;
    loraA = declare((symbol + "_lora_a").str(), module + ".lora_A.weight",
                    type({"r", in}), a);
    loraB = declare((symbol + "_lora_b").str(), module + ".lora_B.weight",
                    type({out, "r"}), zero);
    scale = number(options.loraAlpha.value_or(2 * rank) / rank);
  }
  return LinearOp::create(b, at(name), perToken({out}), x, weight, biasValue,
                          loraA, loraB, scale,
                          inOut ? b.getUnitAttr() : UnitAttr());
}

std::string symbolName(StringRef text) {
  std::string name;
  for (char c : text)
    name += llvm::isAlnum(c) || c == '_' || c == '.' || c == '$' ? c : '_';
  if (name.empty() || llvm::isDigit(name[0]))
    name.insert(0, "_");
  return name;
}

} // namespace act
