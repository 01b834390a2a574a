// SPDX-License-Identifier: Apache-2.0
//
// How axes are split and regrouped, and how a value with given axes is built.
// Dimensions are divided by their names first and by their sizes second. Where
// two letters have the same size, only the names tell which is which, and
// formulas read the names.
#include "passes/fuse/AxisView.h"

using namespace mlir;

namespace act {
namespace {

/// A dimension's name as a factor and sorted letters.
struct Monomial {
  int64_t factor = 1;
  SmallVector<std::string> letters;

  explicit Monomial(StringRef name = "1") {
    SmallVector<StringRef> terms;
    name.split(terms, '*');
    for (StringRef term : terms) {
      int64_t n;
      if (!term.getAsInteger(10, n))
        factor *= n;
      else
        letters.push_back(term.str());
    }
    llvm::sort(letters);
  }

  std::string text() const {
    std::string text;
    if (factor != 1 || letters.empty())
      text = std::to_string(factor);
    for (const std::string &letter : letters)
      text += (text.empty() ? "" : "*") + letter;
    return text;
  }
};

bool isPlainOne(const Dim &dim) {
  return dim.size == 1 && Monomial(dim.name).letters.empty();
}

/// a / b if both the names and the sizes divide.
std::optional<Dim> divideNames(const Dim &a, const Dim &b) {
  Monomial quotient(a.name), by(b.name);
  if (by.factor == 0 || quotient.factor % by.factor)
    return std::nullopt;
  quotient.factor /= by.factor;
  for (const std::string &letter : by.letters) {
    auto *it = llvm::find(quotient.letters, letter);
    if (it == quotient.letters.end())
      return std::nullopt;
    quotient.letters.erase(it);
  }
  int64_t size = ShapedType::kDynamic;
  if (a.isStatic() && b.isStatic()) {
    if (a.size % b.size)
      return std::nullopt;
    size = a.size / b.size;
    if (quotient.letters.empty() && quotient.factor != size)
      return std::nullopt;
  } else if (quotient.letters.empty()) {
    size = quotient.factor;
  } else if (a.isStatic()) {
    return std::nullopt; // its size is unknown
  }
  return Dim(size, quotient.text());
}

/// a / b by size alone.
std::optional<Dim> divideSizes(const Dim &a, const Dim &b) {
  if (!a.isStatic() || !b.isStatic() || a.size % b.size)
    return std::nullopt;
  return Dim(a.size / b.size);
}

/// a / b if only the program shows that it is an integer: gets its own letter.
/// For example, key heads k repeated to a heads: each serves a / k, and neither
/// letter contains the other.
Dim unnamedQuotient(const Dim &a, const Dim &b) {
  std::string name = "_" + a.name + "_per_" + b.name;
  llvm::replace(name, '*', '_');
  return Dim(ShapedType::kDynamic, name);
}

RankedTensorType typeOf(ArrayRef<Dim> dims, Type element) {
  SmallVector<int64_t> shape;
  SmallVector<std::string> names;
  for (const Dim &dim : dims) {
    shape.push_back(dim.size);
    names.push_back(dim.name);
  }
  return namedTensor(shape, element, names, element.getContext());
}

} // namespace

Axes AxisSpace::create(const Dim &dim) {
  if (isPlainOne(dim))
    return {};
  nodes.push_back({dim, {}});
  return {unsigned(nodes.size() - 1)};
}

Axes AxisSpace::flat(ArrayRef<unsigned> axes) const {
  Axes out;
  for (unsigned axis : axes) {
    if (nodes[axis].parts.empty())
      out.push_back(axis);
    else
      llvm::append_range(out, flat(nodes[axis].parts));
  }
  return out;
}

Axes AxisSpace::sequence(ArrayRef<Axes> dims) const {
  Axes out;
  for (const Axes &axes : dims)
    llvm::append_range(out, flat(axes));
  return out;
}

bool AxisSpace::same(ArrayRef<unsigned> a, ArrayRef<unsigned> b) const {
  return flat(a) == flat(b);
}

bool AxisSpace::sameDims(ArrayRef<Axes> a, ArrayRef<Axes> b) const {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [&](auto pair) {
           return same(std::get<0>(pair), std::get<1>(pair));
         });
}

