// SPDX-License-Identifier: Apache-2.0
//
// In a step of the schedule each lane receives one word. The registers that a
// lane offers, and those that it stores into, depend on a few bits of its
// number, so they are chosen by selects on these bits.
#include "passes/tile/threads/Exchange.h"
#include "passes/tile/threads/Combine.h"
#include "llvm/ADT/bit.h"
#include <map>

using namespace mlir;
using namespace act::tile;
using act::layout::Conversion;

namespace {

class Exchange {
public:
  Exchange(const Conversion &c, Type element, ThreadBuilder &t)
      : c(c), element(element), memory(t.memoryType(element)), t(t) {}
  Registers run(const Registers &in);

private:
  Value packed(const Registers &in, int64_t first);
  void unpack(Value word, MutableArrayRef<Value> out);
  Value given(const Conversion::Step &step, Value word);
  Value ofLane(int32_t bits, llvm::function_ref<Value(int32_t)> value,
               int32_t lanes = 0);
  Value bit(int32_t lane) { return t.digit(t.lane, lane, 2); }

  const Conversion &c;
  Type element, memory;
  ThreadBuilder &t;
  Value place; // the source lane, without the step's flip
};

} // namespace

/// The registers from the first on, packed into one word.
Value Exchange::packed(const Registers &in, int64_t first) {
  SmallVector<Value> parts;
  for (int64_t i = 0; i < c.width; ++i)
    parts.push_back(t.toMemory(in[first + i]));
  if (c.width == 1)
    return parts[0];
  int64_t bits = c.width * memory.getIntOrFloatBitWidth();
  return t.bitsAs(t.b.getIntegerType(bits), t.vectorOf(parts));
}

void Exchange::unpack(Value word, MutableArrayRef<Value> out) {
  if (c.width > 1)
    word = t.bitsAs(VectorType::get(c.width, memory), word);
  for (auto [i, part] : llvm::enumerate(out))
    part = t.fromMemory(c.width > 1 ? t.elementOf(word, i) : word, element);
}

/// value() for this lane, which depends on `bits` of its number.
Value Exchange::ofLane(int32_t bits, llvm::function_ref<Value(int32_t)> value,
                       int32_t lanes) {
  if (!bits)
    return value(lanes);
  int32_t highest = llvm::bit_floor(uint32_t(bits)), rest = bits ^ highest;
  Value without = ofLane(rest, value, lanes);
  Value with = ofLane(rest, value, lanes | highest);
  if (with == without)
    return with;
  return arith::SelectOp::create(t.b, t.loc, t.isZero(bit(highest)), without,
                                 with);
}

Value Exchange::given(const Conversion::Step &step, Value word) {
  if (step.isLocal)
    return word;
  if (c.isButterfly())
    return shuffle(word, NVVM::ShflKind::bfly, t.i32(step.flip), t);
  if (!place) {
    place = t.i32(0);
    for (int b = 0; b < 5; ++b)
      if (c.image[b])
        place = arith::XOrIOp::create(t.b, t.loc, place,
                                      t.mul(bit(1 << b), c.image[b]));
  }
  Value from = arith::XOrIOp::create(t.b, t.loc, place, t.i32(step.flip));
  return shuffle(word, NVVM::ShflKind::idx, from, t);
}

/// One shuffle per step that is not local. What a lane receives goes to a
/// register that depends on the lane, so values are collected by lane bits and
/// selected at the end.
Registers Exchange::run(const Registers &in) {
  llvm::DenseMap<int64_t, Value> words; // by the first register
  // For each register, its value in lanes with these bits.
  std::map<int64_t, llvm::DenseMap<int32_t, Value>> kept;
  for (const Conversion::Step &step : c.steps) {
    Value offered = ofLane(c.offerBits, [&](int32_t lanes) {
      Value &word = words[step.offers[lanes]];
      if (!word)
        word = packed(in, step.offers[lanes]);
      return word;
    });
    Value word = given(step, offered);
    for (int32_t lanes = 0; lanes < 32; ++lanes)
      if (!(lanes & ~c.keepBits))
        kept[step.keepsAs[lanes]][lanes] = word;
  }
  Registers out(c.original.size());
  for (auto &part : kept) {
    auto word = [&](int32_t lanes) { return part.second.at(lanes); };
    unpack(ofLane(c.keepBits, word),
           MutableArrayRef(out).slice(part.first, c.width));
  }
  for (auto [r, original] : llvm::enumerate(c.original))
    out[r] = out[original];
  return out;
}

Registers act::tile::exchanged(const Conversion &c, const Registers &in,
                               Type element, ThreadBuilder &t) {
  return Exchange(c, element, t).run(in);
}
