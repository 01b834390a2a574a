// SPDX-License-Identifier: Apache-2.0
//
// Checks layouts and evaluates them in both directions. Layouts made from
// layouts are in Derived.cpp.
#include "act/Layout/Distributed.h"
#include <algorithm>
#include <cassert>
#include <utility>

namespace act::layout {

std::optional<unsigned> Digit::dimension() const {
  for (unsigned d = 0; d < strides.size(); ++d)
    if (strides[d])
      return d;
  return std::nullopt;
}

int64_t Digit::stride() const {
  auto dim = dimension();
  return dim ? strides[*dim] : 0;
}

static std::string list(const std::vector<int64_t> &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

std::string Digit::str() const {
  return std::to_string(extent) + ":(" + list(strides) + ")";
}

int64_t count(const Digits &digits) {
  int64_t product = 1;
  for (const Digit &digit : digits)
    product *= digit.extent;
  return product;
}

std::string str(const Digits &digits) {
  std::string text;
  for (const Digit &digit : digits)
    text += (text.empty() ? "" : ", ") + digit.str();
  return "[" + text + "]";
}

namespace {

/// A digit and its name in messages.
struct Named {
  const char *level;
  size_t index; // in its list
  const Digit *digit;
  size_t place; // among all digits along its dimension
  std::string str() const {
    return std::string(level) + " digit " + std::to_string(index) + ", `" +
           digit->str() + "`,";
  }
};

} // namespace

static std::string decimal(int64_t value) { return std::to_string(value); }

/// One stride per dimension, at most one of them not zero and none negative, a
/// positive extent.
static Status checkDigit(const Named &named, size_t rank) {
  const Digit &digit = *named.digit;
  if (digit.extent < 1)
    return Error{named.str() + " has extent " + decimal(digit.extent) +
                     ", expected 1 or more",
                 ""};
  if (digit.strides.size() != rank)
    return Error{named.str() + " has " + decimal(digit.strides.size()) +
                     " strides, expected " + decimal(rank) +
                     ", one per dimension",
                 ""};
  unsigned moving = 0;
  for (int64_t stride : digit.strides) {
    if (stride < 0)
      return Error{named.str() + " has stride " + decimal(stride) +
                       ", expected 0 or more",
                   ""};
    moving += stride > 0;
  }
  if (moving > 1 && digit.extent > 1)
    return Error{named.str() + " moves along " + decimal(moving) +
                     " dimensions, so some coordinates are held by no thread "
                     "or twice; expected at most one dimension",
                 ""};
  return ok();
}

/// count(), or an error if it exceeds `most`.
static Result<int64_t> countAtMost(const char *level, const Digits &digits,
                                   int64_t most, const char *why) {
  int64_t product = 1;
  for (const Digit &digit : digits) {
    if (digit.extent > most / product)
      return Error{std::string(level) + " digits " + str(digits) +
                       " multiply to more than " + decimal(most) + why,
                   ""};
    product *= digit.extent;
  }
  return product;
}

/// Checks that the digits along a dimension, sorted by stride, are a mixed
/// radix. Digits with equal strides keep the order of their lists, so that the
/// message names the later one first. `covered` is the next stride.
static Status checkDimension(unsigned dim, int64_t extent,
                             std::vector<Named> digits) {
  auto strideOf = [&](const Named &n) { return n.digit->strides[dim]; };
  std::sort(digits.begin(), digits.end(), [&](const Named &x, const Named &y) {
    return std::pair(strideOf(x), x.place) < std::pair(strideOf(y), y.place);
  });
  std::string along = " along dimension " + decimal(dim);
  int64_t covered = 1;
  const Named *previous = nullptr;
  for (const Named &named : digits) {
    int64_t stride = strideOf(named);
    if (stride > covered)
      return Error{"coordinate " + decimal(covered) + along +
                       " is held by no thread: " + named.str() +
                       " is the next and has stride " + decimal(stride) +
                       ", expected " + decimal(covered),
                   ""};
    if (stride < covered)
      return Error{named.str() + " and " + previous->str() +
                       " hold the same coordinates" + along + ": stride " +
                       decimal(stride) + ", expected " + decimal(covered),
                   ""};
    if (named.digit->extent > extent / covered)
      return Error{named.str() + " leaves the shape" + along +
                       ": it reaches beyond extent " + decimal(extent),
                   ""};
    covered *= named.digit->extent;
    previous = &named;
  }
  if (covered != extent)
    return Error{"digits cover " + decimal(covered) + " of " + decimal(extent) +
                     " coordinates" + along,
                 ""};
  return ok();
}

// Verifies:
// - the shape is positive and its product is an int64_t,
// - each digit by itself (checkDigit),
// - lanes multiply to 32, warps and registers to what a block can have,
// - every coordinate is held once, apart from copies (checkDimension).
Result<Distributed> Distributed::get(std::vector<int64_t> shape,
                                     Digits registers, Digits lanes,
                                     Digits warps) {
  int64_t elements = 1;
  for (unsigned d = 0; d < shape.size(); ++d) {
    if (shape[d] < 1)
      return Error{"dimension " + decimal(d) + " has extent " +
                       decimal(shape[d]) + ", expected 1 or more",
                   ""};
    if (shape[d] > INT64_MAX / elements)
      return Error{"shape (" + list(shape) + ") has more than 2^63 elements",
                   ""};
    elements *= shape[d];
  }

  std::vector<std::vector<Named>> along(shape.size());
  auto visit = [&](const char *level, const Digits &digits) -> Status {
    for (size_t i = 0; i < digits.size(); ++i) {
      Named named{level, i, &digits[i], 0};
      if (Status s = checkDigit(named, shape.size()); !s)
        return s;
      if (digits[i].extent > 1)
        if (auto dim = digits[i].dimension()) {
          named.place = along[*dim].size();
          along[*dim].push_back(named);
        }
    }
    return ok();
  };
  for (auto [level, digits] :
       {std::pair("register", &registers), {"lane", &lanes}, {"warp", &warps}})
    if (Status s = visit(level, *digits); !s)
      return s.error();

  auto laneProduct = countAtMost("lane", lanes, laneCount, ", expected 32");
  if (!laneProduct)
    return laneProduct.error();
  if (*laneProduct != laneCount)
    return Error{"lane digits " + layout::str(lanes) + " multiply to " +
                     decimal(*laneProduct) + ", expected 32",
                 ""};
  if (auto r = countAtMost("warp", warps, mostWarps, ", the most warps"); !r)
    return r.error();
  if (auto r = countAtMost("register", registers, mostRegisters,
                           ", the registers of a whole file");
      !r)
    return r.error();
  for (unsigned d = 0; d < shape.size(); ++d)
    if (Status s = checkDimension(d, shape[d], along[d]); !s)
      return s.error();
  return Distributed(std::move(shape), std::move(registers), std::move(lanes),
                     std::move(warps));
}

/// Drops digits of extent 1 and merges each digit with the one it continues.
/// Copies continue copies, because their strides are zero.
static Digits canonical(const Digits &digits) {
  Digits result;
  for (const Digit &digit : digits) {
    if (digit.extent == 1)
      continue;
    if (!result.empty()) {
      Digit &last = result.back();
      bool continues = true;
      for (size_t d = 0; d < digit.strides.size(); ++d)
        continues &= digit.strides[d] == last.strides[d] * last.extent;
      if (continues) {
        last.extent *= digit.extent;
        continue;
      }
    }
    result.push_back(digit);
  }
  return result;
}

Distributed::Distributed(std::vector<int64_t> shape, Digits registers,
                         Digits lanes, Digits warps)
    : extents(std::move(shape)), registerDigits(canonical(registers)),
      laneDigits(canonical(lanes)), warpDigits(canonical(warps)) {}

int64_t Distributed::elementCount() const {
  int64_t product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

/// Adds what the list's value `index` contributes to the coordinates.
static void add(const Digits &digits, int64_t index, Coordinates &sum) {
  for (const Digit &digit : digits) {
    int64_t value = index % digit.extent;
    index /= digit.extent;
    for (size_t d = 0; d < sum.size(); ++d)
      sum[d] += value * digit.strides[d];
  }
  assert(index == 0 && "index beyond the digits");
}

Coordinates Distributed::coordinates(int64_t reg, int64_t lane,
                                     int64_t warp) const {
  Coordinates sum(rank(), 0);
  add(registerDigits, reg, sum);
  add(laneDigits, lane, sum);
  add(warpDigits, warp, sum);
  return sum;
}

/// The list's value at the coordinates; copy digits are 0. Along a dimension
/// the digits of all lists are one mixed radix (the invariant), so a digit's
/// value needs no other digit.
static int64_t valueAt(const Digits &digits, const Coordinates &coordinates) {
  int64_t value = 0, weight = 1;
  for (const Digit &digit : digits) {
    if (auto dim = digit.dimension())
      value += coordinates[*dim] / digit.strides[*dim] % digit.extent * weight;
    weight *= digit.extent;
  }
  return value;
}

Holder Distributed::holder(const Coordinates &coordinates) const {
  assert(coordinates.size() == rank() && "one coordinate per dimension");
  return {valueAt(registerDigits, coordinates),
          valueAt(laneDigits, coordinates), valueAt(warpDigits, coordinates)};
}

/// All values that copy digits can add to the list's value, 0 first.
static std::vector<int64_t> copyValues(const Digits &digits) {
  std::vector<int64_t> values = {0};
  int64_t weight = 1;
  for (const Digit &digit : digits) {
    if (digit.isCopy()) {
      size_t size = values.size();
      for (int64_t i = 1; i < digit.extent; ++i)
        for (size_t k = 0; k < size; ++k)
          values.push_back(values[k] + i * weight);
    }
    weight *= digit.extent;
  }
  return values;
}

std::vector<Holder> Distributed::holders(const Coordinates &c) const {
  Holder first = holder(c);
  std::vector<Holder> result;
  for (int64_t warp : copyValues(warpDigits))
    for (int64_t lane : copyValues(laneDigits))
      for (int64_t reg : copyValues(registerDigits))
        result.push_back(
            {first.reg + reg, first.lane + lane, first.warp + warp});
  return result;
}

static int64_t copyCount(const Digits &digits) {
  int64_t product = 1;
  for (const Digit &digit : digits)
    if (digit.isCopy())
      product *= digit.extent;
  return product;
}

Copies Distributed::copies() const {
  return {copyCount(registerDigits), copyCount(laneDigits),
          copyCount(warpDigits)};
}

static bool copyDigitsAreZero(const Digits &digits, int64_t index) {
  for (const Digit &digit : digits) {
    if (digit.isCopy() && index % digit.extent)
      return false;
    index /= digit.extent;
  }
  return true;
}

bool Distributed::isFirst(int64_t lane, int64_t warp) const {
  return copyDigitsAreZero(laneDigits, lane) &&
         copyDigitsAreZero(warpDigits, warp);
}

/// Only the fastest digit counts: the lists are canonical, so a digit that
/// continued it would have been merged with it.
int64_t Distributed::contiguous(unsigned dim) const {
  if (registerDigits.empty())
    return 1;
  const Digit &fastest = registerDigits.front();
  return fastest.strides[dim] == 1 ? fastest.extent : 1;
}

/// Lanes multiply to 32, so a digit is a run of bits.
template <typename F>
static int32_t bitsWhere(const Digits &lanes, F isWanted) {
  int32_t bits = 0, weight = 1;
  for (const Digit &digit : lanes) {
    int32_t next = weight * digit.extent;
    if (isWanted(digit))
      bits |= next - weight;
    weight = next;
  }
  return bits;
}

int32_t Distributed::laneBits(unsigned dim) const {
  return bitsWhere(laneDigits,
                   [&](const Digit &digit) { return digit.strides[dim] != 0; });
}

int32_t Distributed::laneCopyBits() const {
  return bitsWhere(laneDigits,
                   [](const Digit &digit) { return digit.isCopy(); });
}

std::string Distributed::str() const {
  return "register = " + layout::str(registerDigits) +
         ", lane = " + layout::str(laneDigits) +
         ", warp = " + layout::str(warpDigits);
}

} // namespace act::layout