bool AxisSpace::sameShape(ArrayRef<Axes> a, ArrayRef<Axes> b) const {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [&](auto pair) {
           return withoutUnits(std::get<0>(pair)) ==
                  withoutUnits(std::get<1>(pair));
         });
}

Axes AxisSpace::withoutUnits(ArrayRef<unsigned> axes) const {
  Axes out;
  llvm::copy_if(flat(axes), std::back_inserter(out),
                [&](unsigned axis) { return !isUnit(axis); });
  return out;
}

// The dimension that these axes make together, with a name as a person would
// write it.
Dim AxisSpace::product(ArrayRef<unsigned> axes) const {
  Axes leaves = flat(axes);
  // Merge all parts of an axis back into it, because its name is shorter than
  // theirs. Axes come before their parts.
  for (auto [whole, node] : llvm::enumerate(nodes)) {
    Axes parts = flat(node.parts);
    auto *found =
        std::search(leaves.begin(), leaves.end(), parts.begin(), parts.end());
    if (parts.empty() || found == leaves.end())
      continue;
    *found = whole;
    leaves.erase(found + 1, found + parts.size());
  }
  if (leaves.size() == 1)
    return nodes[leaves[0]].dim;
  int64_t size = 1;
  Monomial name;
  for (unsigned axis : leaves) {
    const Dim &dim = nodes[axis].dim;
    size = dim.isStatic() && !ShapedType::isDynamic(size)
               ? size * dim.size
               : ShapedType::kDynamic;
    Monomial factor(dim.name);
    name.factor *= factor.factor;
    llvm::append_range(name.letters, factor.letters);
  }
  llvm::sort(name.letters);
  return Dim(size, name.text());
}

// The axis stays as a node with parts, so all views that have it see them.
void AxisSpace::split(unsigned axis, const Dim &outer, const Dim &inner) {
  Axes parts = create(outer);
  llvm::append_range(parts, create(inner));
  nodes[axis].parts = parts;
}

// Takes axes from the sequence until each of `dims` is full. Splits an axis
// that is larger than what a dimension still needs. Leftover axes go to `rest`
// if it is given (an expand repeats them); otherwise they must have size 1.
//
//   axes {b} {s} {h}   dims [b, s, a, d]    h is split into a and d
//   axes {b} {s} {d}   dims [b*s, d]        b and s are taken together
std::optional<SmallVector<Axes, 4>>
AxisSpace::distribute(ArrayRef<unsigned> axes, ArrayRef<Dim> dims, Axes *rest) {
  Axes queue = flat(axes);
  SmallVector<Axes, 4> out(dims.size());
  size_t next = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    Dim need = dims[i];
    while (!isPlainOne(need)) {
      if (next == queue.size()) {
        if (need.size != 1)
          return std::nullopt;
        break;
      }
      unsigned axis = queue[next];
      Dim have = nodes[axis].dim;
      auto take = [&] {
        out[i].push_back(axis);
        ++next;
      };
      auto cut = [&](const Dim &outer, const Dim &inner) {
        split(axis, outer, inner);
        Axes parts = flat(axis);
        queue.erase(queue.begin() + next);
        queue.insert(queue.begin() + next, parts.begin(), parts.end());
        out[i].push_back(queue[next++]);
      };
      if (have == need) {
        take();
        break;
      }
      if (auto quotient = divideNames(need, have)) {
        take();
        need = *quotient;
      } else if (auto quotient = divideNames(have, need)) {
        cut(need, *quotient);
        break;
      } else if (isUnit(axis)) {
        take();
      } else if (need.size == 1) {
        break;
      } else if (auto quotient = divideSizes(need, have)) {
        take();
        need = *quotient;
      } else if (auto quotient = divideSizes(have, need)) {
        cut(need, *quotient);
        break;
      } else if (rest && next + 1 == queue.size()) {
        cut(need, unnamedQuotient(have, need));
        break;
      } else {
        return std::nullopt;
      }
    }
  }
  Axes left(queue.begin() + next, queue.end());
  if (rest)
    *rest = left;
  else if (!withoutUnits(left).empty())
    return std::nullopt;
  else if (!out.empty())
    llvm::append_range(out.back(), left);
  return out;
}

