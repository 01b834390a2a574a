// SPDX-License-Identifier: Apache-2.0
//
// Small kernels that are wrong, each beside one that is right: the wrong one
// has the finding it should have, whatever the order that the seed draws, and
// the right one has none.
#include "runtime/sim/Simulator.h"
#include "runtime/sim/program/Program.h"
#include "test/runtime/TestName.h"
#include <cstring>
#include <gtest/gtest.h>
#include <set>

using namespace act::runtime::sim;

namespace {

struct Shape {
  uint32_t grid = 1, block = 64;
  bool cooperative = false;
  const char *target = "sm_80";
  uint32_t atOnce = 0;
};

/// Each block sets the flag of its ticket and waits for that of the ticket
/// which differs in the bits of `mask`.
std::string waitsForPartner(int mask) {
  return "atom.global.add.u32 %i, [%a], 1; mul.wide.u32 %x, %i, 4;"
         "add.u64 %x, %a, %x; st.release.gpu.global.u32 [%x + 4], 1;"
         "xor.b32 %j, %i, " +
         std::to_string(mask) +
         "; mul.wide.u32 %y, %j, 4; add.u64 %y, %a, %y;"
         "wait: ld.acquire.gpu.global.u32 %k, [%y + 4];"
         "setp.eq.u32 %p, %k, 0; @%p bra wait;";
}

struct Case {
  const char *name;
  const char *expected; // nameOf a kind, or "" for a kernel without fault
  std::string body;
  Shape shape;
};

// x: 4096 zero bytes, y: 256 bytes never written. %t, %b: thread, block; %p to
// %r are predicates, %i to %n 32-bit and %x to %z 64-bit registers; %a is x and
// %c is x + 4 * thread. buffer: 1024 bytes of shared memory, %s its address.
std::string kernelOf(const Case &c) {
  std::string version = std::string(c.shape.target) == "sm_80" ? "7.0" : "8.0";
  return ".version " + version + "\n.target " + c.shape.target +
         "\n.address_size 64\n"
         ".visible .global .align 4 .u32 flag = 0;\n"
         ".extern .func (.param .b64 result) malloc (.param .b64 size);\n"
         ".extern .func free (.param .b64 address);\n"
         ".func forever() { call forever; ret; }\n"
         ".visible .entry k(.param .u64 px, .param .u64 py) {\n"
         ".shared .align 16 .b8 buffer[1024];\n"
         ".reg .pred %p, %q, %r; .reg .b32 %t, %b, %i, %j, %k, %l, %m, %n, %s;"
         ".reg .b64 %a, %c, %d, %x, %y, %z; .reg .f32 %f;\n"
         "ld.param.u64 %a, [px]; ld.param.u64 %d, [py];\n"
         "mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %s, buffer;\n"
         "mul.wide.u32 %c, %t, 4; add.s64 %c, %c, %a;\n" +
         c.body + "\nret;\n}\n";
}

std::string repeated(const std::string &text, int times) {
  std::string all;
  while (times-- > 0)
    all += text;
  return all;
}

const Case cases[] = {
    // ---- races in shared memory
    {"shared exchange without a barrier",
     "race",
     "shl.b32 %i, %t, 2; add.s32 %i, %i, %s; st.shared.u32 [%i], %t;"
     "xor.b32 %j, %t, 32; shl.b32 %j, %j, 2; add.s32 %j, %j, %s;"
     "ld.shared.u32 %k, [%j]; st.global.u32 [%c], %k;",
     {}},
    {"shared exchange with a barrier",
     "",
     "shl.b32 %i, %t, 2; add.s32 %i, %i, %s; st.shared.u32 [%i], %t;"
     "bar.sync 0;"
     "xor.b32 %j, %t, 32; shl.b32 %j, %j, 2; add.s32 %j, %j, %s;"
     "ld.shared.u32 %k, [%j]; st.global.u32 [%c], %k;",
     {}},
    {"barrier before the next round is missing",
     "race",
     "shl.b32 %i, %t, 2; add.s32 %i, %i, %s; st.shared.u32 [%i], %t;"
     "xor.b32 %j, %t, 32; shl.b32 %j, %j, 2; add.s32 %j, %j, %s;"
     "bar.sync 0; ld.shared.u32 %k, [%j]; st.shared.u32 [%i], %k;",
     {}},
    {"lanes exchange without bar.warp.sync",
     "race",
     "shl.b32 %i, %t, 2; add.s32 %i, %i, %s; st.shared.u32 [%i], %t;"
     "xor.b32 %j, %t, 1; shl.b32 %j, %j, 2; add.s32 %j, %j, %s;"
     "ld.shared.u32 %k, [%j]; st.global.u32 [%c], %k;",
     {1, 32}},
    {"lanes exchange with bar.warp.sync",
     "",
     "shl.b32 %i, %t, 2; add.s32 %i, %i, %s; st.shared.u32 [%i], %t;"
     "bar.warp.sync 0xffffffff;"
     "xor.b32 %j, %t, 1; shl.b32 %j, %j, 2; add.s32 %j, %j, %s;"
     "ld.shared.u32 %k, [%j]; st.global.u32 [%c], %k;",
     {1, 32}},
    {"bar.warp.sync of half a warp",
     "race",
     "shl.b32 %i, %t, 2; add.s32 %i, %i, %s; st.shared.u32 [%i], %t;"
     "setp.lt.u32 %p, %t, 16; @%p bar.warp.sync 0xffff;"
     "@!%p bar.warp.sync 0xffff0000;"
     "xor.b32 %j, %t, 16; shl.b32 %j, %j, 2; add.s32 %j, %j, %s;"
     "ld.shared.u32 %k, [%j]; st.global.u32 [%c], %k;",
     {1, 32}},
    // ---- loads of more than was written
    {"bytes that were never written are masked away",
     "",
     "st.global.u16 [%d], 7; bar.sync 0; ld.global.v2.u32 {%k, %l}, [%d];"
     "and.b32 %k, %k, 65535; st.global.u32 [%c], %k;",
     {1, 1}},
    {"bytes that were never written are stored",
     "uninitialised",
     "st.global.u16 [%d], 7; bar.sync 0; ld.global.u32 %k, [%d];"
     "st.global.u32 [%c], %k;",
     {1, 1}},
    {"an element of a vector that was never written is stored",
     "uninitialised",
     "st.global.u32 [%d], 7; ld.global.v2.u32 {%k, %l}, [%d];"
     "st.global.u32 [%c], %l;",
     {1, 1}},
    {"a byte that was never written decides a sign",
     "uninitialised",
     "st.shared.u8 [%s], 7; ld.shared.s16 %k, [%s]; shr.u32 %k, %k, 16;"
     "st.global.u32 [%c], %k;",
     {1, 1}},
    {"nothing of what is read was ever written",
     "uninitialised",
     "st.global.u32 [%d], 7; ld.global.v2.u32 {%k, %l}, [%d+8];"
     "st.global.u32 [%c], %l;",
     {1, 1}},
    {"nothing of what is read was ever written, nor is it used",
     "",
     "st.global.u32 [%d], 7; ld.global.v2.u32 {%k, %l}, [%d+8];",
     {1, 1}},
    // ---- readers that are remembered together
    {"all of eight warps' readers are awaited",
     "",
     "setp.eq.u32 %p, %t, 0; @%p st.shared.u32 [%s], 7; bar.sync 0;"
     "ld.shared.u32 %k, [%s]; bar.sync 0; @%p st.shared.u32 [%s], %k;",
     {1, 256}},
    {"one of eight warps' readers is not awaited",
     "race",
     "setp.eq.u32 %p, %t, 0; @%p st.shared.u32 [%s], 7; bar.sync 0;"
     "ld.shared.u32 %k, [%s]; setp.lt.u32 %q, %t, 224;"
     "@%q bar.sync 1, 224; @%p st.shared.u32 [%s], %k;",
     {1, 256}},
    {"of eight warps four read again and are awaited",
     "",
     "setp.eq.u32 %p, %t, 0; @%p st.shared.u32 [%s], 7; bar.sync 0;"
     "ld.shared.u32 %k, [%s]; bar.sync 0; setp.lt.u32 %q, %t, 128;"
     "@%q ld.shared.u32 %j, [%s]; @%q bar.sync 1, 128;"
     "@%p st.shared.u32 [%s], %k;",
     {1, 256}},
    {"of eight warps five read again and four are awaited",
     "race",
     "setp.eq.u32 %p, %t, 0; @%p st.shared.u32 [%s], 7; bar.sync 0;"
     "ld.shared.u32 %k, [%s]; bar.sync 0; setp.lt.u32 %q, %t, 160;"
     "@%q ld.shared.u32 %j, [%s]; setp.lt.u32 %q, %t, 128;"
     "@%q bar.sync 1, 128; @%p st.shared.u32 [%s], %k;",
     {1, 256}},
    {"half of a warp's lanes read again, all are awaited by half",
     "race",
     "setp.eq.u32 %p, %t, 0; @%p st.shared.u32 [%s], 7; bar.sync 0;"
     "ld.shared.u32 %k, [%s]; setp.lt.u32 %q, %t, 16;"
     "@%q ld.shared.u32 %j, [%s]; @%q bar.warp.sync 0xffff;"
     "@%p st.shared.u32 [%s], %k;",
     {1, 64}},
    {"one CTA writes what eight read",
     "race",
     "ld.global.u32 %k, [%a]; setp.eq.u32 %p, %b, 5;"
     "setp.eq.and.u32 %p, %t, 0, %p; @%p st.global.u32 [%a], %k;",
     {8, 32}},
    {"each CTA writes what it alone read",
     "",
     "mul.wide.u32 %x, %b, 4; add.s64 %x, %x, %a; ld.global.u32 %k, [%x];"
     "bar.sync 0; setp.eq.u32 %p, %t, 0; @%p st.global.u32 [%x], %k;",
     {8, 32}},
    {"neighbouring bytes",
     "",
     "add.s32 %i, %t, %s; st.shared.u8 [%i], %t; bar.sync 0;"
     "xor.b32 %j, %t, 32; add.s32 %j, %j, %s; ld.shared.u8 %k, [%j];"
     "st.global.u32 [%c], %k;",
     {}},
    {"bytes that overlap a word",
     "race",
     "setp.eq.u32 %p, %t, 0; setp.eq.u32 %q, %t, 35;"
     "@%p st.shared.u32 [%s], %t; @%q st.shared.u8 [%s+3], %t;",
     {}},
    {"producer and consumer by bar.arrive",
     "",
     "setp.lt.u32 %p, %t, 32; @!%p bra consume;"
     "shl.b32 %i, %t, 2; add.s32 %i, %i, %s; st.shared.u32 [%i], %t;"
     "bar.arrive 1, 64; bra done;"
     "consume: bar.sync 1, 64; and.b32 %i, %t, 31; shl.b32 %i, %i, 2;"
     "add.s32 %i, %i, %s; ld.shared.u32 %k, [%i]; st.global.u32 [%c], %k;"
     "done:",
     {}},
    {"consumer reads before the barrier",
     "race",
     "setp.lt.u32 %p, %t, 32; @!%p bra consume;"
     "shl.b32 %i, %t, 2; add.s32 %i, %i, %s; bar.arrive 1, 64;"
     "st.shared.u32 [%i], %t; bra done;"
     "consume: bar.sync 1, 64; and.b32 %i, %t, 31; shl.b32 %i, %i, 2;"
     "add.s32 %i, %i, %s; st.shared.u32 [%i], %t;"
     "done:",
     {}},
    // ---- races in global memory
    {"blocks write one word", "race", "st.global.u32 [%a], %b;", {2, 1}},
    {"blocks add to one word", "", "red.global.add.u32 [%a], 1;", {8, 64}},
    {"a plain read beside an addition",
     "race",
     "setp.eq.u32 %p, %b, 0; @%p red.global.add.u32 [%a], 1;"
     "@!%p ld.global.u32 %i, [%a]; @!%p st.global.u32 [%a+64], %i;",
     {2, 1}},
    {"a message by release and acquire",
     "",
     "setp.eq.u32 %p, %b, 0; @%p bra send;"
     "wait: ld.acquire.gpu.global.u32 %i, [flag]; setp.eq.u32 %q, %i, 0;"
     "@%q bra wait; ld.global.u32 %k, [%a]; st.global.u32 [%a+64], %k;"
     "bra done;"
     "send: st.global.u32 [%a], 7; st.release.gpu.global.u32 [flag], 1;"
     "done:",
     {2, 1, true}},
    {"the message is released relaxed",
     "race",
     "setp.eq.u32 %p, %b, 0; @%p bra send;"
     "wait: ld.acquire.gpu.global.u32 %i, [flag]; setp.eq.u32 %q, %i, 0;"
     "@%q bra wait; ld.global.u32 %k, [%a]; st.global.u32 [%a+64], %k;"
     "bra done;"
     "send: st.global.u32 [%a], 7; st.relaxed.gpu.global.u32 [flag], 1;"
     "done:",
     {2, 1, true}},
    {"the message is read relaxed",
     "race",
     "setp.eq.u32 %p, %b, 0; @%p bra send;"
     "wait: ld.relaxed.gpu.global.u32 %i, [flag]; setp.eq.u32 %q, %i, 0;"
     "@%q bra wait; ld.global.u32 %k, [%a]; st.global.u32 [%a+64], %k;"
     "bra done;"
     "send: st.global.u32 [%a], 7; st.release.gpu.global.u32 [flag], 1;"
     "done:",
     {2, 1, true}},
    {"the message is released to the block only",
     "race",
     "setp.eq.u32 %p, %b, 0; @%p bra send;"
     "wait: ld.acquire.gpu.global.u32 %i, [flag]; setp.eq.u32 %q, %i, 0;"
     "@%q bra wait; ld.global.u32 %k, [%a]; st.global.u32 [%a+64], %k;"
     "bra done;"
     "send: st.global.u32 [%a], 7; st.release.cta.global.u32 [flag], 1;"
     "done:",
     {2, 1, true}},
    {"a message by fences",
     "",
     "setp.eq.u32 %p, %b, 0; @%p bra send;"
     "wait: ld.relaxed.gpu.global.u32 %i, [flag]; setp.eq.u32 %q, %i, 0;"
     "@%q bra wait; fence.acq_rel.gpu; ld.global.u32 %k, [%a];"
     "st.global.u32 [%a+64], %k; bra done;"
     "send: st.global.u32 [%a], 7; membar.gl;"
     "st.volatile.global.u32 [flag], 1;"
     "done:",
     {2, 1, true}},
    {"the receiver's fence is missing",
     "race",
     "setp.eq.u32 %p, %b, 0; @%p bra send;"
     "wait: ld.relaxed.gpu.global.u32 %i, [flag]; setp.eq.u32 %q, %i, 0;"
     "@%q bra wait; ld.global.u32 %k, [%a];"
     "st.global.u32 [%a+64], %k; bra done;"
     "send: st.global.u32 [%a], 7; membar.gl;"
     "st.volatile.global.u32 [flag], 1;"
     "done:",
     {2, 1, true}},
    {"a fence of the block between blocks",
     "race",
     "setp.eq.u32 %p, %b, 0; @%p bra send;"
     "wait: ld.relaxed.gpu.global.u32 %i, [flag]; setp.eq.u32 %q, %i, 0;"
     "@%q bra wait; fence.acq_rel.gpu; ld.global.u32 %k, [%a];"
     "st.global.u32 [%a+64], %k; bra done;"
     "send: st.global.u32 [%a], 7; membar.cta;"
     "st.relaxed.gpu.global.u32 [flag], 1;"
     "done:",
     {2, 1, true}},
    {"a lock",
     "",
     "again: atom.acquire.gpu.global.cas.b32 %i, [flag], 0, 1;"
     "setp.ne.u32 %p, %i, 0; @%p bra again;"
     "ld.global.u32 %k, [%a]; add.s32 %k, %k, 1; st.global.u32 [%a], %k;"
     "st.release.gpu.global.u32 [flag], 0;",
     {4, 1, true}},
    {"a lock that is given back relaxed",
     "race",
     "again: atom.acquire.gpu.global.cas.b32 %i, [flag], 0, 1;"
     "setp.ne.u32 %p, %i, 0; @%p bra again;"
     "ld.global.u32 %k, [%a]; add.s32 %k, %k, 1; st.global.u32 [%a], %k;"
     "st.relaxed.gpu.global.u32 [flag], 0;",
     {4, 1, true}},
    {"the last of the blocks",
     "",
     "shl.b32 %i, %b, 2; cvt.u64.u32 %x, %i; add.s64 %x, %x, %a;"
     "st.global.u32 [%x+64], %b;"
     "atom.acq_rel.gpu.global.add.u32 %j, [flag], 1;"
     "setp.ne.u32 %p, %j, 3; @%p bra done;"
     "ld.global.v4.u32 {%k, %l, %m, %n}, [%a+64]; st.global.u32 [%a], %m;"
     "done:",
     {4, 1}},
    {"the last of the blocks without order",
     "race",
     "shl.b32 %i, %b, 2; cvt.u64.u32 %x, %i; add.s64 %x, %x, %a;"
     "st.global.u32 [%x+64], %b;"
     "atom.relaxed.gpu.global.add.u32 %j, [flag], 1;"
     "setp.ne.u32 %p, %j, 3; @%p bra done;"
     "ld.global.v4.u32 {%k, %l, %m, %n}, [%a+64]; st.global.u32 [%a], %m;"
     "done:",
     {4, 1}},
    // ---- addresses
    {"behind an allocation",
     "out-of-bounds",
     "st.global.u32 [%a+4096], %t;",
     {1, 1}},
    {"before an allocation",
     "out-of-bounds",
     "st.global.u32 [%a+-4], %t;",
     {1, 1}},
    {"the last word", "", "st.global.u32 [%a+4092], %t;", {1, 1}},
    {"behind shared memory",
     "out-of-bounds",
     "st.shared.u32 [%s+1024], %t;",
     {1, 1}},
    {"the null pointer",
     "out-of-bounds",
     "mov.u64 %x, 0; st.global.u32 [%x], %t;",
     {1, 1}},
    {"a shared address taken for a global one",
     "out-of-bounds",
     "cvt.u64.u32 %x, %s; st.global.u32 [%x], %t;",
     {1, 1}},
    {"a shared address made generic",
     "",
     "cvt.u64.u32 %x, %s; cvta.shared.u64 %x, %x; st.u32 [%x], %t;",
     {1, 1}},
    {"a word at an odd address",
     "misaligned",
     "st.global.u32 [%a+2], %t;",
     {1, 1}},
    {"a vector at half its size",
     "misaligned",
     "ld.global.v4.u32 {%i, %j, %k, %l}, [%a+8];",
     {1, 1}},
    // ---- what was never written
    {"global memory never written",
     "uninitialised",
     "ld.global.u32 %i, [%d]; st.global.u32 [%a], %i;",
     {1, 1}},
    {"shared memory never written",
     "uninitialised",
     "ld.shared.u32 %i, [%s+8]; st.global.u32 [%a], %i;",
     {1, 1}},
    {"half a word written",
     "uninitialised",
     "st.shared.u16 [%s+8], 1; ld.shared.u32 %i, [%s+8];"
     "st.global.u32 [%a], %i;",
     {1, 1}},
    {"a register never written is stored",
     "uninitialised",
     "st.global.u32 [%a], %i;",
     {1, 1}},
    {"a register never written decides",
     "uninitialised",
     "setp.eq.u32 %p, %i, 0; @%p bra done; st.global.u32 [%a], 1; done:",
     {1, 1}},
    {"a register written in one branch",
     "uninitialised",
     "setp.lt.u32 %p, %t, 5; @%p mov.u32 %i, 3; st.global.u32 [%c], %i;",
     {1, 32}},
    {"a register never written, selected away",
     "",
     "setp.lt.u32 %p, %t, 5; @%p mov.u32 %i, 3; @%p st.global.u32 [%c], %i;",
     {1, 32}},
    // ---- barriers
    {"a guarded barrier",
     "divergent",
     "setp.lt.u32 %p, %t, 16; @%p bar.sync 0;",
     {1, 32}},
    {"a barrier in a branch",
     "divergent",
     "setp.ge.u32 %p, %t, 16; @%p bra skip; bar.sync 0;"
     "skip: st.global.u32 [%c], 1;",
     {1, 32}},
    {"a loop of more rounds for some lanes",
     "divergent",
     "and.b32 %i, %t, 1; add.s32 %i, %i, 2;"
     "loop: bar.sync 0; sub.s32 %i, %i, 1; setp.ne.u32 %p, %i, 0;"
     "@%p bra loop; st.global.u32 [%c], 1;",
     {1, 32}},
    {"lanes that exit before the barrier",
     "",
     "setp.ge.u32 %p, %t, 16; @%p ret; bar.sync 0; st.global.u32 [%c], 1;",
     {1, 32}},
    {"lanes that exit in a branch before the barrier",
     "",
     "setp.ge.u32 %p, %t, 16; @%p bra out; bar.sync 0; st.global.u32 [%c], 1;"
     "out:",
     {1, 32}},
    {"other counts at one barrier",
     "divergent",
     "setp.lt.u32 %p, %t, 32; @%p bra one; bar.sync 1, 96; bra done;"
     "one: bar.sync 1, 64; done:",
     {1, 96}},
    {"the other warp waits elsewhere",
     "deadlock",
     "setp.lt.u32 %p, %t, 32; @%p bra one; bar.sync 1, 64; bra done;"
     "one: bar.sync 2, 64; done:",
     {}},
    {"too few threads for the barrier", "deadlock", "bar.sync 1, 96;", {}},
    {"a member of a shuffle that does not come",
     "deadlock",
     "setp.lt.u32 %p, %t, 16; @!%p bra wait;"
     "shfl.sync.bfly.b32 %i, %t, 1, 31, 0xffffffff;"
     "wait: bar.warp.sync 0xffffffff;",
     {1, 32}},
    {"nobody sets the flag",
     "deadlock",
     "wait: ld.volatile.global.u32 %i, [flag]; setp.eq.u32 %p, %i, 0;"
     "@%p bra wait;",
     {1, 32}},
    {"a block waits for a later one",
     "relies-on-cta-order",
     "setp.eq.u32 %p, %b, 4999; @%p st.release.gpu.global.u32 [flag], 1;"
     "wait: ld.acquire.gpu.global.u32 %i, [flag]; setp.eq.u32 %p, %i, 0;"
     "@%p bra wait;",
     {5000, 1}},
    {"a block waits for an earlier one",
     "relies-on-cta-order",
     "setp.eq.u32 %p, %b, 0; @%p st.release.gpu.global.u32 [flag], 1;"
     "wait: ld.acquire.gpu.global.u32 %i, [flag]; setp.eq.u32 %p, %i, 0;"
     "@%p bra wait;",
     {2, 1}},
    {"two blocks wait for each other",
     "relies-on-cta-order",
     waitsForPartner(1),
     {8, 1}},
    {"two blocks wait for each other, and are there at once",
     "",
     waitsForPartner(1),
     {8, 1, false, "sm_80", 2}},
    {"a block waits for the one after the next",
     "relies-on-cta-order",
     waitsForPartner(2),
     {8, 1, false, "sm_80", 2}},
    {"a block waits for the one after the next, and four are there at once",
     "",
     waitsForPartner(2),
     {8, 1, false, "sm_80", 4}},
    {"blocks try again with what they found",
     "",
     "mov.u32 %i, 12345; again: max.u32 %j, %i, %b;"
     "atom.global.cas.b32 %k, [flag], %i, %j; setp.ne.u32 %p, %k, %i;"
     "mov.u32 %i, %k; @%p bra again;",
     {50, 1}},
    {"a block waits for those with earlier tickets",
     "",
     "atom.global.add.u32 %i, [%a], 1;"
     "wait: ld.acquire.gpu.global.u32 %j, [flag]; setp.ne.u32 %p, %i, %j;"
     "@%p bra wait;"
     "add.u32 %j, %j, 1; st.release.gpu.global.u32 [flag], %j;",
     {50, 1}},
    {"blocks that are all resident wait",
     "",
     "setp.eq.u32 %p, %b, 99; @%p st.release.gpu.global.u32 [flag], 1;"
     "wait: ld.acquire.gpu.global.u32 %i, [flag]; setp.eq.u32 %p, %i, 0;"
     "@%p bra wait;",
     {100, 1, true}},
    {"a warp has long work between a wait and its arrival",
     "",
     "setp.eq.u32 %p, %t, 0; add.u32 %j, %s, 8;"
     "@%p mbarrier.init.shared.b64 [%s], 1;"
     "@%p mbarrier.init.shared.b64 [%j], 1; bar.sync 0;"
     "setp.ge.u32 %q, %t, 32; @%q bra other;"
     "one: mbarrier.test_wait.parity.shared.b64 %r, [%s], 0; @!%r bra one;" +
         repeated("add.u32 %i, %i, %t;", 2000) +
         "@%p mbarrier.arrive.shared.b64 %x, [%j]; bra end;"
         "other: mov.u32 %k, 0;"
         "delay: add.u32 %k, %k, 1; setp.lt.u32 %r, %k, 50; @%r bra delay;"
         "setp.eq.u32 %r, %t, 32; @%r mbarrier.arrive.shared.b64 %x, [%s];"
         "two: mbarrier.test_wait.parity.shared.b64 %r, [%j], 0; @!%r bra two;"
         "end:",
     {20, 64, false, "sm_90"}},
    // ---- who meets at a named barrier
    {"two groups of warps use one barrier",
     "divergent",
     "setp.lt.u32 %p, %t, 64; @%p bra first; bar.sync 1, 64; bra end;"
     "first: bar.sync 1, 64; end:",
     {1, 128}},
    {"two groups of warps have a barrier each",
     "",
     "setp.lt.u32 %p, %t, 64; @%p bra first; bar.sync 1, 64; bar.sync 1, 64;"
     "bra end; first: bar.sync 2, 64; bar.sync 2, 64; end:",
     {1, 128}},
    {"two groups use one barrier after another",
     "",
     "setp.lt.u32 %p, %t, 64; @%p bra first; bar.sync 1, 64; bar.sync 0;"
     "bra end; first: bar.sync 0; bar.sync 1, 64; end:",
     {1, 128}},
    // ---- data where an mbarrier was
    {"bulk copy over an mbarrier that is gone",
     "race",
     "setp.ne.u32 %p, %t, 0; @%p bra end; add.s32 %i, %s, 64;"
     "mbarrier.init.shared.b64 [%i], 1; mbarrier.init.shared.b64 [%s], 1;"
     "mbarrier.arrive.shared.b64 %x, [%s];"
     "mbarrier.inval.shared.b64 [%s];"
     "mbarrier.arrive.expect_tx.shared.b64 _, [%i], 16;"
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
     "[%s], [%a], 16, [%i];"
     "wait: mbarrier.try_wait.parity.shared.b64 %q, [%i], 0;"
     "@!%q bra wait; end:",
     {1, 32, false, "sm_90a"}},
    {"bulk copy over an mbarrier that is gone and a proxy fence",
     "",
     "setp.ne.u32 %p, %t, 0; @%p bra end; add.s32 %i, %s, 64;"
     "mbarrier.init.shared.b64 [%i], 1; mbarrier.init.shared.b64 [%s], 1;"
     "mbarrier.arrive.shared.b64 %x, [%s];"
     "mbarrier.inval.shared.b64 [%s]; fence.proxy.async;"
     "mbarrier.arrive.expect_tx.shared.b64 _, [%i], 16;"
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
     "[%s], [%a], 16, [%i];"
     "wait: mbarrier.try_wait.parity.shared.b64 %q, [%i], 0;"
     "@!%q bra wait; end:",
     {1, 32, false, "sm_90a"}},
    {"blocks meet in the driver's workspace",
     "",
     "mov.u32 %i, %envreg2; mov.u32 %j, %envreg1; mov.b64 %x, {%i, %j};"
     "st.global.u32 [%c], %t; bar.sync 0; setp.ne.u32 %p, %t, 0; @%p bra out;"
     "atom.acq_rel.gpu.global.add.u32 %k, [%x+4], 1;"
     "wait: ld.acquire.gpu.global.u32 %k, [%x+4]; setp.ne.u32 %q, %k, 1;"
     "@%q bra wait; out:",
     {1, 64, true}},
    {"a phase ends while the end of the one before is awaited",
     "race",
     "setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared.b64 [%s], 1; bar.sync 0;"
     "@%p mbarrier.arrive.shared.b64 %x, [%s];"
     "look: mbarrier.test_wait.parity.shared.b64 %q, [%s], 0; @!%q bra look;"
     "setp.eq.u32 %r, %t, 32; @%r st.relaxed.cta.global.u32 [flag], 1;"
     "@!%p bra done;"
     "wait: ld.relaxed.cta.global.u32 %i, [flag]; setp.eq.u32 %q, %i, 0;"
     "@%q bra wait; mbarrier.arrive.shared.b64 %y, [%s]; done:",
     {1, 64, false, "sm_90"}},
    {"a phase ends after all saw the end of the one before",
     "",
     "setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared.b64 [%s], 1; bar.sync 0;"
     "@%p mbarrier.arrive.shared.b64 %x, [%s];"
     "look: mbarrier.test_wait.parity.shared.b64 %q, [%s], 0; @!%q bra look;"
     "setp.eq.u32 %r, %t, 32; @%r st.release.cta.global.u32 [flag], 1;"
     "@!%p bra done;"
     "wait: ld.acquire.cta.global.u32 %i, [flag]; setp.eq.u32 %q, %i, 0;"
     "@%q bra wait; mbarrier.arrive.shared.b64 %y, [%s]; done:",
     {1, 64, false, "sm_90"}},
    {"wgmma by a descriptor that was never written",
     "uninitialised",
     "mul.lo.u32 %i, %t, 8; add.u32 %i, %i, %s; st.shared.v2.u32 [%i], {%t, "
     "%t};"
     "fence.proxy.async.shared::cta; bar.sync 0; mov.u32 %j, 0; mov.u32 %k, 0;"
     "mov.u32 %l, 0; mov.u32 %m, 0; setp.ne.u32 %p, %t, %t;"
     ".reg .f32 %e<4>; wgmma.fence.sync.aligned;"
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%e0, %e1, %e2, %e3},"
     "{%j, %k, %l, %m}, %y, %p, 1, 1, 0; wgmma.commit_group.sync.aligned;"
     "wgmma.wait_group.sync.aligned 0;",
     {1, 128, false, "sm_90a"}},
    {"wgmma by a descriptor",
     "",
     "mul.lo.u32 %i, %t, 8; add.u32 %i, %i, %s; st.shared.v2.u32 [%i], {%t, "
     "%t};"
     "fence.proxy.async.shared::cta; bar.sync 0; mov.u32 %j, 0; mov.u32 %k, 0;"
     "mov.u32 %l, 0; mov.u32 %m, 0; setp.ne.u32 %p, %t, %t;"
     "shr.u32 %n, %s, 4; cvt.u64.u32 %y, %n; .reg .f32 %e<4>; "
     "wgmma.fence.sync.aligned;"
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%e0, %e1, %e2, %e3},"
     "{%j, %k, %l, %m}, %y, %p, 1, 1, 0; wgmma.commit_group.sync.aligned;"
     "wgmma.wait_group.sync.aligned 0;",
     {1, 128, false, "sm_90a"}},
    // ---- the rest
    {"a barrier of no such number",
     "invalid-operation",
     "mov.u32 %i, 16; bar.sync %i, 64;",
     {}},
    {"a recursion without end", "invalid-operation", "call forever;", {1, 1}},
    {"a trap", "invalid-operation", "setp.eq.u32 %p, %t, 3; @%p trap;", {}},
    {"memory that is not freed",
     "leak",
     "{ .param .b64 size; .param .b64 result; st.param.b64 [size], 64;"
     "call (result), malloc, (size); ld.param.b64 %x, [result]; }"
     "st.u32 [%x], 1;",
     {1, 1}},
    {"memory that is freed",
     "",
     "{ .param .b64 size; .param .b64 result; st.param.b64 [size], 64;"
     "call (result), malloc, (size); ld.param.b64 %x, [result]; }"
     "st.u32 [%x], 1;"
     "{ .param .b64 address; st.param.b64 [address], %x;"
     "call free, (address); }",
     {1, 1}},
    {"memory used after it was freed",
     "out-of-bounds",
     "{ .param .b64 size; .param .b64 result; st.param.b64 [size], 64;"
     "call (result), malloc, (size); ld.param.b64 %x, [result]; }"
     "{ .param .b64 address; st.param.b64 [address], %x;"
     "call free, (address); }"
     "st.u32 [%x], 1;",
     {1, 1}},
};

