// SPDX-License-Identifier: Apache-2.0
//
// st.async and red.async: a lane's value goes to the shared memory of a CTA of
// the cluster, and an mbarrier there counts the bytes when they land (PTX ISA
// 9.7.9.12, 9.7.13.7). Both use the generic proxy. Their forms for global
// memory need sm_100.
#include "runtime/sim/execute/Sectors.h"
#include "runtime/sim/instructions/BulkCopies.h"
#include <cstring>

namespace act::runtime::sim {

using ptx::Space;
using ptx::Type;

namespace {

constexpr unsigned mostBytes = 16;

struct AsyncStore {
  LandingOperands landing;
  unsigned count = 1, bytes = 4; // of an element
  bool reduces = false;
  AtomicUpdate how; // if it does
};

class StoreOperation final : public BulkOperation {
public:
  const AsyncStore *plan = nullptr;
  std::byte value[mostBytes];

  void read() override {} // the register's value was copied at issue
  void write() override {
    std::byte *to = landings[0].to.data;
    if (!to)
      return; // reported
    if (plan->reduces)
      reduce(plan->how, to, value, 1);
    else
      std::memcpy(to, value, size_t(bytes));
  }
};

void checkOwners(const Context &c, const Instruction &i, unsigned lane,
                 const AsyncStore &t, const Landing &l) {
  auto refuse = [&](const char *why) {
    c.reportAt(FindingKind::InvalidOperation, i, lane, l.address, why);
  };
  if (c.cta.cluster->ctas.size() == 1)
    refuse("needs a cluster of more than one CTA");
  if (!l.to.data)
    return;
  if (!l.to.owner)
    refuse("writes to an address that is not in shared memory");
  else if (l.barrier && &l.barrier->cta != l.to.owner)
    refuse("writes to one CTA but signals an mbarrier of another");
  else if (t.reduces && l.to.owner == &c.cta)
    refuse("reduces into its own CTA, expected another CTA of the cluster");
}

// Marks the target undefined where the value is. A reduction with an undefined
// operand makes the whole element undefined.
void handOn(const Context &c, const Instruction &i, unsigned lane,
            const AsyncStore &t, Context::Target to) {
  const uint64_t all = (uint64_t(1) << t.bytes) - 1;
  for (unsigned k = 0; k < t.count; ++k) {
    uint64_t bits = c.frame.defined.undefinedBits(i.slots[k], lane), bytes = 0;
    for (unsigned byte = 0; byte < t.bytes; ++byte)
      bytes |= uint64_t((bits >> 8 * byte & 255) != 0) << byte;
    if (bytes)
      c.put(i, lane, to, t.bytes, t.reduces ? all : bytes,
            c.originOf(i.slots[k], lane), i.slots[k]);
    to.data += t.bytes;
    to.offset += t.bytes;
  }
}

// slots: the elements of the value
Step storeAsync(Context &c, const Instruction &i) {
  const AsyncStore &t = *static_cast<const AsyncStore *>(i.data);
  const unsigned total = t.bytes * t.count;
  Manner manner;
  manner.write = true;
  if (t.reduces) {
    manner.read = manner.strong = true;
    manner.scope = Scope::Cluster;
    manner = c.passing(manner);
  }
  Sectors sectors;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!c.active(lane))
      continue;
    auto op = std::make_unique<StoreOperation>();
    op->plan = &t;
    for (unsigned k = 0; k < t.count; ++k)
      std::memcpy(op->value + k * t.bytes,
                  c.frame.registers + i.slots[k] + size_t(lane) * t.bytes,
                  t.bytes);
    op->landings = landingsOf(c, i, lane, t.landing, total, total);
    const Landing &l = op->landings[0];
    checkOwners(c, i, lane, t, l);
    if (l.to.data) {
      judgeAsync(c, i, lane, l.to, l.address, total, manner, l.self);
      if (c.passes)
        handOn(c, i, lane, t, l.to);
      sectors.add(l.to, l.address, total);
    }
    issue(c, i, lane, total, std::move(op));
  }
  sectors.count(*c.warp.counters, /*isStore=*/true);
  return Step::Next;
}

/// {.weak, .cluster}; {.relaxed.cluster} of red.
void takeOrder(Decoder &d, bool reduces) {
  const std::string spelling = "'" + d.tree().spelling() + "'";
  bool cluster = false;
  if (reduces) {
    if (!d.take("relaxed") || !d.take("cluster"))
      d.fail(spelling + " must be .relaxed.cluster");
  } else if (d.take("weak")) {
    cluster = d.peek("cluster");
  } else {
    d.take("cluster");
  }
  if (cluster)
    d.fail(spelling + ": a .weak store has no scope");
}

void takeReductionOf(Decoder &d, AsyncStore &t, Type type) {
  // .s64, as ptxas has it: a sum of two's complements is that of .u64.
  bool sum = t.how.op == AtomicOp::Add && type == Type::S64;
  if (!sum && !reduces(t.how.op, type, /*toShared=*/true))
    d.fail("'" + d.tree().spelling() +
           "': this type does not support this reduction");
  t.how.type = type;
  t.how.bytes = t.bytes;
}

void decode(Decoder &d, bool reduces) {
  const std::string spelling = "'" + d.tree().spelling() + "'";
  if (d.peek("global") || d.peek("release") || d.peek("mmio"))
    return d.require(100, 87);
  d.require(90, 81);
  AsyncStore t;
  t.reduces = reduces;
  takeOrder(d, reduces);
  bool any = !d.peek("shared") && !d.peek("shared::cta");
  Space space = d.space();
  if ((space != Space::Shared && space != Space::Generic) || (reduces && !any))
    return d.fail(spelling + " writes to .shared::cluster");
  t.landing.ownOnly = !any;
  d.oneOf({"mbarrier::complete_tx::bytes"}, true);
  if (reduces) {
    std::optional<AtomicOp> op = takeReduction(d);
    if (!op)
      return d.fail(spelling + " needs one of .and, .or, .xor, .add, .inc, "
                               ".dec, .min, .max");
    t.how.op = *op;
  } else {
    t.count = d.vector();
  }
  Type type = d.type({Type::B32, Type::B64, Type::U32, Type::U64, Type::S32,
                      Type::S64, Type::F32, Type::F64});
  t.bytes = ptx::bytesOf(type);
  if (t.bytes * t.count > mostBytes)
    return d.fail(spelling + " writes more than 16 bytes");
  if (reduces)
    takeReductionOf(d, t, type);
  d.begin(storeAsync, Class::AsyncCopy, flagStrictReads);
  t.landing.to = Address(d, d.address(0), space);
  const size_t firstValue = d.readCount();
  for (const ptx::Operand *element : d.elements(1, t.count))
    d.source(*element, type);
  d.passes(firstValue);
  t.landing.barrier = Address(d, d.address(2), space);
  d.current().data = d.keep(t);
}

} // namespace

void decodeStoreAsync(Decoder &d) { decode(d, false); }
void decodeReduceAsync(Decoder &d) { decode(d, true); }

} // namespace act::runtime::sim
