// SPDX-License-Identifier: Apache-2.0
#include "passes/raise/ActForm.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace act;

/// Behind reshapes.
static Value behindReshapes(Value v) {
  while (auto reshape = v.getDefiningOp<ReshapeOp>())
    v = reshape.getInput();
  return v;
}

/// A weight [out, in], or [in, out]: an argument, or a view of its elements in
/// order, as of a convolution's; null if it is another value.
static Value weightOf(Value v, bool transposed, bool &isInOut, Maker &make) {
  auto shape = llvm::to_vector(typeOf(v).getShape());
  v = behindReshapes(v);
  isInOut = !transposed;
  if (auto transpose = v.getDefiningOp<TransposeOp>()) {
    if (typeOf(v).getRank() != 2 ||
        transpose.getPermutation() != ArrayRef<int64_t>{1, 0})
      return {};
    v = behindReshapes(transpose.getInput());
    isInOut = !isInOut;
    std::swap(shape[0], shape[1]);
  }
  const bool isArgument = isa<BlockArgument>(v) || v.getDefiningOp<ParamOp>();
  return isArgument ? make.reshaped(v, shape) : Value();
}

/// Whether the product is scores or values of an attention without batches: its
/// keys and values may be arguments, too.
static bool isOfAttention(MatmulOp product) {
  if (behindReshapes(product.getLhs()).getDefiningOp<SoftmaxOp>())
    return true;
  Value v = product.getResult();
  while (v.hasOneUse()) {
    Operation *user = *v.getUsers().begin();
    if (isa<SoftmaxOp>(user))
      return true;
    if (!isa<ReshapeOp, TransposeOp, ScaleOp, AddOp, MulOp, DivOp,
             act::SelectOp, CastOp>(user))
      return false;
    v = user->getResult(0);
  }
  return false;
}

Value act::linearFor(Operation *op, Maker &make) {
  auto product = dyn_cast<MatmulOp>(op);
  if (!product || typeOf(product.getLhs()).getRank() != 2 ||
      product.getTransposeLhs() || typeOf(product.getRhs()).getRank() != 2 ||
      isOfAttention(product))
    return {};
  bool isInOut;
  Value weight =
      weightOf(product.getRhs(), product.getTransposeRhs(), isInOut, make);
  auto type = typeOf(product.getResult());
  if (!weight || typeOf(weight).getElementType() != type.getElementType() ||
      typeOf(product.getLhs()).getElementType() != type.getElementType())
    return {};
  // The rows as they were before they became one dimension.
  Value x = product.getLhs();
  while (auto reshape = x.getDefiningOp<ReshapeOp>()) {
    Value before = reshape.getInput();
    if (typeOf(before).getRank() < 2 ||
        typeOf(before).getShape().back() != typeOf(x).getShape().back())
      break;
    x = before;
  }
  // Or as they are afterwards, where they were made for the product.
  auto reader = product->hasOneUse()
                    ? dyn_cast<ReshapeOp>(*product->getUsers().begin())
                    : ReshapeOp();
  if (x == product.getLhs() && reader) {
    auto to = typeOf(reader.getResult()).getShape();
    if (to.size() > 2 && to.back() == type.getShape().back()) {
      SmallVector<int64_t> rows(to);
      rows.back() = typeOf(x).getShape().back();
      x = make.reshaped(x, rows);
    }
  }
  SmallVector<int64_t> shape(typeOf(x).getShape());
  shape.back() = type.getShape().back();
  auto linear =
      LinearOp::create(make.b, make.loc, make.shaped(type, shape), x, weight);
  linear.setInOut(isInOut);
  return make.reshaped(linear.getResult(), type.getShape());
}

