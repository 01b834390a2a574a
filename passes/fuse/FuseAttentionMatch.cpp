// SPDX-License-Identifier: Apache-2.0
//
// The matcher described in FuseAttentionMatch.h. Every step that gives up says
// why and at which op: these sentences are the pass's remarks.
#include "passes/fuse/FuseAttentionMatch.h"

using namespace mlir;

namespace act {

// In a sum this tells the scores from the bias. A value with several readers is
// not the scores of one attention.
bool comesFromProduct(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse())
    return false;
  if (isa<MatmulOp>(op))
    return true;
  if (isa<TransposeOp, ReshapeOp, CastOp, ScaleOp, TanhOp>(op))
    return comesFromProduct(op->getOperand(0));
  return isa<AddOp, SubOp, MulOp, DivOp, SelectOp>(op) &&
         llvm::any_of(op->getOperands(), comesFromProduct);
}

namespace {

Type elementOf(Value v) {
  return cast<RankedTensorType>(v.getType()).getElementType();
}

/// Fills in one match. The order of the steps in `match` is that of what they
/// know: walking splits axes, masks show which axes are tokens or batch, and
/// only then can the remaining leading axes be told apart and operands be
/// checked.
class Matcher {
public:
  Matcher(SoftmaxOp softmax, AttentionMiss &miss) : miss(miss) {
    m.softmax = softmax;
  }
  std::optional<AttentionMatch> match();

private:
  /// Says why there is no match.
  bool no(Operation *at, const Twine &why) {
    miss = {at, why.str()};
    return false;
  }
  bool findScores();
  bool findQueriesAndKeys(ArrayRef<Axes> dims);
  Value addBias(Operation *op, ArrayRef<Axes> dims, double post);
  bool findOutput();
  bool findValues(Value probabilities, ArrayRef<Axes> dims);
  void trace(AttentionOperand &operand, bool throughFactors);
  bool traceRope(AttentionOperand &operand);
  void splitQueries();
  bool classifyMasks();
  bool classifyLeading();
  bool checkOperand(StringRef what, const AttentionOperand &operand,
                    ArrayRef<unsigned> leading, ArrayRef<unsigned> token,
                    ArrayRef<unsigned> depth);
  bool checkDropout();

  AttentionMiss &miss;
  AttentionMatch m;
  ScoreMask mask{m.space};
  SmallVector<Axes, 4> softmaxDims, dropoutDims;
  Axes leading, padded;
};

// Walks back from the softmax to the product of Q and K. `post` is the factor
// between the current value and the softmax, or the softcap's tanh after that.
//
//   softmax(cap * tanh(scale / cap * (Q K^T)))
//
// The factor behind the tanh is the cap. The one before it is scale / cap, so
// the scale is that factor times the cap.
bool Matcher::findScores() {
  for (const Dim &dim : dimsOf(m.softmax.getType()))
    softmaxDims.push_back(m.space.create(dim));
  m.keys = softmaxDims[m.softmax.getAxis()];
  AxisView view{m.softmax.getInput(), softmaxDims};
  double post = 1;
  while (true) {
    Operation *op = view.value.getDefiningOp();
    if (!op)
      return no(m.softmax, "no product of queries and keys precedes it");
    if (!view.value.hasOneUse())
      return no(
          op, "another op reads the scores, so they must be in memory anyway");
    if (auto product = dyn_cast<MatmulOp>(op)) {
      m.scores = product;
      m.scale = m.softcap ? post * *m.softcap : post;
      return findQueriesAndKeys(view.dims);
    }
    if (isa<TransposeOp, ReshapeOp>(op)) {
      if (!m.space.step(view))
        return no(op, "this view mixes dimensions of the scores");
    } else if (auto cast = dyn_cast<CastOp>(op)) {
      if (!isa<FloatType>(elementOf(cast.getInput())))
        return no(op, "the scores are not floats");
      view.value = cast.getInput();
    } else if (auto factor = constantFactor(op)) {
      post *= factor->factor;
      view.value = factor->input;
    } else if (m.softcap) {
      // The tanh would bound a mask applied before it.
      return no(op, "only factors, casts and views may be between the product "
                    "and a softcap");
    } else if (auto tanh = dyn_cast<TanhOp>(op)) {
      m.softcap = std::abs(post);
      post = post < 0 ? -1 : 1; // tanh is odd
      view.value = tanh.getInput();
    } else {
      Value scores = mask.add(op, view.dims, post);
      if (!scores)
        scores = addBias(op, view.dims, post);
      if (!scores)
        return no(op, "this op between the product and the softmax is not a "
                      "known factor, mask, bias or softcap");
      view.value = scores;
    }
  }
}

// Takes one operand of a sum as the bias and returns the other, the scores. It
// is called after ScoreMask, so a sum that is a known mask does not get here.
// Fails if both or neither come from a product: then nothing tells which is
// which.
Value Matcher::addBias(Operation *op, ArrayRef<Axes> dims, double post) {
  if (!isa<AddOp, SubOp>(op) || m.bias.value)
    return {};
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  bool left = comesFromProduct(lhs), right = comesFromProduct(rhs);
  if (left == right || (right && isa<SubOp>(op)))
    return {};
  Value scores = left ? lhs : rhs, bias = left ? rhs : lhs;
  if (mayHide(bias) ||
      !sameShape(dimsOf(cast<RankedTensorType>(scores.getType())),
                 dimsOf(cast<RankedTensorType>(op->getResult(0).getType()))))
    return {};
  m.bias = m.space.broadcast(bias, dims);
  m.biasFactor = isa<SubOp>(op) ? -post : post;
  return scores;
}

// The dimensions of a matmul's operands, derived from its result's.
struct OperandDims {
  SmallVector<Axes, 4> lhs, rhs;