class Findings : public testing::TestWithParam<Case> {};

TEST_P(Findings, AreThoseOfTheKernel) {
  const Case &c = GetParam();
  auto target = targetNamed(c.shape.target);
  ASSERT_TRUE(target) << target.error().str();
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Options options;
    options.seed = seed;
    options.maximumInstructions = 20'000'000;
    Simulator simulator(*target, options);
    auto module = simulator.load(kernelOf(c), "test.ptx");
    ASSERT_TRUE(module) << module.error().str();
    void *x = *simulator.allocate(4096, "x"), *y = *simulator.allocate(256);
    simulator.markInitialised(x, 4096);
    LaunchRequest request;
    request.grid[0] = c.shape.grid;
    request.block[0] = c.shape.block;
    request.cooperative = c.shape.cooperative;
    request.atOnce = c.shape.atOnce;
    request.parameters.resize(16);
    std::memcpy(request.parameters.data(), &x, 8);
    std::memcpy(request.parameters.data() + 8, &y, 8);
    auto report = simulator.launch(**module, "k", request);
    ASSERT_TRUE(report) << report.error().str();
    EXPECT_EQ(report->stoppedAfter, 0u);
    std::string all;
    bool found = false;
    for (Finding &f : simulator.takenByHost(x, 4096))
      report->findings.push_back(std::move(f));
    for (const Finding &f : report->findings) {
      all += f.str() + "\n";
      found |= std::string(nameOf(f.kind)) == c.expected;
      EXPECT_GT(f.site.ptxLine, 0u) << f.str();
    }
    if (*c.expected)
      EXPECT_TRUE(found) << "seed " << seed << ": no " << c.expected << "\n"
                         << all;
    else
      EXPECT_EQ(all, "") << "seed " << seed;
  }
}