/// The views between a value and a linear layer, the nearest first, and which
/// dimension of the value is the layer's last one.
struct LinearBehind {
  LinearOp linear;
  SmallVector<Operation *> views;
  unsigned columns;
};
static std::optional<LinearBehind> linearBehind(Value v) {
  LinearBehind found;
  while (isa_and_present<ReshapeOp, TransposeOp>(v.getDefiningOp()) &&
         v.hasOneUse()) {
    found.views.push_back(v.getDefiningOp());
    v = v.getDefiningOp()->getOperand(0);
  }
  found.linear = v.getDefiningOp<LinearOp>();
  if (!found.linear || found.linear.getBias() || !v.hasOneUse())
    return std::nullopt;
  found.columns = typeOf(v).getRank() - 1;
  for (Operation *view : llvm::reverse(found.views)) {
    auto from = typeOf(view->getOperand(0)).getShape(),
         to = typeOf(view->getResult(0)).getShape();
    if (auto transpose = dyn_cast<TransposeOp>(view)) {
      found.columns = llvm::find(transpose.getPermutation(), found.columns) -
                      transpose.getPermutation().begin();
      continue;
    }
    // The dimension with as many elements behind it.
    int64_t inner = 1, n = 1;
    for (int64_t size : from.drop_front(found.columns + 1))
      inner *= size;
    unsigned d = to.size();
    while (d && (n != inner || to[d - 1] == 1))
      n *= to[--d];
    if (!d || to[d - 1] != from[found.columns])
      return std::nullopt;
    found.columns = d - 1;
  }
  return found;
}

/// input W^T + bias
static Value biasedLinear(AddOp add, Maker &make) {
  for (unsigned i : {0u, 1u}) {
    auto found = linearBehind(add->getOperand(i));
    if (!found || typeOf(add->getOperand(i)) != typeOf(add.getResult()))
      continue;
    LinearOp linear = found->linear;
    const int64_t width = typeOf(linear.getResult()).getShape().back();
    Value bias = behindReshapes(add->getOperand(1 - i));
    auto shape = typeOf(add->getOperand(1 - i)).getShape();
    const int64_t left = typeOf(add.getResult()).getRank() - shape.size();
    if (typeOf(bias).getRank() != 1 || typeOf(bias).getDimSize(0) != width ||
        typeOf(bias).getNumElements() !=
            typeOf(add->getOperand(1 - i)).getNumElements() ||
        int64_t(found->columns) < left || shape[found->columns - left] != width)
      continue;
    auto biased =
        LinearOp::create(make.b, make.loc, linear.getResult().getType(),
                         linear.getInput(), linear.getWeight(), bias);
    biased.setInOut(linear.getInOut());
    Value v = biased.getResult();
    for (Operation *view : llvm::reverse(found->views)) {
      Operation *own = make.b.clone(*view);
      own->setOperand(0, v);
      v = own->getResult(0);
    }
    return v;
  }
  return {};
}

/// act(gate) * up
static Value gated(MulOp product, Maker &make) {
  auto type = product.getResult().getType();
  for (unsigned i : {0u, 1u}) {
    Value other = product->getOperand(1 - i);
    Operation *op = product->getOperand(i).getDefiningOp();
    if (!isa_and_present<SiluOp, GeluOp>(op) || !op->hasOneUse() ||
        other.getType() != type || op->getOperand(0).getType() != type)
      continue;
    Value gate = op->getOperand(0);
    if (isa<SiluOp>(op))
      return SwigluOp::create(make.b, make.loc, type, gate, other);
    return GegluOp::create(make.b, make.loc, type, gate, other);
  }
  return {};
}

