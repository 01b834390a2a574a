// SPDX-License-Identifier: Apache-2.0
//
// wgmma: every type, both orders, every swizzle, A from registers and from
// shared memory, each element beside the product of the matrices laid out
// plainly (which TensorCoreTest compares with the model).
#include "runtime/sim/arithmetic/Random.h"
#include "runtime/sim/arithmetic/TensorCore.h"
#include "runtime/sim/layout/SharedDescriptor.h"
#include "test/runtime/sim/RunKernel.h"
#include <gtest/gtest.h>

using namespace act::runtime::sim;

namespace {

constexpr unsigned rows = 64, columns = 24;
constexpr uint32_t placeA = 0, placeB = 16384, sharedBytes = 32768;

struct Form {
  const char *d, *a, *b;
  Element typeA, typeB;
  Swizzle swizzle = Swizzle::B128;
  bool mnMajorA = false, mnMajorB = false, registersA = false;
  bool negate = false;
  unsigned bits() const { return bitsOf(typeA); }
  unsigned k() const { return 256 / bits(); }
  bool floating() const { return isFloating(typeA); }
  std::string text() const {
    return std::string(d) + "." + a + "." + b + " swizzle " +
           std::to_string(rowBytes(swizzle)) + (mnMajorA ? " A by M" : "") +
           (mnMajorB ? " B by N" : "") + (registersA ? " registers" : "");
  }
};

/// A matrix of `lines` rows (of A) or columns (of B), 32 bytes along K.
SharedDescriptor descriptorOf(const Form &f, bool mnMajor, uint32_t at) {
  const uint32_t row = rowBytes(f.swizzle);
  SharedDescriptor d;
  d.address = at;
  d.swizzle = f.swizzle;
  d.stride = 8 * row;
  d.leading = mnMajor ? 16 * row : 16;
  if (f.swizzle == Swizzle::None) { // 128 bytes, one block after the other
    d.leading = 128;
    d.stride = 256;
  }
  return d;
}
uint32_t addressOf(const Form &f, bool mnMajor, uint32_t base, unsigned line,
                   unsigned k) {
  const SharedDescriptor d = descriptorOf(f, mnMajor, base);
  const uint32_t row = rowBytes(f.swizzle), bytes = f.bits() / 8;
  uint32_t at;
  if (!mnMajor) {
    const uint32_t along = k * bytes;
    at = line / 8 * d.stride + line % 8 * row +
         (f.swizzle == Swizzle::None ? along / 16 * d.leading + along % 16
                                     : along);
  } else {
    const uint32_t along = line * bytes;
    at = f.swizzle == Swizzle::None
             ? k / 8 * d.leading + along / 16 * d.stride
             : k / 8 * d.stride + along / row * d.leading;
    at += k % 8 * row + along % row;
  }
  return swizzled(base + at, f.swizzle);
}

std::string vectorOf(const char *name, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", %" : "%") + std::string(name) + std::to_string(i);
  return text + "}";
}

