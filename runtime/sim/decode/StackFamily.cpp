// SPDX-License-Identifier: Apache-2.0
//
// alloca, stacksave, stackrestore: local memory of sizes known at run time,
// taken from the end downwards, of each lane its own. It lasts until its
// function returns (ControlFamily.cpp).
#include "runtime/sim/decode/Decoder.h"
#include "runtime/sim/decode/Lanes.h"

namespace act::runtime::sim {

using ptx::Type;

namespace {

uint64_t valueAt(const Context &c, uint32_t slot, bool wide, unsigned lane) {
  return wide ? c.lanes<uint64_t>(slot)[lane] : c.lanes<uint32_t>(slot)[lane];
}

void put(const Context &c, uint32_t slot, bool wide, unsigned lane,
         uint64_t value) {
  if (wide)
    c.lanes<uint64_t>(slot)[lane] = value;
  else
    c.lanes<uint32_t>(slot)[lane] = uint32_t(value);
}

// Options of all three: bit 0 says that they are of 64 bits, the others are the
// alignment.
Step allocate(Context &c, const Instruction &i) {
  const bool wide = i.options & 1;
  const uint64_t align = i.options >> 1;
  Frame &frame = c.frame;
  const uint64_t least = frame.localBase + frame.function->localBytes;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    uint32_t &top = c.warp.stackTop[lane];
    if (!(frame.allocated >> lane & 1)) {
      frame.allocated |= 1u << lane;
      frame.stackAtEntry[lane] = top;
    }
    uint64_t bytes = valueAt(c, i.slots[1], wide, lane);
    if (bytes > top - least || !c.warp.needLocal(least) ||
        ((top - bytes) & ~(align - 1)) < least) {
      c.report(FindingKind::OutOfBounds, i, lane,
               "takes " + std::to_string(bytes) +
                   " bytes of local memory, of which " +
                   std::to_string(top - least) + " are left");
      put(c, i.slots[0], wide, lane, 0);
      continue;
    }
    top = uint32_t((top - bytes) & ~(align - 1));
    put(c, i.slots[0], wide, lane, top);
  }
  return Step::Next;
}

Step save(Context &c, const Instruction &i) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane))
      put(c, i.slots[0], i.options & 1, lane, c.warp.stackTop[lane]);
  return Step::Next;
}

Step restore(Context &c, const Instruction &i) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    uint64_t to = valueAt(c, i.slots[0], i.options & 1, lane);
    if (to < c.warp.stackTop[lane] || to > localLimit)
      c.report(FindingKind::InvalidOperation, i, lane,
               "restores a stack that was not saved before what is on it");
    else
      c.warp.stackTop[lane] = uint32_t(to);
  }
  return Step::Next;
}

bool begin(Decoder &d, Handler handler) {
  d.require(52, 73);
  bool wide = d.type({Type::U32, Type::U64}) == Type::U64;
  d.begin(handler, Class::Move);
  d.current().options = wide;
  return wide;
}

// alloca.type ptr, size{, align}; the pointer is into .local
void decodeAlloca(Decoder &d) {
  Type type = begin(d, allocate) ? Type::U64 : Type::U32;
  d.result(0, type);
  d.source(1, type);
  uint64_t align = d.operandCount() > 2 ? d.immediate(2) : 8;
  if (align == 0 || align > 1u << 23 || (align & (align - 1)))
    return d.fail("an alignment of " + std::to_string(align) +
                  ", expected a power of two up to 2^23");
  d.current().options |= uint32_t(align) << 1;
}

void decodeSave(Decoder &d) {
  d.result(0, begin(d, save) ? Type::U64 : Type::U32);
}

void decodeRestore(Decoder &d) {
  d.source(0, begin(d, restore) ? Type::U64 : Type::U32);
}

} // namespace

void registerStack(Families &f) {
  f["alloca"] = decodeAlloca;
  f["stacksave"] = decodeSave;
  f["stackrestore"] = decodeRestore;
}

} // namespace act::runtime::sim
