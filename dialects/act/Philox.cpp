// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10 as scalar IR; the constants are those of its authors'
// Random123. The runtime draws initial values with the same generator in C++
// (act/Random/Philox.h).
#include "dialects/act/Philox.h"
#include <cmath>

using namespace mlir;

namespace act {

static Value low32(OpBuilder &b, Location loc, Value x) {
  return arith::TruncIOp::create(b, loc, b.getI32Type(), x);
}

static Value high32(OpBuilder &b, Location loc, Value x) {
  Value shift = arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(32));
  return low32(b, loc, arith::ShRUIOp::create(b, loc, x, shift));
}

PhiloxKey preparePhilox(OpBuilder &b, Location loc, Value seed, Value step,
                        Value site) {
  Value shift = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(20));
  Value microBatch = arith::ShLIOp::create(b, loc, high32(b, loc, site), shift);
  return {low32(b, loc, seed), high32(b, loc, seed), low32(b, loc, step),
          low32(b, loc, site), microBatch};
}

Value philoxWord(Scalars &s, const PhiloxKey &key, Value index) {
  OpBuilder &b = s.b;
  Location loc = s.loc;
  Value c0 = low32(b, loc, index);
  Value c1 =
      arith::AddIOp::create(b, loc, high32(b, loc, index), key.microBatch);
  Value c2 = key.step, c3 = key.site;
  Value k0 = key.keyLow, k1 = key.keyHigh;
  Value m0 = s.i32(0xD2511F53), m1 = s.i32(0xCD9E8D57);
  for (int round = 0; round < 10; ++round) {
    if (round) {
      k0 = arith::AddIOp::create(b, loc, k0, s.i32(0x9E3779B9));
      k1 = arith::AddIOp::create(b, loc, k1, s.i32(0xBB67AE85));
    }
    auto p0 = arith::MulUIExtendedOp::create(b, loc, m0, c0);
    auto p1 = arith::MulUIExtendedOp::create(b, loc, m1, c2);
    Value n0 = arith::XOrIOp::create(
        b, loc, arith::XOrIOp::create(b, loc, p1.getHigh(), c1), k0);
    Value n2 = arith::XOrIOp::create(
        b, loc, arith::XOrIOp::create(b, loc, p0.getHigh(), c3), k1);
    c0 = n0;
    c1 = p1.getLow();
    c2 = n2;
    c3 = p0.getLow();
  }
  return c0;
}

Value philoxAtLeast(Scalars &s, const PhiloxKey &key, Value index, double p) {
  // word / 2^32 >= p  <=>  word >= ceil(p * 2^32); scaling by 2^32 is exact.
  double threshold = std::ceil(p * 0x1p32);
  if (threshold >= 0x1p32) // no word is that large
    return arith::ConstantOp::create(s.b, s.loc, s.b.getBoolAttr(false));
  Value word = philoxWord(s, key, index);
  return arith::CmpIOp::create(s.b, s.loc, arith::CmpIPredicate::uge, word,
                               s.i32(int64_t(threshold)));
}

} // namespace act