Kernel kernelOf(const Form &f, const std::vector<uint8_t> &shared,
                const std::vector<uint32_t> &c) {
  const bool half = std::string(f.d) == "f16";
  const unsigned count = columns / (half ? 4 : 2);
  Kernel k;
  k.block = 128;
  k.shared = ".shared .align 1024 .b8 s[32768]; .reg .b32 %d<16>;"
             ".reg .b32 %a<4>;";
  k.body = R"(mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 4; mov.u32 %r2, s;
    add.u32 %r2, %r2, %r1; ld.param.u64 %rd0, [p0]; cvt.u64.u32 %rd1, %r1;
    add.u64 %rd0, %rd0, %rd1; mov.u32 %r3, 0;
    fill: ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd0];
    st.shared.v4.u32 [%r2], {%r4, %r5, %r6, %r7}; add.u64 %rd0, %rd0, 2048;
    add.u32 %r2, %r2, 2048; add.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, 16;
    @%p0 bra fill; fence.proxy.async; bar.sync 0;
    ld.param.u64 %rd2, [p1]; mul.wide.u32 %rd3, %r0, 4; add.u64 %rd2, %rd2, %rd3;
  )";
  for (unsigned i = 0; i < count; ++i)
    k.body += "ld.global.u32 %d" + std::to_string(i) + ", [%rd2+" +
              std::to_string(512 * i) + "];";
  // Row g and g + 8 of a warp's 16, four bytes of each lane, twice.
  k.body += "ld.param.u64 %rd4, [p2]; add.u64 %rd4, %rd4, %rd3;";
  for (unsigned i = 0; i < 4; ++i)
    k.body += "ld.global.u32 %a" + std::to_string(i) + ", [%rd4+" +
              std::to_string(512 * i) + "];";
  auto descriptor = [&](bool mnMajor, uint32_t at) {
    return std::to_string(descriptorOf(f, mnMajor, at).pack());
  };
  k.body += "mov.u64 %rd5, " + descriptor(f.mnMajorA, placeA) +
            "; mov.u64 %rd6, " + descriptor(f.mnMajorB, placeB) +
            "; setp.eq.u32 %p1, 0, 0; wgmma.fence.sync.aligned;"
            "wgmma.mma_async.sync.aligned.m64n24k" +
            std::to_string(f.k()) + "." + f.d + "." + f.a + "." + f.b + " " +
            vectorOf("d", count) + ", " +
            (f.registersA ? vectorOf("a", 4) : std::string("%rd5")) +
            ", %rd6, %p1";
  if (f.floating())
    k.body += f.negate ? ", -1, -1" : ", 1, 1";
  if (f.floating() && f.bits() == 16) {
    if (!f.registersA)
      k.body += f.mnMajorA ? ", 1" : ", 0";
    k.body += f.mnMajorB ? ", 1" : ", 0";
  }
  k.body += "; wgmma.commit_group.sync.aligned; "
            "wgmma.wait_group.sync.aligned 0;";
  for (unsigned i = 0; i < count; ++i)
    k.body += "st.global.u32 [%rd2+" + std::to_string(512 * i) + "], %d" +
              std::to_string(i) + ";";
  k.array(shared).array(c);
  return k;
}

uint32_t elementAt(const std::vector<uint8_t> &bytes, uint32_t at,
                   unsigned bits) {
  uint32_t value = 0;
  std::memcpy(&value, &bytes[at], bits / 8);
  return value;
}

/// Codes of numbers near 1, zeros, and now and then anything.
uint32_t drawn(Random &random, Element type) {
  const uint32_t any = uint32_t(random.next());
  const float near = float(int(random.below(4001)) - 2000) / 512;
  if (random.below(16) == 0)
    return 0;
  if (random.below(200) == 0)
    return any;
  switch (type) {
  case Element::F16:
    return toHalf(near);
  case Element::BF16:
    return toBFloat(near);
  case Element::TF32:
    return __builtin_bit_cast(uint32_t, near);
  case Element::E4M3:
    return toE4M3(near);
  case Element::E5M2:
    return toE5M2(near);
  default:
    return any;
  }
}