/// A chain of views that keeps the elements' order is one reshape.
///
/// Dimensions are split so far that each view moves them whole.
static Value reshapeOf(Operation *op, Maker &make) {
  if (!isa<TransposeOp>(op))
    return {};
  SmallVector<Operation *> views;
  Value v = op->getResult(0);
  while (isa_and_present<ReshapeOp, TransposeOp>(v.getDefiningOp())) {
    views.push_back(v.getDefiningOp());
    v = v.getDefiningOp()->getOperand(0);
  }
  if (views.size() < 3)
    return {};
  // Of each dimension, its parts: a size, and the distance of elements.
  using Part = std::pair<int64_t, int64_t>;
  SmallVector<SmallVector<Part>> dims;
  auto sizes = typeOf(v).getShape();
  int64_t stride = typeOf(v).getNumElements();
  for (int64_t size : sizes) {
    stride /= std::max<int64_t>(size, 1);
    dims.push_back({Part(size, stride)});
  }
  for (Operation *view : llvm::reverse(views)) {
    SmallVector<SmallVector<Part>> next;
    if (auto transpose = dyn_cast<TransposeOp>(view)) {
      for (int64_t d : transpose.getPermutation())
        next.push_back(dims[d]);
      dims = next;
      continue;
    }
    SmallVector<Part> parts;
    for (auto &dim : dims)
      for (Part part : dim)
        if (part.first != 1)
          parts.push_back(part);
    auto *at = parts.begin();
    for (int64_t size : typeOf(view->getResult(0)).getShape()) {
      next.emplace_back();
      while (size != 1) {
        if (at == parts.end())
          return {};
        if (size % at->first == 0) {
          size /= at->first;
          next.back().push_back(*at++);
        } else if (at->first % size == 0) {
          const int64_t rest = at->first / size;
          next.back().push_back(Part(size, at->second * rest));
          at->first = rest;
          size = 1;
        } else {
          return {};
        }
      }
    }
    dims = next;
  }
  stride = typeOf(v).getNumElements();
  for (auto &dim : dims)
    for (Part part : dim) {
      if (part.first == 1)
        continue;
      stride /= part.first;
      if (part.second != stride)
        return {};
    }
  return make.reshaped(v, typeOf(op->getResult(0)).getShape());
}

namespace {

/// One half of a tensor along its last dimension, or of its neighbouring pairs.
struct Half {
  Value of; ///< as it is split: pairs are [.., width / 2, 2]
  unsigned which;
  bool interleaved;