  OperandDims(MatmulOp op, ArrayRef<Axes> lead, const Axes &rows,
              const Axes &columns, const Axes &contracted)
      : lhs(lead) {
    if (op.getRhs().getType().getRank() == op.getLhs().getType().getRank())
      rhs.assign(lead.begin(), lead.end());
    lhs.append({rows, contracted});
    rhs.append({contracted, columns});
    if (op.getTransposeLhs())
      std::swap(lhs.back(), lhs[lhs.size() - 2]);
    if (op.getTransposeRhs())
      std::swap(rhs.back(), rhs[rhs.size() - 2]);
  }
};

// The product may be Q K^T or its transpose K Q^T: the axis of the softmax is
// the keys, and the other one the queries.
bool Matcher::findQueriesAndKeys(ArrayRef<Axes> dims) {
  ArrayRef<Axes> lead = dims.drop_back(2);
  const Axes &rows = dims[dims.size() - 2], &columns = dims.back();
  Dims lhs = dimsOf(m.scores.getLhs().getType());
  m.depth =
      m.space.create(lhs[lhs.size() - (m.scores.getTransposeLhs() ? 2 : 1)]);
  OperandDims operands(m.scores, lead, rows, columns, m.depth);
  bool columnsAreKeys = m.space.same(columns, m.keys);
  if (!columnsAreKeys && !m.space.same(rows, m.keys))
    return no(m.softmax, "its axis is neither the rows nor the columns of the "
                         "product of queries and keys");
  m.queries = columnsAreKeys ? rows : columns;
  leading = m.space.sequence(lead);
  (columnsAreKeys ? m.q : m.k).view = {m.scores.getLhs(), operands.lhs};
  (columnsAreKeys ? m.k : m.q).view = {m.scores.getRhs(), operands.rhs};
  return true;
}

// Steps forward over a view op, from its input's dimensions to its result's.
static bool stepForward(AxisSpace &space, Operation *op,
                        SmallVector<Axes, 4> &dims) {
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<Axes, 4> out;
    for (int64_t p : transpose.getPermutation())
      out.push_back(dims[p]);
    dims = out;
    return true;
  }
  auto reshape = dyn_cast<ReshapeOp>(op);
  auto out =
      reshape ? space.regroup(dims, dimsOf(reshape.getType())) : std::nullopt;
  if (out)
    dims = *out;
  return out.has_value();
}

