// SPDX-License-Identifier: Apache-2.0
//
// alloca, stacksave, stackrestore: local memory of dynamic size. Each lane
// allocates downwards from the end of its local memory. The memory lives until
// its function returns (ControlFamily.cpp).
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/instructions/Lanes.h"

namespace act::runtime::sim {

using ptx::Type;

namespace {

// T: uint32_t or uint64_t. Options: the alignment.
template <typename T> Step allocate(Context &c, const Instruction &i) {
  const uint64_t align = i.options;
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
    uint64_t bytes = c.lanes<T>(i.slots[1])[lane];
    if (bytes > top - least || !c.warp.needLocal(least) ||
        ((top - bytes) & ~(align - 1)) < least) {
      c.report(FindingKind::OutOfBounds, i, lane,
               "allocates " + std::to_string(bytes) +
                   " bytes of local memory, but only " +
                   std::to_string(top - least) + " are left");
      c.lanes<T>(i.slots[0])[lane] = 0;
      continue;
    }
    top = uint32_t((top - bytes) & ~(align - 1));
    c.lanes<T>(i.slots[0])[lane] = top;
  }
  return Step::Next;
}

template <typename T> Step save(Context &c, const Instruction &i) {
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane))
      c.lanes<T>(i.slots[0])[lane] = c.warp.stackTop[lane];
  return Step::Next;
}

template <typename T> Step restore(Context &c, const Instruction &i) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    uint64_t to = c.lanes<T>(i.slots[0])[lane];
    if (to < c.warp.stackTop[lane] || to > localLimit)
      c.report(FindingKind::InvalidOperation, i, lane,
               "restores a stack pointer that is below the current one or "
               "outside the stack");
    else
      c.warp.stackTop[lane] = uint32_t(to);
  }
  return Step::Next;
}

Type begin(Decoder &d, Handler narrow, Handler wide) {
  d.require(52, 73);
  Type type = d.type({Type::U32, Type::U64});
  d.begin(type == Type::U64 ? wide : narrow, Class::Move);
  return type;
}

// alloca.type ptr, size{, align}; the pointer is into .local
void decodeAlloca(Decoder &d) {
  Type type = begin(d, allocate<uint32_t>, allocate<uint64_t>);
  d.result(0, type);
  d.source(1, type);
  uint64_t align = d.operandCount() > 2 ? d.immediate(2) : 8;
  if (align == 0 || align > 1u << 23 || (align & (align - 1)))
    return d.fail("an alignment of " + std::to_string(align) +
                  ", expected a power of two up to 2^23");
  d.current().options = uint32_t(align);
}

void decodeSave(Decoder &d) {
  d.result(0, begin(d, save<uint32_t>, save<uint64_t>));
}

void decodeRestore(Decoder &d) {
  d.source(0, begin(d, restore<uint32_t>, restore<uint64_t>));
}

} // namespace

void registerStack(Families &f) {
  f["alloca"] = decodeAlloca;
  f["stacksave"] = decodeSave;
  f["stackrestore"] = decodeRestore;
}

} // namespace act::runtime::sim