  /// The tensor that is rotated, [.., width].
  RankedTensorType type() const {
    RankedTensorType own = typeOf(of);
    if (!interleaved)
      return own;
    SmallVector<int64_t> shape(own.getShape().drop_back());
    shape.back() *= 2;
    return RankedTensorType::get(shape, own.getElementType());
  }
  bool isOf(Value x) const {
    return x.getType() == type() && behindReshapes(x) == behindReshapes(of);
  }
};
std::optional<Half> halfOf(Value v) {
  auto split = v.getDefiningOp<SplitOp>();
  // A pair's element has a dimension of 1, which others do without.
  const bool interleaved =
      !split || typeOf(split->getResult(0)).getShape().back() == 1;
  if (interleaved)
    v = behindReshapes(v);
  split = v.getDefiningOp<SplitOp>();
  if (!split || split.getNumResults() != 2 ||
      split->getResult(0).getType() != split->getResult(1).getType() ||
      (interleaved && (typeOf(split.getInput()).getRank() < 2 ||
                       typeOf(split.getInput()).getShape().back() != 2)))
    return std::nullopt;
  return Half{split.getInput(), cast<OpResult>(v).getResultNumber(),
              interleaved};
}

/// The elements of a concatenation of pairs, without their dimension of 1.
Value elementOfPair(ConcatOp concat, unsigned i) {
  Value v = concat->getOperand(i);
  auto reshape = v.getDefiningOp<ReshapeOp>();
  if (!reshape || typeOf(concat.getResult()).getShape().back() != 2)
    return v;
  return typeOf(v).getShape().drop_back() ==
                 typeOf(reshape.getInput()).getShape()
             ? reshape.getInput()
             : v;
}

/// A table [tokens, width], as x [.., d] reads it: along its tokens and last
/// dimension. Its width is d, or d / 2 of halves.
struct Table {
  Value value; ///< [tokens, width]
  bool headsFirst;
};
std::optional<Table> tableIn(Value v, RankedTensorType x, int64_t width,
                             Maker &make) {
  auto shape = typeOf(v).getShape();
  const int64_t rank = x.getRank();
  if (rank < 3 || int64_t(shape.size()) != rank || shape.back() != width)
    return std::nullopt;
  // Heads may be one, so the dimension of tokens is the one that is not 1.
  std::optional<int64_t> tokens;
  for (int64_t d = 0; d + 1 < rank; ++d) {
    if (shape[d] == 1)
      continue;
    if (tokens || shape[d] != x.getDimSize(d))
      return std::nullopt;
    tokens = d;
  }
  if (!tokens || *tokens < rank - 3)
    return std::nullopt;
  v = make.reshaped(behindReshapes(v), {shape[*tokens], shape.back()});
  return Table{v, *tokens == rank - 2};
}

/// The first half of a table whose halves are equal, or the first elements of
/// its pairs: elementwise ops of a concatenation of a tensor with itself, or of
/// one whose elements are repeated. Null if that is not seen.
Value firstOfEqualHalves(Value table, bool interleaved, Maker &make) {
  auto reshape = table.getDefiningOp<ReshapeOp>();
  auto repeated =
      reshape ? reshape.getInput().getDefiningOp<ExpandOp>() : ExpandOp();
  if (interleaved && repeated) {
    auto from = typeOf(repeated.getInput()), to = typeOf(repeated.getResult());
    if (from.getRank() == to.getRank() && to.getRank() > 1 &&
        from.getShape().back() == 1 && to.getShape().back() == 2 &&
        from.getShape().drop_back() == to.getShape().drop_back() &&
        typeOf(table).getShape().back() ==
            2 * from.getDimSize(from.getRank() - 2)) {
      SmallVector<int64_t> shape(typeOf(table).getShape());
      shape.back() /= 2;
      return make.reshaped(repeated.getInput(), shape);
    }
  }
  if (auto concat = table.getDefiningOp<ConcatOp>())
    return !interleaved && concat->getNumOperands() == 2 &&
                   concat->getOperand(0) == concat->getOperand(1)
               ? concat->getOperand(0)
               : Value();
  Operation *op = table.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return {};
  auto halved = [&](Value v) {
    SmallVector<int64_t> shape(typeOf(v).getShape());
    shape.back() /= 2;
    return RankedTensorType::get(shape, typeOf(v).getElementType());
  };
  if (isa<ReshapeOp, ScaleOp, CastOp>(op)) {
    if (typeOf(op->getOperand(0)).getRank() == 0 ||
        typeOf(op->getOperand(0)).getShape().back() !=
            typeOf(table).getShape().back())
      return {};
    Value half = firstOfEqualHalves(op->getOperand(0), interleaved, make);
    if (!half)
      return {};
    Operation *made = make.b.clone(*op);
    made->setOperand(0, half);
    made->getResult(0).setType(halved(table));
    return made->getResult(0);
  }
  auto form = elementwiseOf(op);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!form || generic.getNumDpsInputs() != 1 || !form->inputs[0].read ||
      !form->inputs[0].read->isIdentity(typeOf(table).getRank()) ||
      llvm::any_of(generic.getBody()->getOperations(),
                   llvm::IsaPred<linalg::IndexOp>))
    return {};
  Value half = firstOfEqualHalves(generic.getInputs()[0], interleaved, make);
  if (!half)
    return {};
  auto type = halved(table);
  Value empty = tensor::EmptyOp::create(make.b, make.loc, type.getShape(),
                                        type.getElementType());
  auto made = cast<linalg::GenericOp>(make.b.clone(*generic));
  made->setOperands({half, empty});
  made->getResult(0).setType(type);
  return made.getResult(0);
}

Value rope(const Half &half, const Table &cos, const Table &sin, Maker &make) {
  RankedTensorType type = half.type();
  if (type.getElementType() != typeOf(cos.value).getElementType() &&
      !typeOf(cos.value).getElementType().isF32())
    return {};
  auto flag = [&](bool is) { return is ? make.b.getUnitAttr() : UnitAttr(); };
  return RopeOp::create(make.b, make.loc, type,
                        make.reshaped(half.of, type.getShape()), cos.value,
                        sin.value, flag(half.interleaved), flag(cos.headsFirst),
                        /*inverse=*/UnitAttr());
}

