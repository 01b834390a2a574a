// SPDX-License-Identifier: Apache-2.0
//
// The steps that model families share. Values are named by what they are
// ("scores", "context"), which makes the printed module readable.
#include "dialects/act/AttrNames.h"
#include "passes/import/ModelBuilder.h"
#include <cmath>

using namespace mlir;

namespace act {

Value ModelBuilder::embedding(StringRef name, Value table, Value ids,
                              bool padded) {
  auto idsType = cast<RankedTensorType>(ids.getType());
  SmallVector<int64_t> shape(idsType.getShape());
  shape.push_back(cast<RankedTensorType>(table.getType()).getShape().back());
  auto names = dimNames(idsType);
  names.push_back("h");
  auto result = namedTensor(shape, element, names, b.getContext());
  IntegerAttr padding;
  if (padded && config.padToken && options.train)
    padding = b.getI64IntegerAttr(*config.padToken);
  return EmbeddingOp::create(b, at(name), result, table, ids, padding);
}

Value ModelBuilder::plainLinear(StringRef name, Value x, Value weight,
                                Value bias, StringRef out) {
  return LinearOp::create(b, at(name), perToken({out}), x, weight, bias,
                          Value(), Value(), FloatAttr(), UnitAttr());
}

Value ModelBuilder::rmsNorm(StringRef symbol, const Twine &path, Value x,
                            StringRef dim) {
  Value weight =
      parameter(symbol, path + ".weight", {dim},
                config.normPlusOne ? InitKind::Zeros : InitKind::Ones);
  return RmsNormOp::create(b, at("normed"), x.getType(), Type(), x, weight,
                           number(config.normEps),
                           config.normPlusOne ? b.getUnitAttr() : UnitAttr())
      .getResult();
}

Value ModelBuilder::softcap(StringRef name, Value x,
                            std::optional<double> cap) {
  return cap ? act::softcap(b, at(name), x, *cap) : x;
}

Value ModelBuilder::layerNorm(StringRef symbol, const Twine &path, Value x) {
  Value weight = parameter(symbol, path + ".weight", {"h"}, InitKind::Ones);
  Value bias = parameter((symbol + "_bias").str(), path + ".bias", {"h"},
                         InitKind::Zeros);
  return LayerNormOp::create(b, at("normed"), x.getType(), Type(), Type(), x,
                             weight, bias, number(config.normEps))
      .getResult();
}

// gelu_new and gelu_pytorch_tanh are the same function. The framework runs the
// first as several operators and the second as one, which changes what it keeps
// in memory.
Value ModelBuilder::inOneOperator(Operation *op) {
  if (!config.geluInSteps)
    op->setAttr(oneOperatorAttr, b.getUnitAttr());
  return op->getResult(0);
}

Value ModelBuilder::activation(Value x) {
  switch (config.activation) {
  case hf::Activation::Silu:
    return SiluOp::create(b, at("activated"), x);
  case hf::Activation::Gelu:
    return GeluOp::create(b, at("activated"), x);
  case hf::Activation::GeluTanh:
    return inOneOperator(GeluNewOp::create(b, at("activated"), x));
  }
  llvm_unreachable("unknown activation");
}

Value ModelBuilder::gated(Value gate, Value up) {
  switch (config.activation) {
  case hf::Activation::Silu:
    return SwigluOp::create(b, at("activated"), gate, up);
  case hf::Activation::Gelu:
    return GegluOp::create(b, at("activated"), gate, up, false);
  case hf::Activation::GeluTanh:
    return inOneOperator(GegluOp::create(b, at("activated"), gate, up, true));
  }
  llvm_unreachable("unknown activation");
}

Value ModelBuilder::add(StringRef name, Value x, Value y) {
  return AddOp::create(b, at(name), x.getType(), x, y);
}

// The site and the layer's number make the random bits of each call differ.
Value ModelBuilder::dropout(StringRef name, Value x, double p, int64_t id) {
  if (!options.train || p == 0)
    return x;
  Value site =
      SiteOp::create(b, at("site"), b.getI64Type(), firstSite + id, layerIndex);
  return DropoutOp::create(b, at(name), x, number(p),
                           layer ? shared("seed") : seed,
                           layer ? shared("step") : step, site);
}

Value ModelBuilder::positions() {
  if (options.cache)
    return ofForward.lookup("positions");
  return PositionsOp::create(b, at("positions"),
                             type({sequence()}, b.getI32Type()),
                             shared("cu_seqlens"));
}

Value ModelBuilder::splitHeads(StringRef name, Value x, StringRef heads) {
  return ReshapeOp::create(b, at(name), perToken({heads, "d"}), x);
}

// True where a query may see a key; broadcasts to the scores. Null if every key
// is visible.
Value ModelBuilder::visibleMask(Visible visible) {
  if (options.cache)
    return shared(visible.window ? "visible_window" : "visible");
  Type i1 = b.getI1Type();
  Value tokens;
  if (Value padding = shared("attention_mask"))
    tokens = ReshapeOp::create(b, at("mask"), type({"b", "1", "1", "s"}, i1),
                               padding);
  if (!visible.causal)
    return tokens;
  auto square = type({sequence(), sequence()}, i1);
  IntegerAttr window;
  if (visible.window)
    window = b.getI64IntegerAttr(*visible.window);
  Value mask = CausalMaskOp::create(b, at("causal"), square, window,
                                    /*top_left=*/UnitAttr());
  if (Value boundaries = shared("cu_seqlens")) {
    Value same = SegmentMaskOp::create(b, at("same"), square, boundaries);
    mask = AndOp::create(b, at("mask"), square, mask, same);
  }
  if (tokens)
    mask = AndOp::create(b, at("mask"), type({"b", "1", "s", "s"}, i1), mask,
                         tokens);
  return mask;
}

// The keys or values of a row's cache, then the fresh ones: [b, c, k, d].
Value ModelBuilder::withCache(StringRef name, Value fresh, Value blocks) {
  StringRef kv = kvHeads();
  // The names of products are sorted, as everywhere.
  auto ofAll = [&](StringRef more) {
    return kv == "a" ? "a*" + more.str() + "*d" : more.str() + "*d*k";
  };
  std::string ofFresh = kv == "a" ? "a*d*s" : "d*k*s";
  Value found = EmbeddingOp::create(b, at(name), type({"b", "n", ofBlock()}),
                                    blocks, shared("blocks"), IntegerAttr());
  found = ReshapeOp::create(b, at(name), type({"b", ofBlock() + "*n"}), found);
  fresh = ReshapeOp::create(b, at(name), type({"b", ofFresh}), fresh);
  Value all = ConcatOp::create(b, at(name), type({"b", ofAll("c")}),
                               ValueRange{found, fresh});
  return ReshapeOp::create(b, at(name), type({"b", "c", kv, "d"}), all);
}

std::string ModelBuilder::ofBlock() const {
  return std::to_string(options.cache->block) +
         (kvHeads() == "a" ? "*a*d" : "*d*k");
}

Value ModelBuilder::answered(Value x) {
  if (!options.cache)
    return x;
  perRow = true;
  return EmbeddingOp::create(b, at("answered"), perToken({"h"}), x,
                             ofForward.lookup("last"), IntegerAttr());
}

// In primitives, as the framework runs it: FuseAttention recognises them, and
// without it the module shows what eager attention keeps. Keys and values are
// expanded to all query heads, so products have equal heads on both sides.
Value ModelBuilder::attention(Value q, Value k, Value v, Visible visible,
                              int64_t dropoutSite) {
  if (options.kvCache || options.cache)
    returned.insert(returned.end(), {k, v});
  StringRef s = sequence(), keys = s, kv = kvHeads();
  if (options.cache) {
    const size_t i = returned.size() - 2; // the layer's place in the function
    s = "s";
    keys = "c";
    q = ReshapeOp::create(b, at("q"), type({"b", "s", "a", "d"}), q);
    k = withCache("k", k, earlier[i]);
    v = withCache("v", v, earlier[i + 1]);
  }
  auto byHead = [&](StringRef heads, StringRef rows, StringRef columns) {
    return options.packed ? type({heads, rows, columns})
                          : type({"b", heads, rows, columns});
  };
  SmallVector<int64_t> swap{0, 2, 1, 3};
  if (options.packed)
    swap = {1, 0, 2};
  q = TransposeOp::create(b, at("q"), byHead("a", s, "d"), q, swap);
  k = TransposeOp::create(b, at("k"), byHead(kv, keys, "d"), k, swap);
  v = TransposeOp::create(b, at("v"), byHead(kv, keys, "d"), v, swap);
  // Grouped heads: each key head serves several query heads.
  if (kv != "a") {
    k = ExpandOp::create(b, at("k_all"), byHead("a", keys, "d"), k);
    v = ExpandOp::create(b, at("v_all"), byHead("a", keys, "d"), v);
  }
  auto square = byHead("a", s, keys);
  Value scores = MatmulOp::create(b, at("scores"), square, q, k,
                                  /*transpose_lhs=*/false,
                                  /*transpose_rhs=*/true);
  const double scale =
      config.attentionScale.value_or(1 / std::sqrt(double(config.headDim)));
  if (scale != 1)
    scores = ScaleOp::create(b, at("scaled"), scores, number(scale));
  scores = softcap("capped", scores, config.attentionSoftcap);
  if (Value mask = visibleMask(visible)) {
    Value never =
        ConstantOp::create(b, at("never"), RankedTensorType::get({}, element),
                           -std::numeric_limits<double>::infinity());
    scores = SelectOp::create(b, at("masked"), square, mask, scores, never);
  }
  // exp(-inf) is 0, so a hidden key has no weight.
  Value p = SoftmaxOp::create(b, at("probabilities"), scores,
                              uint64_t(square.getRank() - 1));
  p = dropout("dropped", p, config.attentionDropout, dropoutSite);
  auto heads = byHead("a", s, "d");
  Value context = MatmulOp::create(b, at("context"), heads, p, v, false, false);
  context = TransposeOp::create(b, at("context"),
                                options.cache ? type({"b", "s", "a", "d"})
                                              : perToken({"a", "d"}),
                                context, swap);
  return ReshapeOp::create(b, at("context"), perToken({"a*d"}), context);
}

void ModelBuilder::endWithLogits(Value logits) {
  if (!options.train)
    return endForward("logits", logits);
  // A masked model predicts tokens at their own position, not the next one.
  if (config.head == hf::Head::MaskedLM)
    (*module)->setAttr(predictsNextAttr, b.getBoolAttr(false));
  auto scalar = RankedTensorType::get({}, computeType(element));
  Value loss = CrossEntropyOp::create(b, at("loss"), scalar, Type(), logits,
                                      labels, uint64_t(-100), Reduction::Mean)
                   .getLoss();
  endForward("loss", loss);
}

Value ModelBuilder::causalTable(StringRef symbol, const Twine &hfName) {
  std::vector<std::string> alsoHead;
  if (config.tied && config.head == hf::Head::CausalLM)
    alsoHead = {"lm_head.weight"};
  return parameter(symbol, hfName, {"V", "h"}, InitKind::Normal, alsoHead);
}

void ModelBuilder::endCausal(Value hidden, Value table) {
  if (config.head == hf::Head::HiddenStates)
    return endForward("hidden_states", hidden);
  if (!config.tied)
    table = parameter("lm_head", "lm_head.weight", {"V", "h"});
  endWithLogits(softcap("logits", plainLinear("logits", hidden, table, {}, "V"),
                        config.logitsSoftcap));
}

std::string ModelBuilder::prefix(StringRef headed) const {
  return config.head == hf::Head::HiddenStates ? "" : headed.str();
}

} // namespace act