// Walks forward from the softmax to the product with V.
bool Matcher::findOutput() {
  Value value = m.softmax.getResult();
  SmallVector<Axes, 4> dims = softmaxDims;
  while (true) {
    if (!value.hasOneUse())
      return no(value.getDefiningOp(),
                value.use_empty() ? "nothing reads the probabilities"
                                  : "several ops read the probabilities, so "
                                    "they must be in memory anyway");
    Operation *op = *value.getUsers().begin();
    if (auto product = dyn_cast<MatmulOp>(op)) {
      m.output = product;
      return findValues(value, dims);
    }
    if (isa<TransposeOp, ReshapeOp>(op)) {
      if (!stepForward(m.space, op, dims))
        return no(op, "this view mixes dimensions of the probabilities");
    } else if (auto dropout = dyn_cast<DropoutOp>(op)) {
      if (m.dropout)
        return no(op, "this is a second dropout of the probabilities");
      m.dropout = dropout;
      dropoutDims = dims;
    } else if (auto cast = dyn_cast<CastOp>(op)) {
      if (!isa<Float64Type, Float32Type, BFloat16Type, Float16Type>(
              elementOf(cast.getResult())))
        return no(op, "the probabilities are cast to a type that is not a "
                      "float of 16 to 64 bits");
    } else {
      return no(op, "only casts, a dropout and views may be between the "
                    "softmax and the product with the values");
    }
    value = op->getResult(0);
  }
}

// P V or, transposed, V^T P^T. `probabilities` is one operand of the product;
// the other has the values.
bool Matcher::findValues(Value probabilities, ArrayRef<Axes> dims) {
  bool left = m.output.getLhs() == probabilities;
  Value other = left ? m.output.getRhs() : m.output.getLhs();
  bool transposed =
      left ? m.output.getTransposeLhs() : m.output.getTransposeRhs();
  bool otherTransposed =
      left ? m.output.getTransposeRhs() : m.output.getTransposeLhs();
  auto otherType = cast<RankedTensorType>(other.getType());
  if (!left && otherType.getRank() != int64_t(dims.size()))
    return no(m.output, "all heads read the same values here");
  // As lhs its last dimension is contracted, as rhs the one before.
  bool lastIsKeys = left != transposed;
  Axes last = dims.back(), before = dims[dims.size() - 2];
  if (!m.space.same(lastIsKeys ? last : before, m.keys) ||
      !m.space.same(lastIsKeys ? before : last, m.queries))
    return no(m.output, "this product with the probabilities does not contract "
                        "the softmax's axis");
  bool lastIsDepth = left != otherTransposed;
  Dims otherDims = dimsOf(otherType);
  m.valueDepth =
      m.space.create(otherDims[otherDims.size() - (lastIsDepth ? 1 : 2)]);
  ArrayRef<Axes> lead = dims.drop_back(2);
  m.resultDims.assign(lead.begin(), lead.end());
  m.resultDims.push_back(left ? m.queries : m.valueDepth);
  m.resultDims.push_back(left ? m.valueDepth : m.queries);
  OperandDims operands(m.output, lead, m.resultDims[lead.size()],
                       m.resultDims.back(), m.keys);
  m.v.view = {other, left ? operands.rhs : operands.lhs};
  // The fused op directly gives the result after the views that follow it.
  m.result = m.output.getResult();
  while (m.result.hasOneUse() &&
         stepForward(m.space, *m.result.getUsers().begin(), m.resultDims))
    m.result = m.result.getUsers().begin()->getResult(0);
  return true;
}

// Whether a cast from `narrow` to `wide` is exact.
static bool isExactIn(Type narrow, Type wide) {
  return isa<BFloat16Type, Float16Type, Float32Type>(narrow) &&
         isa<Float32Type, Float64Type>(wide) &&
         narrow.getIntOrFloatBitWidth() < wide.getIntOrFloatBitWidth();
}

