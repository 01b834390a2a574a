// SPDX-License-Identifier: Apache-2.0
//
// Layouts derived from layouts. Each function preserves the invariant by
// construction; the tests check it with get().
#include "act/Layout/Distributed.h"
#include <cassert>

namespace act::layout {

/// The digits, with a function applied to the strides of each.
template <typename F> static Digits changed(Digits digits, F change) {
  for (Digit &digit : digits)
    change(digit.strides);
  return digits;
}

static Digits withoutCopies(const Digits &digits) {
  Digits result;
  for (const Digit &digit : digits)
    if (!digit.isCopy())
      result.push_back(digit);
  return result;
}

Distributed Distributed::withoutRegisterCopies() const {
  return {extents, withoutCopies(registerDigits), laneDigits, warpDigits};
}

/// Registers along the dimension disappear with it, as do all register copies.
/// Lanes and warps along it cannot disappear, so they become copies.
Distributed Distributed::dropped(unsigned dim) const {
  assert(dim < rank() && "no such dimension");
  auto erase = [&](std::vector<int64_t> &v) { v.erase(v.begin() + dim); };
  std::vector<int64_t> shape = extents;
  erase(shape);
  return {shape, withoutCopies(changed(registerDigits, erase)),
          changed(laneDigits, erase), changed(warpDigits, erase)};
}

Distributed Distributed::expanded(unsigned dim) const {
  assert(dim <= rank() && "no such dimension");
  auto insert = [&](std::vector<int64_t> &v) { v.insert(v.begin() + dim, 0); };
  std::vector<int64_t> shape = extents;
  shape.insert(shape.begin() + dim, 1);
  return {shape, changed(registerDigits, insert), changed(laneDigits, insert),
          changed(warpDigits, insert)};
}

Distributed
Distributed::transposed(const std::vector<unsigned> &permutation) const {
  assert(permutation.size() == rank() && "one entry per dimension");
  auto permute = [&](std::vector<int64_t> &v) {
    std::vector<int64_t> old = v;
    for (unsigned d = 0; d < permutation.size(); ++d)
      v[d] = old[permutation[d]];
  };
  std::vector<int64_t> shape = extents;
  permute(shape);
  return {shape, changed(registerDigits, permute), changed(laneDigits, permute),
          changed(warpDigits, permute)};
}

Distributed Distributed::broadcast(unsigned dim, int64_t extent) const {
  assert(dim < rank() && extents[dim] == 1 && extent >= 1 &&
         "only a dimension of extent 1 grows");
  std::vector<int64_t> shape = extents, strides(rank(), 0);
  shape[dim] = extent;
  strides[dim] = 1;
  Digits registers = registerDigits;
  registers.push_back({extent, strides});
  return {shape, registers, laneDigits, warpDigits};
}

Distributed Distributed::projected(unsigned dim) const {
  assert(dim < rank() && "no such dimension");
  auto clear = [&](std::vector<int64_t> &v) { v[dim] = 0; };
  std::vector<int64_t> shape = extents;
  shape[dim] = 1;
  return {shape, changed(registerDigits, clear), changed(laneDigits, clear),
          changed(warpDigits, clear)};
}

/// Row-major strides of the dimensions, in elements.
static std::vector<int64_t> rowMajor(const std::vector<int64_t> &shape) {
  std::vector<int64_t> weights(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    weights[d - 1] = weights[d] * shape[d];
  return weights;
}

/// The digits as steps in row-major order.
static Digits linearized(const Digits &digits,
                         const std::vector<int64_t> &weights) {
  Digits result;
  for (const Digit &digit : digits) {
    auto dim = digit.dimension();
    result.push_back(
        {digit.extent, {dim ? digit.stride() * weights[*dim] : 0}});
  }
  return result;
}

// Cuts a digit with row-major steps at each border between dimensions of the
// new shape that lies inside it. If it cannot be cut at a border, there is no
// mixed radix (the invariant), so no such layout exists.
static Result<Digits> cut(const Digits &digits,
                          const std::vector<int64_t> &shape) {
  std::vector<int64_t> weights = rowMajor(shape);
  Digits result;
  for (const Digit &digit : digits) {
    if (digit.isCopy()) {
      result.push_back({digit.extent, std::vector<int64_t>(shape.size(), 0)});
      continue;
    }
    int64_t step = digit.stride(), left = digit.extent;
    for (size_t d = shape.size(); d-- > 0 && left > 1;) {
      int64_t border = weights[d] * shape[d];
      if (step >= border)
        continue;
      // No need to check that step is a multiple of weights[d]: if it is not,
      // the digit that crosses that border is refused.
      int64_t here = left;
      bool fits = true;
      if (step * left > border) {
        fits = border % step == 0 && left % (border / step) == 0;
        here = fits ? border / step : left;
      }
      if (!fits)
        return Error{"digit `" + digit.str() +
                         "` of the elements in row-major order crosses a "
                         "boundary of dimension " +
                         std::to_string(d) + " of the new shape",
                     ""};
      std::vector<int64_t> strides(shape.size(), 0);
      strides[d] = step / weights[d];
      result.push_back({here, strides});
      step *= here;
      left /= here;
    }
  }
  return result;
}

Result<Distributed>
Distributed::reshaped(const std::vector<int64_t> &shape) const {
  int64_t elements = 1, most = elementCount();
  for (int64_t extent : shape) {
    if (extent < 1 || extent > INT64_MAX / elements)
      return Error{"the new shape does not have " + std::to_string(most) +
                       " elements",
                   ""};
    elements *= extent;
  }
  if (elements != most)
    return Error{"the new shape has " + std::to_string(elements) +
                     " elements, expected " + std::to_string(most),
                 ""};
  // Flatten first, so that digits of neighbouring dimensions merge: 2:(0,1) and
  // 3:(1,0) of 3x2 are a digit of 6, which can be cut as 3 * 2.
  std::vector<int64_t> old = rowMajor(extents);
  Distributed flat({most}, linearized(registerDigits, old),
                   linearized(laneDigits, old), linearized(warpDigits, old));
  auto r = cut(flat.registerDigits, shape);
  if (!r)
    return r.error();
  auto l = cut(flat.laneDigits, shape);
  if (!l)
    return l.error();
  auto w = cut(flat.warpDigits, shape);
  if (!w)
    return w.error();
  return Distributed(shape, *r, *l, *w);
}

/// The new digit goes to the front: the two values of a pair are neighbouring
/// registers.
Distributed Distributed::joined() const {
  Distributed result = expanded(rank());
  result.extents.back() = 2;
  std::vector<int64_t> strides(result.rank(), 0);
  strides.back() = 1;
  result.registerDigits.insert(result.registerDigits.begin(), {2, strides});
  return result;
}

Result<Distributed> Distributed::split() const {
  if (extents.empty() || extents.back() != 2)
    return Error{"only a last dimension of 2 can be split, found " +
                     (extents.empty() ? std::string("no dimension")
                                      : std::to_string(extents.back())),
                 ""};
  unsigned last = rank() - 1;
  for (const Digits *digits : {&laneDigits, &warpDigits})
    for (const Digit &digit : *digits)
      if (digit.strides[last])
        return Error{"the halves are in different threads: digit `" +
                         digit.str() + "` is not a register digit",
                     ""};
  return dropped(last);
}

Tower::Tower(std::vector<int64_t> s)
    : shape(std::move(s)), covered(shape.size(), 1) {}

Digit Tower::next(unsigned dim, int64_t extent) {
  Digit digit{extent, std::vector<int64_t>(shape.size(), 0)};
  digit.strides[dim] = covered[dim];
  covered[dim] *= extent;
  return digit;
}

Tower &Tower::registers(unsigned dim, int64_t extent) {
  registerDigits.push_back(next(dim, extent));
  return *this;
}

Tower &Tower::lanes(unsigned dim, int64_t extent) {
  laneDigits.push_back(next(dim, extent));
  return *this;
}

Tower &Tower::warps(unsigned dim, int64_t extent) {
  warpDigits.push_back(next(dim, extent));
  return *this;
}

Tower &Tower::copiesInLanes(int64_t extent) {
  laneDigits.push_back({extent, std::vector<int64_t>(shape.size(), 0)});
  return *this;
}

Tower &Tower::copiesInWarps(int64_t extent) {
  warpDigits.push_back({extent, std::vector<int64_t>(shape.size(), 0)});
  return *this;
}

int64_t Tower::rest(unsigned dim) const { return shape[dim] / covered[dim]; }

Result<Distributed> Tower::get() const {
  return Distributed::get(shape, registerDigits, laneDigits, warpDigits);
}

} // namespace act::layout