void check(const Form &f, uint64_t salt) {
  SCOPED_TRACE(f.text());
  Random random(salt, 5);
  const unsigned k = f.k(), bits = f.bits(), bytes = bits / 8;
  const bool half = std::string(f.d) == "f16";
  std::vector<uint8_t> shared(sharedBytes);
  auto fill = [&](uint32_t from, Element type) {
    for (uint32_t at = from; at < from + 16384; at += bytes) {
      uint32_t code = drawn(random, type);
      std::memcpy(&shared[at], &code, bytes);
    }
  };
  fill(placeA, f.typeA);
  fill(placeB, f.typeB);
  std::vector<uint32_t> a(k * rows), b(k * columns), d(rows * columns);
  for (unsigned l = 0; l < k; ++l) {
    for (unsigned i = 0; i < rows; ++i)
      a[l * rows + i] =
          elementAt(shared, addressOf(f, f.mnMajorA, placeA, i, l), bits);
    for (unsigned j = 0; j < columns; ++j)
      b[l * columns + j] =
          elementAt(shared, addressOf(f, f.mnMajorB, placeB, j, l), bits);
  }
  // Registers: of D by Fragments.h, of A so that they are what is in memory.
  std::vector<uint32_t> c(128 * 12), registers(128 * 4);
  auto placeOfD = [&](unsigned i, unsigned j) {
    unsigned thread = i / 16 * 32 + i % 8 * 4 + j % 8 / 2;
    unsigned pair = j / 8 * 2 + i / 8 % 2;
    return (half ? pair : pair * 2 + j % 2) * 128 + thread;
  };
  for (unsigned i = 0; i < rows; ++i)
    for (unsigned j = 0; j < columns; ++j) {
      const float near = float(int(random.below(4001)) - 2000) / 97;
      uint32_t code = half           ? toHalf(near)
                      : f.floating() ? __builtin_bit_cast(uint32_t, near)
                                     : uint32_t(random.next());
      d[i * columns + j] = code;
      c[placeOfD(i, j)] |= half ? code << 16 * (j % 2) : code;
    }
  const unsigned per = 32 / bits;
  for (unsigned i = 0; i < rows; ++i)
    for (unsigned l = 0; l < k; ++l) {
      unsigned reg = l / (4 * per) * 2 + i / 8 % 2;
      unsigned thread = i / 16 * 32 + i % 8 * 4 + l / per % 4;
      registers[reg * 128 + thread] |= a[l * rows + i]
                                       << (per == 1 ? 0 : l % per * bits);
    }
  if (f.floating()) {
    for (auto *codes : {&a, &b})
      for (uint32_t &code : *codes)
        code ^= f.negate ? 1u << (bits - 1) : 0;
    multiply(accumulationOf(90, Unit::Wgmma, f.typeA, half), {rows, columns, k},
             f.typeA, f.typeB, a.data(), b.data(), d.data());
  } else {
    auto value = [](uint32_t code, Element type) {
      return type == Element::S8 ? int32_t(int8_t(code)) : int32_t(code);
    };
    for (unsigned i = 0; i < rows; ++i)
      for (unsigned j = 0; j < columns; ++j)
        for (unsigned l = 0; l < k; ++l)
          d[i * columns + j] += uint32_t(value(a[l * rows + i], f.typeA) *
                                         value(b[l * columns + j], f.typeB));
  }
  Kernel kernel = kernelOf(f, shared, c);
  kernel.array(registers);
  ASSERT_TRUE(kernel.run()) << kernel.error;
  EXPECT_TRUE(kernel.findings.empty()) << kernel.told();
  const auto got = kernel.get<uint32_t>(1);
  for (unsigned i = 0; i < rows; ++i)
    for (unsigned j = 0; j < columns; ++j) {
      uint32_t word = got[placeOfD(i, j)];
      ASSERT_EQ(half ? word >> 16 * (j % 2) & 0xffff : word, d[i * columns + j])
          << i << ", " << j;
    }
  // What the tensor cores read: A once, B once for the four warps.
  const uint64_t ofA = f.registersA ? 0 : rows * 32, ofB = columns * 32;
  EXPECT_EQ(kernel.counters.wgmmaSharedBytes, ofA + ofB);
  EXPECT_EQ(kernel.counters.sharedLoadWavefronts, (ofA + ofB) / 128);
  EXPECT_EQ(kernel.counters.sharedConflicts, 0u);
}