// Walks back from an operand through views, factors and exact casts. The fused
// op multiplies by one factor and converts exactly, so these make no
// difference to it. Factors of V stay, as the op has no factor of the result.
void Matcher::trace(AttentionOperand &operand, bool throughFactors) {
  AxisView &view = operand.view;
  while (true) {
    operand.aliases.push_back(view);
    if (m.space.step(view))
      continue;
    Operation *op = view.value.getDefiningOp();
    if (auto cast = dyn_cast_or_null<CastOp>(op);
        cast &&
        isExactIn(elementOf(cast.getInput()), elementOf(cast.getResult()))) {
      view.value = cast.getInput();
      operand.aliases.clear();
      continue;
    }
    if (!throughFactors)
      return;
    if (auto factor = constantFactor(op)) {
      operand.factor *= factor->factor;
      view.value = factor->input;
      operand.aliases.clear();
      continue;
    }
    if (traceRope(operand))
      operand.aliases.clear();
    return;
  }
}

// [.., tokens, heads, d] to [.., heads, tokens, d] or back.
static bool exchangesHeadsAndTokens(TransposeOp op) {
  auto swap = llvm::to_vector(llvm::seq<int64_t>(op.getPermutation().size()));
  if (swap.size() < 3)
    return false;
  std::swap(swap[swap.size() - 3], swap[swap.size() - 2]);
  return llvm::equal(swap, op.getPermutation());
}

// Whether `value` repeats along a dimension other than tokens and head
// elements.
static bool repeatsHeads(Value value, bool headsFirst) {
  auto expand = value.getDefiningOp<ExpandOp>();
  if (!expand)
    return false;
  Dims from = dimsOf(expand.getInput().getType()),
       to = dimsOf(expand.getType());
  size_t token = to.size() - (headsFirst ? 2 : 3);
  return from[token] == to[token] && from.back() == to.back();
}

// A rotation acts on each head alone. So factors, the transpose of heads and
// tokens, and the repetition of heads may be moved from before it to after it.
bool Matcher::traceRope(AttentionOperand &operand) {
  auto rope = operand.view.value.getDefiningOp<RopeOp>();
  if (!rope)
    return false;
  AxisView view = operand.view;
  view.value = rope.getInput();
  double product = 1;
  bool moves = false;
  while (true) {
    if (auto factor = constantFactor(view.value.getDefiningOp());
        factor && rope->hasOneUse()) {
      product *= factor->factor;
      view.value = factor->input;
      continue;
    }
    if (repeatsHeads(view.value, moves ? false : rope.getHeadsFirst()) &&
        rope->hasOneUse()) {
      m.space.step(view);
      continue;
    }
    auto transpose = view.value.getDefiningOp<TransposeOp>();
    if (!transpose || moves || !rope.getHeadsFirst() ||
        !exchangesHeadsAndTokens(transpose))
      break;
    m.space.step(view);
    moves = true;
  }
  if (view.value == rope.getInput())
    return false;
  operand.view = view;
  operand.factor *= product;
  operand.rope = rope;
  operand.ropeMoves = moves;
  return true;
}

// With one key head for all query heads, a program may flatten heads and
// queries into the rows of one matrix. A mask of queries and keys shows which
// of these axes are tokens; the others are heads.
void Matcher::splitQueries() {
  Axes rows = m.space.flat(m.queries);
  for (const auto &[view, hides] : mask.getMasks()) {
    Operation *op = view.value.getDefiningOp();
    if (!isa_and_nonnull<CausalMaskOp, SegmentMaskOp>(op) ||
        !m.space.same(view.dims[1], m.keys))
      continue;
    Axes tokens = m.space.flat(view.dims[0]), heads;
    if (tokens.empty() || !llvm::all_of(tokens, [&](unsigned axis) {
          return llvm::is_contained(rows, axis);
        }))
      continue;
    for (unsigned axis : rows)
      if (!llvm::is_contained(tokens, axis))
        heads.push_back(axis);
    m.queries = tokens;
    llvm::append_range(leading, heads);
    return;
  }
}