/// The kinds of what is found under some seeds, each once.
std::set<std::string> kindsOf(const Case &c) {
  std::set<std::string> kinds;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Options options;
    options.seed = seed;
    options.maximumInstructions = 1'000'000;
    Simulator simulator(*targetNamed(c.shape.target), options);
    auto module = simulator.load(kernelOf(c), "test.ptx");
    EXPECT_TRUE(module) << module.error().str();
    void *x = *simulator.allocate(4096, "x"), *y = *simulator.allocate(256);
    simulator.markInitialised(x, 4096);
    LaunchRequest request;
    request.grid[0] = c.shape.grid;
    request.block[0] = c.shape.block;
    request.parameters.resize(16);
    std::memcpy(request.parameters.data(), &x, 8);
    std::memcpy(request.parameters.data() + 8, &y, 8);
    auto report = simulator.launch(**module, "k", request);
    for (const Finding &f : report->findings) {
      kinds.insert(nameOf(f.kind));
      EXPECT_EQ(isTolerated(f.kind), f.kind == FindingKind::BenignRace);
    }
  }
  return kinds;
}

using Kinds = std::set<std::string>;

// A plain load whose value a compare-and-swap of its width then compares, by
// way of moves, is a guess; whatever else is loaded like that is a race.
TEST(Benign, AGuessBeforeACompareAndSwap) {
  struct {
    const char *load, *rest;
    Kinds kinds;
  } const loads[] = {
      {"ld.global.u32 %j, [%a];", "", {"benign-race"}},
      {"ld.u32 %j, [%a];", "", {"benign-race"}},
      // Half of what the atomics change; more than that; not what is compared.
      {"ld.global.u16 %j, [%a];", "", {"race"}},
      {"ld.global.v2.u32 {%j, %m}, [%a];", "", {"race"}},
      {"ld.global.u32 %m, [%a]; mov.u32 %j, 0;", "", {"race"}},
      // Somebody stores to it besides.
      {"ld.global.u32 %j, [%a];",
       "st.global.u32 [%a], %t;",
       {"benign-race", "race"}},
      {"ld.relaxed.gpu.global.u32 %j, [%a];", "", {}},
  };
  for (const auto &l : loads) {
    std::string body =
        std::string(l.load) +
        "AGAIN: mov.u32 %k, %j; add.u32 %l, %k, 3;"
        "atom.global.cas.b32 %n, [%a], %k, %l;"
        "setp.ne.u32 %p, %n, %k; mov.u32 %j, %n; @%p bra AGAIN;" +
        l.rest;
    EXPECT_EQ(kindsOf({"", "", body.c_str(), {2, 64}}), l.kinds) << l.load;
  }
}