// The view of the op's result becomes the view of its input, with the same axes
// in other lists.
bool AxisSpace::step(AxisView &view) {
  Operation *op = view.value.getDefiningOp();
  if (auto transpose = dyn_cast_or_null<TransposeOp>(op)) {
    SmallVector<Axes, 4> dims(view.dims.size());
    for (auto [i, p] : llvm::enumerate(transpose.getPermutation()))
      dims[p] = view.dims[i];
    view = {transpose.getInput(), std::move(dims)};
    return true;
  }
  if (auto reshape = dyn_cast_or_null<ReshapeOp>(op)) {
    auto dims = distribute(sequence(view.dims),
                           dimsOf(reshape.getInput().getType()), nullptr);
    if (!dims)
      return false;
    view = {reshape.getInput(), std::move(*dims)};
    return true;
  }
  if (auto expand = dyn_cast_or_null<ExpandOp>(op)) {
    Dims inputs = dimsOf(expand.getInput().getType());
    SmallVector<Axes, 4> dims;
    for (auto [axes, input] : llvm::zip_equal(view.dims, inputs)) {
      // The input's index counts the outer axes; the inner ones repeat.
      Axes repeated;
      auto kept = distribute(axes, input, &repeated);
      if (!kept)
        return false;
      dims.push_back(kept->front());
    }
    view = {expand.getInput(), std::move(dims)};
    return true;
  }
  return false;
}

AxisView AxisSpace::broadcast(Value value, ArrayRef<Axes> dims) const {
  auto type = cast<RankedTensorType>(value.getType());
  AxisView view{value, {}};
  ArrayRef<Axes> last = dims.take_back(type.getRank());
  for (auto [size, axes] : llvm::zip_equal(type.getShape(), last))
    view.dims.push_back(size == 1 ? Axes() : flat(axes));
  return view;
}

namespace {
/// Axes that are adjacent in a dimension of the view and in one of the target,
/// so they move as one. An unnamed dimension of size 1 is a run of its own: it
/// is moved instead of dropped by one reshape and made again by another.
struct Run {
  Dim dim;
  int64_t position; ///< in the view's sequence
  size_t from, to;  ///< dimension of the view (its rank: none), of the target
  bool whole;       ///< is a whole dimension of the target
};
} // namespace