/// x cos + turned(x) sin, for tables whose halves are equal. What is turned is
/// concat(-high, low), of halves or of each pair.
Value rotatedWhole(AddOp add, Maker &make) {
  for (unsigned i : {0u, 1u}) {
    auto straight = add->getOperand(i).getDefiningOp<MulOp>(),
         turned = add->getOperand(1 - i).getDefiningOp<MulOp>();
    if (!straight || !turned)
      return {};
    for (unsigned j : {0u, 1u}) {
      auto concat =
          behindReshapes(turned->getOperand(j)).getDefiningOp<ConcatOp>();
      if (!concat || concat->getNumOperands() != 2)
        continue;
      auto minus = elementOfPair(concat, 0).getDefiningOp<ScaleOp>();
      auto low = halfOf(concat->getOperand(1));
      auto high = minus && minus.getFactor().convertToDouble() == -1
                      ? halfOf(minus.getInput())
                      : std::nullopt;
      if (!low || !high || low->of != high->of || low->which != 0 ||
          high->which != 1 || low->interleaved != high->interleaved ||
          concat.getType() != low->of.getType() ||
          turned->getOperand(j).getType() != add.getType())
        continue;
      for (unsigned k : {0u, 1u}) {
        if (!low->isOf(straight->getOperand(k)) || add.getType() != low->type())
          continue;
        const int64_t width = low->type().getShape().back();
        auto cos =
                 tableIn(straight->getOperand(1 - k), low->type(), width, make),
             sin = tableIn(turned->getOperand(1 - j), low->type(), width, make);
        if (!cos || !sin || cos->headsFirst != sin->headsFirst)
          continue;
        for (auto *table : {&*cos, &*sin})
          table->value =
              firstOfEqualHalves(table->value, low->interleaved, make);
        if (cos->value && sin->value)
          return rope(*low, *cos, *sin, make);
        add->emitRemark("raise-to-act: nearly a rotary embedding: it is not "
                        "seen that both halves of its tables are equal");
      }
    }
  }
  return {};
}

/// The half and the table of half * table.
struct Factor {
  Half half;
  Value table;
};
std::optional<Factor> factorOf(Value v) {
  auto product = v.getDefiningOp<MulOp>();
  if (!product)
    return std::nullopt;
  for (unsigned i : {0u, 1u})
    if (auto half = halfOf(product->getOperand(i)))
      return Factor{*half, product->getOperand(1 - i)};
  return std::nullopt;
}

/// concat(low cos - high sin, high cos + low sin), of halves or of each pair
Value rotatedHalves(ConcatOp concat, Maker &make) {
  if (concat->getNumOperands() != 2)
    return {};
  auto minus = elementOfPair(concat, 0).getDefiningOp<SubOp>();
  auto plus = elementOfPair(concat, 1).getDefiningOp<AddOp>();
  if (!minus || !plus)
    return {};
  auto lowCos = factorOf(minus->getOperand(0)),
       highSin = factorOf(minus->getOperand(1));
  auto highCos = factorOf(plus->getOperand(0)),
       lowSin = factorOf(plus->getOperand(1));
  if (!lowCos || !highSin || !highCos || !lowSin)
    return {};
  if (highCos->half.which == 0)
    std::swap(highCos, lowSin);
  const Half &x = lowCos->half;
  for (auto [factor, which] : {std::pair(&*lowCos, 0u),
                               {&*highSin, 1u},
                               {&*highCos, 1u},
                               {&*lowSin, 0u}})
    if (factor->half.of != x.of || factor->half.which != which ||
        factor->half.interleaved != x.interleaved)
      return {};
  auto same = [](Value a, Value b) {
    return a.getType() == b.getType() && behindReshapes(a) == behindReshapes(b);
  };
  if (!same(lowCos->table, highCos->table) ||
      !same(highSin->table, lowSin->table) ||
      x.of.getType() != concat.getType())
    return {};
  const int64_t width = x.type().getShape().back() / 2;
  auto cos = tableIn(lowCos->table, x.type(), width, make),
       sin = tableIn(highSin->table, x.type(), width, make);
  if (!cos || !sin || cos->headsFirst != sin->headsFirst)
    return {};
  Value rotated = rope(x, *cos, *sin, make);
  return rotated ? make.reshaped(rotated, concat.getType().getShape())
                 : Value();
}

} // namespace

Value act::actFormOf(Operation *op, Maker &make) {
  if (auto add = dyn_cast<AddOp>(op)) {
    if (Value v = biasedLinear(add, make))
      return v;
    return rotatedWhole(add, make);
  }
  if (auto product = dyn_cast<MulOp>(op))
    return gated(product, make);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return rotatedHalves(concat, make);
  return reshapeOf(op, make);
}