// Classifies each elementary mask by the axes that it depends on. A causal mask
// and the boundaries of packed sequences become attributes and an operand, so
// kernels can leave out hidden blocks. Any other mask stays a value.
bool Matcher::classifyMasks() {
  leading = m.space.flat(leading);
  splitQueries();
  for (const ElementaryMask &elementary : mask.getMasks()) {
    const AxisView &view = elementary.view;
    auto is = [&](const Axes &rows, const Axes &columns) {
      return !elementary.hides && m.space.sameDims(view.dims, {rows, columns});
    };
    Operation *op = view.value.getDefiningOp();
    if (auto causal = dyn_cast_or_null<CausalMaskOp>(op)) {
      if (!is(m.queries, m.keys))
        return no(op, "this mask is not of queries and keys, in this order");
      bool square = m.space.product(m.queries) == m.space.product(m.keys);
      bool topLeft = causal.getTopLeft() && !square;
      if (m.causal && m.topLeft != topLeft)
        return no(op, "two causal masks are aligned differently");
      m.causal = true;
      m.topLeft = topLeft;
      if (auto window = causal.getWindow())
        m.window = std::min<int64_t>(*window, m.window.value_or(*window));
      continue;
    }
    if (auto segments = dyn_cast_or_null<SegmentMaskOp>(op)) {
      if (!is(m.queries, m.keys) && !is(m.keys, m.queries))
        return no(op, "this mask is not of queries and keys");
      if (m.cuSeqlens && m.cuSeqlens != segments.getCuSeqlens())
        return no(op, "two masks have different boundaries of sequences");
      m.cuSeqlens = segments.getCuSeqlens();
      continue;
    }
    bool ofQueries = false, ofKeys = false;
    for (unsigned axis : m.space.withoutUnits(m.space.sequence(view.dims))) {
      ofKeys |= llvm::is_contained(m.space.flat(m.keys), axis);
      if (llvm::is_contained(m.space.flat(m.keys), axis))
        continue;
      ofQueries |= llvm::is_contained(m.space.flat(m.queries), axis);
      if (llvm::is_contained(m.space.flat(m.queries), axis))
        continue;
      if (!llvm::is_contained(leading, axis))
        return no(op ? op : m.softmax.getOperation(),
                  "a mask depends on a dimension that the scores do not have");
      if (!llvm::is_contained(padded, axis))
        padded.push_back(axis);
    }
    // For a query that sees nothing the fused op gives zeros. The program, with
    // -1e9 everywhere, gives the mean.
    if (ofQueries && !ofKeys)
      return no(op ? op : m.softmax.getOperation(),
                "a mask hides whole rows of queries");
    if (llvm::none_of(m.masks, [&](const ElementaryMask &old) {
          return old.view.value == view.value &&
                 old.hides == elementary.hides &&
                 m.space.sameDims(old.view.dims, view.dims);
        }))
      m.masks.push_back(elementary);
  }
  return !m.cuSeqlens || m.masks.empty() ||
         no(m.softmax, "packed sequences also have a mask of values");
}