// The runs in the target's order. Fills in `outDims` if it is empty. A run that
// is a whole dimension takes its name.
static SmallVector<Run> findRuns(const AxisSpace &space, const AxisView &view,
                                 ArrayRef<Axes> target, Dims &outDims) {
  Dims viewDims = dimsOf(view.getType());
  SmallVector<std::pair<unsigned, size_t>> order; // axis, dimension of the view
  SmallVector<size_t> ones;
  for (auto [i, axes] : llvm::enumerate(view.dims)) {
    Axes leaves = space.flat(axes);
    for (unsigned axis : leaves)
      order.push_back({axis, i});
    if (leaves.empty())
      ones.push_back(i);
  }
  auto positionOf = [&](unsigned axis) -> int64_t {
    auto *it = llvm::find_if(order, [&](auto &p) { return p.first == axis; });
    return it == order.end() ? -1 : it - order.begin();
  };
  bool given = !outDims.empty();
  SmallVector<Run> runs;
  for (size_t to = 0; to < target.size(); ++to) {
    Axes leaves = space.flat(target[to]);
    Dim whole = given ? outDims[to] : space.product(leaves);
    if (leaves.empty() && !ones.empty()) {
      size_t one = ones.front();
      ones.erase(ones.begin());
      runs.push_back({viewDims[one], -1, one, to, true});
    }
    for (size_t i = 0, end; i < leaves.size(); i = end) {
      int64_t position = positionOf(leaves[i]);
      size_t from = position < 0 ? viewDims.size() : order[position].second;
      for (end = i + 1; position >= 0 && end < leaves.size(); ++end) {
        int64_t next = positionOf(leaves[end]);
        if (next != position + int64_t(end - i) || order[next].second != from)
          break;
      }
      ArrayRef<unsigned> run = ArrayRef(leaves).slice(i, end - i);
      bool isWhole = run.size() == leaves.size();
      Dim dim = isWhole ? whole : space.product(run);
      if (position >= 0 && space.flat(view.dims[from]).size() == run.size()) {
        dim = viewDims[from];
        if (isWhole && !given)
          whole = dim;
      }
      runs.push_back({dim, position, from, to, isWhole});
    }
    if (!given)
      outDims.push_back(whole);
  }
  return runs;
}

// Cuts the view into runs, expands and transposes these, and reshapes the
// result:
//
//   view {b, a} {s} {d}   target {b} {s} {a, d}
//   reshape to [b, a, s, d], transpose to [b, s, a, d], reshape to [b, s, a*d]
//
// If the runs are in order already, one reshape is enough.
Value AxisSpace::materialize(OpBuilder &b, Location loc, const AxisView &view,
                             ArrayRef<Axes> target,
                             RankedTensorType type) const {
  Dims viewDims = dimsOf(view.getType()), outDims;
  if (type)
    outDims = dimsOf(type);
  SmallVector<Run> runs = findRuns(*this, view, target, outDims);
  Type element = view.getType().getElementType();
  if (!type)
    type = typeOf(outDims, element);

  // The runs in the view's order. Runs that the view lacks come first, with
  // size 1.
  auto order = llvm::to_vector(llvm::seq<size_t>(runs.size()));
  llvm::sort(order, [&](size_t x, size_t y) {
    auto key = [&](size_t index) {
      const Run &run = runs[index];
      bool missing = run.from == viewDims.size();
      return std::make_tuple(!missing, missing ? index : run.from,
                             run.position);
    };
    return key(x) < key(y);
  });
  Dims runDims, fullDims;
  bool repeats = false;
  SmallVector<int64_t> permutation(runs.size());
  SmallVector<size_t> moved; // runs that are not of size 1
  for (auto [place, index] : llvm::enumerate(order)) {
    const Dim &dim = runs[index].dim;
    bool repeated = runs[index].from == viewDims.size() && dim.size != 1;
    repeats |= repeated;
    runDims.push_back(repeated ? Dim(1) : dim);
    fullDims.push_back(dim);
    permutation[index] = place;
    if (dim.size != 1)
      moved.push_back(index);
  }
  if (!repeats && llvm::is_sorted(moved))
    return reshapeTo(b, view.value, type);

  Value value = view.value;
  RankedTensorType runType = typeOf(runDims, element);
  if (!llvm::equal(view.getType().getShape(), runType.getShape()))
    value = reshapeTo(b, value, runType);
  if (repeats)
    value = ExpandOp::create(b, loc, typeOf(fullDims, element), value);
  if (!llvm::is_sorted(permutation)) {
    Dims permuted;
    for (const Run &run : runs)
      permuted.push_back(run.whole ? outDims[run.to] : run.dim);
    value = TransposeOp::create(b, loc, typeOf(permuted, element), value,
                                permutation);
  }
  return reshapeTo(b, value, type);
}

} // namespace act