TEST(Wgmma, MultipliesWhatItsOperandsHold) {
  const Form types[] = {
      {"f32", "bf16", "bf16", Element::BF16, Element::BF16},
      {"f32", "f16", "f16", Element::F16, Element::F16},
      {"f16", "f16", "f16", Element::F16, Element::F16},
      {"f32", "tf32", "tf32", Element::TF32, Element::TF32},
      {"f32", "e4m3", "e5m2", Element::E4M3, Element::E5M2},
      {"f16", "e5m2", "e4m3", Element::E5M2, Element::E4M3},
      {"s32", "s8", "s8", Element::S8, Element::S8},
      {"s32", "u8", "s8", Element::U8, Element::S8},
  };
  uint64_t salt = 0;
  for (Form f : types)
    for (bool registers : {false, true}) {
      f.registersA = registers;
      f.negate = registers && f.floating();
      f.swizzle = Swizzle(salt % 4);
      check(f, ++salt);
    }
  for (Swizzle s : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (unsigned orders = 0; orders < 4; ++orders) {
      Form f = types[orders % 2];
      f.swizzle = s;
      f.mnMajorA = orders & 1;
      f.mnMajorB = orders & 2;
      check(f, ++salt);
    }
}

/// Warp 0 fills 256 bytes of B at a time, all warps multiply them with A from
/// registers. `before`: what lies between; `rounds`: over how many of B, in one
/// group.
Kernel readsOf(const std::string &fill, const std::string &before,
               unsigned rounds = 1) {
  Kernel k;
  k.block = 128;
  k.shared = ".shared .align 1024 .b8 s[1024]; .reg .b32 %d<4>;";
  k.body = "mov.u32 %r0, %tid.x; mov.u32 %r2, s; shr.u32 %r2, %r2, 4;"
           "shl.b32 %r1, %r0, 3; mov.u32 %r3, s; add.u32 %r1, %r1, %r3;"
           "setp.lt.u32 %p2, %r0, 32; setp.lt.u32 %p3, %r0, 64;"
           "mov.u64 %rd0, 0; mov.b32 %r5, 0; mov.b32 %r6, 0;"
           "setp.eq.u32 %p1, 0, 1;";
  for (int i = 0; i < 4; ++i)
    k.body += "mov.b32 %d" + std::to_string(i) + ", 0;";
  SharedDescriptor d;
  d.leading = 128;
  d.stride = 256;
  k.body += fill + before +
            "wgmma.fence.sync.aligned; cvt.u64.u32 %rd5, %r2;"
            "add.u64 %rd6, %rd5, " +
            std::to_string(d.pack()) +
            ";"
            "again: wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
            "{%d0, %d1, %d2, %d3}, {%r5, %r5, %r5, %r5}, %rd6, %p1, 1, 1, 0;"
            "add.u64 %rd6, %rd6, 16; add.u32 %r6, %r6, 1;"
            "setp.lt.u32 %p0, %r6, " +
            std::to_string(rounds) +
            ";"
            "@%p0 bra again; wgmma.commit_group.sync.aligned;"
            "wgmma.wait_group.sync.aligned 0;";
  return k;
}

// What the first warp of a warpgroup may read, another may not have heard of.
TEST(Wgmma, JudgesTheReadsOfEachWarp) {
  const std::string first = "@%p2 st.shared.b64 [%r1], %rd0;",
                    second = "@%p2 st.shared.b64 [%r1+256], %rd0;",
                    fence = "fence.proxy.async;";
  struct Case {
    const char *what;
    Kernel kernel;
    bool races;
  } cases[] = {
      {"all hear of it", readsOf(first + fence, "bar.sync 0;"), false},
      {"two warps hear of it", readsOf(first + fence, "@%p3 bar.sync 1, 64;"),
       true},
      {"one warp wrote it", readsOf(first + fence, ""), true},
      {"nobody has fenced", readsOf(first, "bar.sync 0;"), true},
      {"of both they hear", readsOf(first + second + fence, "bar.sync 0;", 2),
       false},
      {"of the second they do not",
       readsOf(first + fence, "bar.sync 0;" + second + fence, 2), true},
  };
  for (Case &c : cases)
    for (uint64_t seed = 0; seed < 8; ++seed) {
      c.kernel.seed = seed;
      ASSERT_TRUE(c.kernel.run()) << c.kernel.error;
      EXPECT_EQ(c.kernel.finds(FindingKind::Race, ""), c.races)
          << c.what << " " << c.kernel.told();
    }
}

// B is filled again, for the same instruction.
TEST(Wgmma, JudgesTheNextReadOfAPlaceAgain) {
  for (bool heard : {true, false}) {
    Kernel k = readsOf("mov.b32 %r7, 0; next: @%p2 st.shared.b64 [%r1], %rd0;"
                       "fence.proxy.async; setp.eq.u32 %p4, %r7, 0;",
                       heard ? "bar.sync 0;" : "@%p4 bar.sync 0;");
    k.body += "bar.sync 0; mov.b32 %r6, 0; add.u32 %r7, %r7, 1;"
              "setp.lt.u32 %p4, %r7, 2; @%p4 bra next;";
    for (k.seed = 0; k.seed < 8; ++k.seed) {
      ASSERT_TRUE(k.run()) << k.error;
      EXPECT_EQ(k.finds(FindingKind::Race, ""), !heard) << k.told();
    }
  }
}

} // namespace