// Decides which leading axes are batch and which are heads, in the scores'
// order.
//
// Axes that K and V lack are heads; axes of masks are batch. For other axes
// both are correct. The choice that avoids transposing Q is: axes before the
// tokens are batch. If that does not decide ([b, heads, s, d]), the first is
// batch.
bool Matcher::classifyLeading() {
  Axes inK = m.space.sequence(m.k.view.dims),
       inV = m.space.sequence(m.v.view.dims);
  Axes shared, groups;
  for (unsigned axis : leading) {
    bool k = llvm::is_contained(inK, axis), v = llvm::is_contained(inV, axis);
    if (k != v && !m.space.isUnit(axis))
      return no(m.softmax, "keys and values have different heads");
    (k || m.space.isUnit(axis) ? shared : groups).push_back(axis);
  }
  // Heads that share a key must be adjacent: an order other than [kv_heads,
  // group] is not grouped-query attention.
  if (!groups.empty()) {
    auto position = [&](unsigned axis) { return llvm::find(leading, axis); };
    for (unsigned axis : shared)
      if (!m.space.isUnit(axis) && position(axis) > position(groups.front()))
        return no(m.softmax, "heads that share keys are not adjacent");
  }
  Axes inQ = m.space.sequence(m.q.view.dims);
  Axes queries = m.space.flat(m.queries);
  auto tokens = queries.empty() ? inQ.end() : llvm::find(inQ, queries.front());
  Axes before, after;
  for (unsigned axis : shared)
    (std::find(inQ.begin(), tokens, axis) != tokens ? before : after)
        .push_back(axis);
  bool telling = tokens != inQ.end() && !m.space.withoutUnits(after).empty();
  for (unsigned axis : shared) {
    bool isBatch = llvm::is_contained(padded, axis);
    if (m.cuSeqlens)
      isBatch = false;
    else if (telling)
      isBatch |= llvm::is_contained(before, axis);
    else if (padded.empty())
      isBatch = axis == shared.front();
    (isBatch ? m.batch : m.kvHeads).push_back(axis);
  }
  if (llvm::any_of(groups, [&](unsigned axis) {
        return llvm::is_contained(padded, axis);
      }))
    return no(m.softmax, "a mask differs between heads that share keys");
  m.heads = m.kvHeads;
  llvm::append_range(m.heads, groups);
  return true;
}

// Whether the operand depends on exactly the expected axes.
bool Matcher::checkOperand(StringRef what, const AttentionOperand &operand,
                           ArrayRef<unsigned> leading, ArrayRef<unsigned> token,
                           ArrayRef<unsigned> depth) {
  Axes expected;
  for (ArrayRef<unsigned> axes : {leading, token, depth})
    llvm::append_range(expected, m.space.withoutUnits(axes));
  Axes actual = m.space.withoutUnits(m.space.sequence(operand.view.dims));
  llvm::sort(expected);
  llvm::sort(actual);
  Type have = elementOf(operand.view.value);
  Type element = elementOf(m.output.getResult());
  if (expected != actual)
    return no(m.softmax, what + " have other dimensions than batch, heads, "
                                "tokens and a head's width");
  if (have == element || isExactIn(have, element))
    return true;
  std::string types;
  llvm::raw_string_ostream(types) << have << ", but the result " << element;
  return no(m.output, what + " are " + types);
}

// Dropout draws by the element's index in its tensor, the fused op by the index
// in [b, heads, s, s_kv]. The two must agree.
bool Matcher::checkDropout() {
  if (!m.dropout)
    return true;
  Axes expected;
  for (const Axes *axes : {&m.batch, &m.heads, &m.queries, &m.keys})
    llvm::append_range(expected, m.space.withoutUnits(*axes));
  return m.space.withoutUnits(m.space.sequence(dropoutDims)) == expected ||
         no(m.dropout, "this dropout does not count the probabilities as "
                       "[b, heads, s, s_kv], so fusing it would change its "
                       "random numbers");
}

std::optional<AttentionMatch> Matcher::match() {
  if (!findScores() || !findOutput())
    return std::nullopt;
  trace(m.q, true);
  trace(m.k, true);
  trace(m.v, false);
  m.scale *= m.q.factor * m.k.factor;
  if (!std::isfinite(m.scale))
    no(m.softmax, "the scores' factor is not a finite number");
  if (!std::isfinite(m.scale) || !classifyMasks() || !classifyLeading())
    return std::nullopt;
  Axes kvLeading = m.batch, qLeading = m.batch;
  llvm::append_range(kvLeading, m.kvHeads);
  llvm::append_range(qLeading, m.heads);
  if (!checkOperand("queries", m.q, qLeading, m.queries, m.depth) ||
      !checkOperand("keys", m.k, kvLeading, m.keys, m.depth) ||
      !checkOperand("values", m.v, kvLeading, m.keys, m.valueDepth) ||
      !checkDropout())
    return std::nullopt;
  return std::move(m);
}

} // namespace

std::optional<AttentionMatch> matchAttention(SoftmaxOp softmax,
                                             AttentionMiss &miss) {
  return Matcher(softmax, miss).match();
}

} // namespace act