// Threads of one block that store one value, by different instructions.
TEST(Benign, ThreadsOfABlockStoreOneValue) {
  auto stores = [](const char *first, const char *second, uint32_t grid) {
    std::string body = std::string("setp.lt.u32 %p, %t, 32; @%p bra FIRST;") +
                       "st.global.u32 [%a], " + second + "; bra END;" +
                       "FIRST: st.global.u32 [%a], " + first + "; END:";
    return kindsOf({"", "", body.c_str(), {grid, 64}});
  };
  EXPECT_EQ(stores("7", "7", 1), Kinds{"benign-race"});
  EXPECT_EQ(stores("7", "8", 1), Kinds{"race"});
  // Of two blocks it is a race.
  std::string body = "setp.eq.u32 %p, %b, 0; @%p bra FIRST;"
                     "st.global.u32 [%a], 7; bra END;"
                     "FIRST: st.global.u32 [%a], 7; END:";
  EXPECT_EQ(kindsOf({"", "", body.c_str(), {2, 1}}), Kinds{"race"});
}

// Two warps hold an element, and update it in place. Their loads come first,
// which a barrier of another kind than PTX' own sees to: nothing orders them.
TEST(Benign, ThreadsOfABlockHoldOneElement) {
  auto update = [](const char *end) {
    // Either waits until the other has loaded, by a relaxed counter.
    std::string body =
        std::string("and.b32 %i, %t, 31; mul.wide.u32 %c, %i, 4;"
                    "add.u64 %c, %c, %a; ld.global.u32 %j, [%c+64];"
                    "add.u32 %j, %j, 5;"
                    "atom.relaxed.gpu.global.add.u32 %k, [%a], 1;"
                    "WAIT: ld.relaxed.gpu.global.u32 %k, [%a];"
                    "setp.lt.u32 %p, %k, 64; @%p bra WAIT;"
                    "setp.ge.u32 %q, %t, 32;") +
        end;
    return kindsOf({"", "", body.c_str(), {1, 64}});
  };
  EXPECT_EQ(update("st.global.u32 [%c+64], %j;"), Kinds{"benign-race"});
  EXPECT_EQ(update("st.global.u32 [%c+64], %j; st.global.u32 [%c+64], %j;"),
            Kinds{"benign-race"});
  // The other stores something else, or nothing.
  EXPECT_EQ(update("@%q add.u32 %j, %j, 1; st.global.u32 [%c+64], %j;"),
            Kinds{"race"});
  EXPECT_EQ(update("@!%q st.global.u32 [%c+64], %j;"), Kinds{"race"});
}

INSTANTIATE_TEST_SUITE_P(Kernels, Findings, testing::ValuesIn(cases),
                         [](auto &info) { return testName(info.param.name); });

} // namespace
