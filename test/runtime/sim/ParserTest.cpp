// SPDX-License-Identifier: Apache-2.0
//
// The PTX parser: what names and numbers become, what is refused and where.
#include "runtime/sim/ptx/Parser.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace act::runtime::ptx;

namespace {

const char *const head = ".version 8.0\n.target sm_90a\n.address_size 64\n";

std::unique_ptr<Module> parsed(const std::string &text) {
  auto module = parse(head + text, "<ptx>");
  if (!module) {
    ADD_FAILURE() << module.error().str() << "\nin: " << text;
    return std::make_unique<Module>();
  }
  return std::move(*module);
}

/// The function `f` of a module with `body` as its body.
Function body(const std::string &text, const std::string &before = "") {
  auto module = parsed(before + "\n.func f() {\n" + text + "\n}\n");
  const Function *f = module->find("f");
  return f ? *f : Function();
}

/// "line:column: message", lines counted behind the three of `head`.
std::string refusal(const std::string &text) {
  auto module = parse(head + text, "<ptx>");
  if (module)
    return "accepted";
  std::string where = module.error().where;
  EXPECT_EQ(where.substr(0, 6), "<ptx>:");
  where = where.substr(6);
  size_t colon = where.find(':');
  return std::to_string(std::stoi(where) - 3) + where.substr(colon) + ": " +
         module.error().message;
}

/// The one immediate of `mov.b64 %a, TEXT`.
Operand immediate(const std::string &text) {
  Function f = body(".reg .b64 %a; mov.b64 %a, " + text + ";");
  if (f.instructions.size() != 1 || f.instructions[0].operands.size() != 2)
    return Operand();
  EXPECT_EQ(f.instructions[0].operands[1].kind, Operand::Immediate) << text;
  return f.instructions[0].operands[1];
}

const Operand &operand(const Function &f, size_t instruction, size_t index) {
  return f.instructions.at(instruction).operands.at(index);
}

double asDouble(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

TEST(Parser, Head) {
  auto m = parse(".version 7.10\n.target compute_80, debug\n", "<ptx>");
  ASSERT_TRUE(m) << m.error().str();
  EXPECT_EQ((*m)->versionMajor, 7u);
  EXPECT_EQ((*m)->versionMinor, 10u);
  EXPECT_EQ((*m)->target, "sm_80");
  EXPECT_EQ((*m)->sm, 80u);
  EXPECT_EQ((*m)->suffix, 0);
  EXPECT_EQ((*m)->targetOptions, std::vector<std::string>{"debug"});
  auto a = parsed("");
  EXPECT_EQ(a->target, "sm_90a");
  EXPECT_EQ(a->suffix, 'a');
  EXPECT_EQ(a->addressSize, 64u);
}

TEST(Parser, InstructionIsRootModifiersOperands) {
  Function f = body(".reg .pred %p<2>; .reg .f32 %f<3>;\n"
                    "@!%p1 fma.rn.ftz.f32 %f0, %f1, %f2, 0f3F800000;\n"
                    "bar.sync 0;  ret;");
  ASSERT_EQ(f.instructions.size(), 3u);
  const Instruction &fma = f.instructions[0];
  EXPECT_EQ(fma.root, "fma");
  EXPECT_EQ(fma.modifiers, (std::vector<std::string>{"rn", "ftz", "f32"}));
  EXPECT_EQ(fma.spelling(), "fma.rn.ftz.f32");
  ASSERT_GE(fma.guard, 0);
  EXPECT_EQ(f.registers[static_cast<size_t>(fma.guard)].name, "%p1");
  EXPECT_TRUE(fma.guardNegated);
  ASSERT_EQ(fma.operands.size(), 4u);
  EXPECT_EQ(f.registers[fma.operands[2].reg].name, "%f2");
  EXPECT_EQ(f.registers[fma.operands[2].reg].type, Type::F32);
  EXPECT_EQ(fma.location.line, 7u);
  EXPECT_EQ(f.instructions[1].guard, -1);
  EXPECT_TRUE(f.instructions[2].operands.empty());
}

TEST(Parser, ModifiersKeepTheirColons) {
  Function f = body(
      ".reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx"
      "::bytes [%r0], [%rd0, {%r1, %r2}], [%r3+8];");
  ASSERT_EQ(f.instructions.size(), 1u);
  EXPECT_EQ(f.instructions[0].modifiers[3], "2d");
  EXPECT_EQ(f.instructions[0].modifiers[6], "mbarrier::complete_tx::bytes");
  const Operand &tensor = operand(f, 0, 1);
  ASSERT_EQ(tensor.kind, Operand::Tensor);
  ASSERT_EQ(tensor.elements.size(), 2u);
  EXPECT_EQ(tensor.elements[0].kind, Operand::Address);
  EXPECT_EQ(tensor.elements[1].kind, Operand::Vector);
  EXPECT_EQ(operand(f, 0, 2).kind, Operand::Address);
  EXPECT_EQ(operand(f, 0, 2).offset, 8);
}

TEST(Parser, ARangeCostsOnlyWhatIsNamed) {
  Function f = body(".reg .b32 %r<1000000>; mov.b32 %r999999, %r7;");
  ASSERT_EQ(f.registers.size(), 2u);
  EXPECT_EQ(f.registers[0].name, "%r999999");
  EXPECT_EQ(f.registers[1].name, "%r7");
}

TEST(Parser, RegistersAreScopedByBraces) {
  Function f = body(".reg .b32 %r<2>; mov.b32 %r1, 0;\n"
                    "{ .reg .b64 %r<2>; mov.b64 %r1, 1; }\n"
                    "{ .reg .f32 %r1; mov.f32 %r1, %r0; }\n"
                    "mov.b32 %r1, 3;");
  ASSERT_EQ(f.instructions.size(), 4u);
  auto type = [&](size_t i) { return f.registers[operand(f, i, 0).reg].type; };
  EXPECT_EQ(type(0), Type::B32);
  EXPECT_EQ(type(1), Type::B64);
  EXPECT_EQ(type(2), Type::F32);
  EXPECT_EQ(f.registers[operand(f, 2, 1).reg].type, Type::B32);
  EXPECT_EQ(operand(f, 3, 0).reg, operand(f, 0, 0).reg);
}

TEST(Parser, LabelsAreScopedByBraces) {
  Function f = body("{ L: bra L; bra DONE; DONE: }\n"      // 0, 1
                    "{ L: bra L; bra DONE; DONE: }\n"      // 2, 3
                    "L: { bra L; L: bra L; { bra L; } }\n" // 4, 5, 6
                    "bra L; bra END; END:");               // 7, 8
  ASSERT_EQ(f.instructions.size(), 9u);
  uint32_t expected[] = {0, 2, 2, 4, 5, 5, 5, 4, 9};
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(operand(f, i, 0).symbol.kind, Symbol::Label);
    EXPECT_EQ(operand(f, i, 0).symbol.index, expected[i])
        << "instruction " << i;
  }
  EXPECT_EQ(f.labels.size(), 7u);
}

TEST(Parser, BranchTargets) {
  Function f = body(".reg .b32 r;\n"
                    "ts: .branchtargets B, A, N<2>;\n"
                    "A: brx.idx r, ts;\n"
                    "B: N0: ret; N1: ret;");
  ASSERT_EQ(f.branchTargets.size(), 1u);
  EXPECT_EQ(f.branchTargets[0], (std::vector<uint32_t>{1, 0, 1, 2}));
  EXPECT_EQ(operand(f, 0, 1).symbol.kind, Symbol::BranchTargets);
}

TEST(Parser, Integers) {
  struct {
    const char *text;
    uint64_t bits;
    bool isUnsigned;
  } cases[] = {
      {"0", 0, false},
      {"42", 42, false},
      {"42U", 42, true},
      {"0x10", 16, false},
      {"0XfFU", 255, true},
      {"0b101", 5, false},
      {"017", 15, false},
      {"-1", ~0ull, false},
      {"~0", ~0ull, true},
      {"!5", 0, false},
      {"9223372036854775807", INT64_MAX, false},
      {"9223372036854775808", 1ull << 63, true},
      {"0xFFFFFFFFFFFFFFFF", ~0ull, true},
      {"(.s64)0xFFFFFFFFFFFFFFFF", ~0ull, false},
      {"WARP_SZ", 32, false},
      {"(4*8)+1", 33, false},
      {"2+3*4-1", 13, false},
      {"10-4-3", 3, false},
      {"1<<4|1", 17, false},
      {"-7/2", static_cast<uint64_t>(-3), false},
      {"-8>>1", static_cast<uint64_t>(-4), false},
      {"0x8000000000000000>>63", 1, true},
      {"1<<64", 0, false},
      {"7 % 4", 3, false},
      {"-1 < 1", 1, false},
      {"-1 < 1U", 0, false},
      {"1 ? 2 : 3", 2, false},
      {"0 ? 2 : 1 ? 4 : 5", 4, false},
      {"1 && 0 || 1", 1, false},
      {"6 & 3 ^ 1", 3, false},
      {"-9223372036854775807-1", 1ull << 63, false},
      {"(-9223372036854775807-1)/-1", 1ull << 63, false},
  };
  for (const auto &c : cases) {
    Operand o = immediate(c.text);
    EXPECT_EQ(o.bits, c.bits) << c.text;
    EXPECT_EQ(o.isUnsigned, c.isUnsigned) << c.text;
    EXPECT_FALSE(o.isFloat) << c.text;
  }
}

TEST(Parser, Floats) {
  Operand single = immediate("0f3F800001");
  EXPECT_TRUE(single.isFloat && single.isF32);
  EXPECT_EQ(single.bits, 0x3F800001u);
  struct {
    const char *text;
    double value;
  } cases[] = {{"1.5", 1.5},
               {".25", .25},
               {"1e3", 1e3},
               {"-2.5E-3", -2.5e-3},
               {"0d4000000000000000", 2},
               {"1.0+.5*2.0", 2},
               {"1 ? 2.5 : 3.5", 2.5}};
  for (const auto &c : cases) {
    Operand o = immediate(c.text);
    EXPECT_TRUE(o.isFloat && !o.isF32) << c.text;
    EXPECT_EQ(asDouble(o.bits), c.value) << c.text;
  }
}

TEST(Parser, Addresses) {
  Function f = body(".reg .b64 %rd<2>; .reg .b32 %r<2>; .local .b8 l[8];\n"
                    "ld.b32 %r0, [%rd1+-8]; ld.b32 %r0, [%rd1];\n"
                    "ld.shared.b32 %r0, [smem+4*2]; ld.b32 %r0, [0x20];\n"
                    "ld.b32 %r0, [l+4-8]; mov.b64 %rd0, smem+12;",
                    ".extern .shared .align 16 .b8 smem[];");
  EXPECT_EQ(operand(f, 0, 1).offset, -8);
  EXPECT_TRUE(operand(f, 0, 1).hasBase && !operand(f, 0, 1).baseIsSymbol);
  EXPECT_EQ(f.registers[operand(f, 1, 1).reg].name, "%rd1");
  EXPECT_TRUE(operand(f, 2, 1).hasBase && operand(f, 2, 1).baseIsSymbol);
  EXPECT_EQ(operand(f, 2, 1).symbol.kind, Symbol::ModuleVariable);
  EXPECT_EQ(operand(f, 2, 1).offset, 8);
  EXPECT_FALSE(operand(f, 3, 1).hasBase);
  EXPECT_EQ(operand(f, 3, 1).offset, 0x20);
  EXPECT_EQ(operand(f, 4, 1).symbol.kind, Symbol::FunctionVariable);
  EXPECT_EQ(operand(f, 4, 1).offset, -4);
  EXPECT_EQ(operand(f, 5, 1).kind, Operand::SymbolRef);
  EXPECT_EQ(operand(f, 5, 1).offset, 12);
}

TEST(Parser, PredicatesSinksSpecials) {
  Function f = body(".reg .pred p, q; .reg .b32 r;\n"
                    "setp.lt.and.s32 p|q, r, 1, !p;\n"
                    "elect.sync _|p, -1; shfl.sync.idx.b32 r|q, r, 0, 31, -1;\n"
                    "mov.b64 {r, _}, 1; mov.u32 r, %tid.x; mov.u32 r, "
                    "%envreg31; mov.u32 r, %laneid;");
  const Operand &pair = operand(f, 0, 0);
  ASSERT_EQ(pair.kind, Operand::PredPair);
  EXPECT_EQ(f.registers[pair.elements[1].reg].name, "q");
  EXPECT_TRUE(operand(f, 0, 3).negated);
  EXPECT_EQ(operand(f, 1, 0).elements[0].kind, Operand::Sink);
  EXPECT_EQ(operand(f, 2, 0).kind, Operand::PredPair);
  EXPECT_EQ(operand(f, 3, 0).elements[1].kind, Operand::Sink);
  EXPECT_EQ(operand(f, 4, 1).name, "%tid.x");
  EXPECT_EQ(operand(f, 5, 1).name, "%envreg31");
  EXPECT_EQ(operand(f, 6, 1).kind, Operand::Special);
}

TEST(Parser, VectorsOfRegisters) {
  Function f = body(".reg .v4 .f32 v<2>; mov.f32 v1.w, v1.g;\n"
                    "ld.global.v4.f32 v1, [8];");
  ASSERT_EQ(f.registers.size(), 4u);
  EXPECT_EQ(operand(f, 0, 0).reg, 3u);
  EXPECT_EQ(operand(f, 0, 1).reg, 1u);
  ASSERT_EQ(operand(f, 1, 0).kind, Operand::Vector);
  EXPECT_EQ(operand(f, 1, 0).elements[2].reg, 2u);
}

TEST(Parser, Calls) {
  auto m = parsed(
      ".extern .func (.param .b32 out) vprintf(.param .b64 a, .param .b64 b);\n"
      ".func (.reg .b32 s) sum(.reg .b32 x, .reg .b32 y) {\n"
      "  add.s32 s, x, y; ret; }\n"
      ".func none() .noreturn;\n"
      ".func f() { .reg .b32 r; .reg .b64 fp;\n"
      "  call (r), sum, (r, (3));\n"
      "  { .param .b64 p; .param .b64 q; .param .b32 o;\n"
      "    call.uni (o), vprintf, (p, q); }\n"
      "  call none;\n"
      "  proto: .callprototype (.param .b32 _) _ (.param .b8 _[12]);\n"
      "  { .param .b32 o; .param .b8 a[12]; call (o), fp, (a), proto; }\n"
      "  some: .calltargets sum; call (r), fp, (r, r), some; ret; }");
  const Function &f = *m->find("f");
  EXPECT_EQ(operand(f, 0, 0).kind, Operand::List);
  EXPECT_EQ(operand(f, 0, 1).symbol.kind, Symbol::FunctionName);
  EXPECT_EQ(m->functions[operand(f, 0, 1).symbol.index].name, "sum");
  EXPECT_EQ(operand(f, 0, 2).elements[1].bits, 3u);
  EXPECT_EQ(operand(f, 1, 2).elements[1].symbol.kind, Symbol::FunctionVariable);
  EXPECT_EQ(f.variables[operand(f, 1, 2).elements[1].symbol.index].name, "q");
  EXPECT_EQ(operand(f, 2, 0).symbol.kind, Symbol::FunctionName);
  EXPECT_EQ(operand(f, 3, 3).symbol.kind, Symbol::Prototype);
  EXPECT_EQ(f.prototypes[0].parameters[0].bytes, 12u);
  EXPECT_EQ(operand(f, 4, 3).symbol.kind, Symbol::CallTargets);
  EXPECT_EQ(f.callTargets[0], std::vector<uint32_t>{1});
  EXPECT_TRUE(m->find("none")->performance.noReturn);
  const Function &sum = *m->find("sum");
  EXPECT_EQ(sum.parameters[1].space, Space::Reg);
  EXPECT_EQ(operand(sum, 0, 2).reg, sum.parameters[1].reg);
  EXPECT_EQ(operand(sum, 0, 0).reg, sum.results[0].reg);
}

TEST(Parser, DeclaredThenDefined) {
  auto m = parsed(".func (.param .b32 r) g(.param .b32 a);\n"
                  ".func f() { .param .b32 a; call (a), g, (a); }\n"
                  ".visible .func (.param .b32 r) g(.param .b32 a) { ret; }\n"
                  ".func h(); .func i() { ret; } .alias h, i;");
  ASSERT_EQ(m->functions.size(), 4u);
  EXPECT_TRUE(m->functions[0].hasBody && m->functions[0].isVisible);
  EXPECT_EQ(m->find("h")->aliasOf, 3);
}

TEST(Parser, Entry) {
  auto m =
      parsed(".visible .entry k(.param .u64 .ptr .global .align 16 p,\n"
             "  .param .align 64 .b8 map[128], .param .u64 .ptr.shared q)\n"
             ".maxntid 16, 2 .minnctapersm 3 .maxnreg 64 .reqnctapercluster 2\n"
             ".explicitcluster .pragma \"nounroll\";\n{ ret; }");
  const Function &k = *m->find("k");
  EXPECT_TRUE(k.isEntry && k.isVisible && k.hasBody);
  ASSERT_EQ(k.parameters.size(), 3u);
  EXPECT_TRUE(k.parameters[0].isPointer);
  EXPECT_EQ(k.parameters[0].pointee, Space::Global);
  EXPECT_EQ(k.parameters[0].pointeeAlign, 16u);
  EXPECT_EQ(k.parameters[0].align, 8u);
  EXPECT_EQ(k.parameters[1].bytes, 128u);
  EXPECT_EQ(k.parameters[1].align, 64u);
  EXPECT_EQ(k.parameters[2].pointee, Space::Shared);
  const Performance &p = k.performance;
  EXPECT_EQ(p.maxThreads[0], 16u);
  EXPECT_EQ(p.maxThreads[1], 2u);
  EXPECT_EQ(p.maxThreads[2], 1u);
  EXPECT_EQ(p.minCtasPerSm, 3u);
  EXPECT_EQ(p.maxRegisters, 64u);
  EXPECT_EQ(p.requiredCluster[0], 2u);
  EXPECT_TRUE(p.explicitCluster);
  EXPECT_EQ(p.requiredThreads[0], 0u);
}

TEST(Parser, Variables) {
  auto m = parsed(".global .v4 .f32 v; .shared .align 32 .b8 s[4][8];\n"
                  ".extern .shared .align 16 .b8 dyn[];\n"
                  ".weak .const .u16 c; .common .global .b64 g;\n"
                  ".global .attribute(.managed, .unified(1, 2)) .s32 x<2>;\n"
                  ".global .texref t;");
  ASSERT_EQ(m->variables.size(), 8u);
  EXPECT_EQ(m->variables[0].bytes, 16u);
  EXPECT_EQ(m->variables[0].align, 16u);
  EXPECT_EQ(m->variables[1].bytes, 32u);
  EXPECT_EQ(m->variables[1].align, 32u);
  EXPECT_TRUE(m->variables[2].isUnsized && m->variables[2].isExtern);
  EXPECT_EQ(m->variables[2].space, Space::Shared);
  EXPECT_TRUE(m->variables[3].isWeak);
  EXPECT_EQ(m->variables[3].space, Space::Const);
  EXPECT_TRUE(m->variables[4].isCommon);
  EXPECT_EQ(m->variables[6].name, "x1");
  EXPECT_EQ(m->variables[7].type, Type::TexRef);
}

TEST(Parser, AGlobalOfAFunctionLivesWithTheModules) {
  auto m = parsed(".func f() { .global .b32 z; .reg .b64 r; mov.b64 r, z; }\n"
                  ".func g() { .global .b32 z; .reg .b64 r; mov.b64 r, z; }");
  ASSERT_EQ(m->variables.size(), 2u);
  EXPECT_NE(m->variables[0].name, m->variables[1].name);
  EXPECT_EQ(operand(m->functions[1], 0, 1).symbol.index, 1u);
  EXPECT_EQ(operand(m->functions[1], 0, 1).symbol.kind, Symbol::ModuleVariable);
}

TEST(Parser, Initialisers) {
  auto m = parsed(".global .u32 a[] = {1, 2, 0x01020304, 0};\n"
                  ".global .s16 b[3][2] = {{1, -2}, {3}};\n"
                  ".global .f32 c[2] = {0.5, 0f7FC00001};\n"
                  ".global .f64 d = .25;\n"
                  ".global .v2 .u8 e[2] = {{1, 2}, {3, 4}};\n"
                  ".global .u8 f[3] = {0xFF00(0x1234), 255, -1};\n"
                  ".global .b32 g = 0f3F800000;\n"
                  ".global .u8 h = 0xFF00;");
  EXPECT_EQ(m->variables[0].bytes, 16u);
  EXPECT_FALSE(m->variables[0].isUnsized);
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(m->variables[0].initial,
            (Bytes{1, 0, 0, 0, 2, 0, 0, 0, 4, 3, 2, 1}));
  EXPECT_EQ(m->variables[1].initial, (Bytes{1, 0, 0xfe, 0xff, 3, 0}));
  EXPECT_EQ(m->variables[1].bytes, 12u);
  EXPECT_EQ(m->variables[2].initial, (Bytes{0, 0, 0, 0x3f, 1, 0, 0xc0, 0x7f}));
  EXPECT_EQ(m->variables[3].initial, (Bytes{0, 0, 0, 0, 0, 0, 0xd0, 0x3f}));
  EXPECT_EQ(m->variables[4].initial, (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(m->variables[5].initial, (Bytes{0x12, 255, 255}));
  EXPECT_EQ(m->variables[6].initial, (Bytes{0, 0, 0x80, 0x3f}));
  EXPECT_EQ(m->variables[7].initial, Bytes()); // truncated to zero
}

TEST(Parser, InitialAddresses) {
  auto m = parsed(".global .b32 x[4]; .func fn();\n"
                  ".global .u64 p[4] = {generic(x)+4, x-4, 7, fn};\n"
                  ".global .u8 q[2] = {0xFF00(generic(x)+2), 0xff(x)};");
  const auto &p = m->variables[1].patches;
  ASSERT_EQ(p.size(), 3u);
  EXPECT_TRUE(p[0].generic);
  EXPECT_EQ(p[0].at, 0u);
  EXPECT_EQ(p[0].addend, 4);
  EXPECT_EQ(p[0].width, 8u);
  EXPECT_FALSE(p[1].generic);
  EXPECT_EQ(p[1].addend, -4);
  EXPECT_EQ(p[2].symbol, "fn");
  EXPECT_EQ(p[2].at, 24u);
  EXPECT_EQ(m->variables[1].initial[16], 7u);
  const auto &q = m->variables[2].patches;
  ASSERT_EQ(q.size(), 2u);
  EXPECT_EQ(q[0].byte, 1u);
  EXPECT_EQ(q[0].width, 1u);
  EXPECT_EQ(q[0].addend, 2);
  EXPECT_EQ(q[1].at, 1u);
}

TEST(Parser, SourceLocationsAndDebugSections) {
  auto m =
      parsed(".file 2 \"a.cu\", 12, 34\n"
             ".func f() { ret;\n"
             ".loc 2 10 3, function_name $L__info_string0, inlined_at 2 21 3\n"
             "ret; .loc 2 11 1\n ret; }\n"
             ".section .debug_str {\n$L__info_string0:\n.b8 95, -1 // _\n"
             ".b32 .debug_info+4\n.b64 L1-L2 }\n"
             "@@DWARF .byte 0x2b, 0x00\n# 1 \"preprocessed\"\n.func g();");
  const Function &f = *m->find("f");
  EXPECT_EQ(m->files.at(2), "a.cu");
  EXPECT_EQ(f.instructions[0].location.file, 0u);
  EXPECT_EQ(f.instructions[1].location.file, 2u);
  EXPECT_EQ(f.instructions[1].location.sourceLine, 10u);
  EXPECT_EQ(f.instructions[2].location.sourceLine, 11u);
  EXPECT_NE(m->find("g"), nullptr);
}

TEST(Parser, CommentsAndTrailingZero) {
  std::string text = head;
  text += "/* .func f() */ .func /* x\n */ g(); // .func h();";
  text.push_back('\0');
  auto m = parse(text, "<ptx>");
  ASSERT_TRUE(m) << m.error().str();
  EXPECT_EQ((*m)->functions.size(), 1u);
}

TEST(Parser, RefusesWithThePlace) {
  struct {
    const char *text, *message;
  } cases[] = {
      {".func f() { add.s32 %r1; }", "1:21: register '%r1' is not declared"},
      {".func f() { bra L; }", "1:17: 'L' is not declared"},
      {".func f() { bra L; { L: ret; } }", "1:17: 'L' is not declared"},
      {".func f() {\n L:\n L: ret; }",
       "3:2: 'L' is declared twice; first on line 5"},
      {".func f() { .reg .b32 %r<4>;\n.reg .b32 %r2; }",
       "2:11: '%r2' is declared twice; first on line 4"},
      {".func f() { .reg .b32 %r2;\n.reg .b32 %r<4>; }",
       "2:11: registers '%r<4>' are declared twice; first on line 4"},
      {".func f() { .reg .b32 %r<20>; .reg .b32 %r1<5>; }",
       "1:41: registers '%r1<5>' are declared twice; first on line 4"},
      {".func f() { .reg .b32 %r1<5>; .reg .b32 %r<20>; }",
       "1:41: registers '%r<20>' are declared twice; first on line 4"},
      {".func f(.reg .b32 a) { .reg .b32 a; }",
       "1:34: 'a' is declared twice; first on line 4"},
      {".func f() { ret }", "1:17: expected an operand, found '}'"},
      {".func f() { .reg .b32 a; mov.b32 a, 1 ret; }",
       "1:39: expected ',' or ';' after the operands of 'mov.b32', found "
       "'ret'"},
      {".func f() { ret;",
       "1:11: '{' is not closed before the end of the file"},
      {".func f() { ; }", "1:13: expected an instruction, found ';'"},
      {".func f() { .reg .b32 a; @a ret; }", "1:27: 'a' is not a predicate"},
      {".func f() { mov.b32 %tid.q, 1; }", "1:25: '%tid' has no part '.q'"},
      {".func f() { .reg .bf16 a; }",
       "1:18: expected a type that can be declared, found '.bf16'"},
      {".reg .b32 a;", "1:1: '.reg' outside of a function"},
      {".global .pred p;", "1:15: a predicate can only be a register"},
      {".global .align 3 .b8 x;", "1:16: alignment 3 is not a power of two"},
      {".global .b32 x[2] = {1, 2, 3};",
       "1:28: 'x' has only 2 elements in this dimension"},
      {".global .u32 x = y;", "1:18: 'y' is not declared as a variable or "
                              "function of the module"},
      {".global .f32 x = 1;",
       "1:18: an integer as the value of an element of type .f32"},
      {".global .u16 x = x;",
       "1:18: an address does not fit an element of type .u16"},
      {".global .u8 x = 0xFF0(1);",
       "1:17: mask 0xFF0 does not select one byte of eight"},
      {".shared .b32 x = 1;",
       "1:16: expected ';' (only .global and .const variables that are not "
       ".extern have initialisers), found '='"},
      {".global .b32 x[];",
       "1:14: array 'x' has neither a size nor an initialiser"},
      {".global .b32 x = 1/0;", "1:19: division by zero"},
      {".global .b32 x = 18446744073709551616;",
       "1:18: '18446744073709551616' does not fit 64 bits"},
      {".global .b32 x = 08;", "1:18: '08' is not an integer in base 8"},
      {".global .f32 x = 0f3F8;",
       "1:18: '0f3F8' is not a number: expected 8 hexadecimal digits"},
      {".func f() { ret; } .func f() { ret; }",
       "1:26: function 'f' is defined twice; first on line 4"},
      {".func f(.param .b32 a); .func f(.param .b64 a) { ret; }",
       "1:31: function 'f' is declared differently on line 4"},
      {".func f() .fast { ret; }",
       "1:11: unknown directive '.fast' of a function"},
      {".entry f() .maxntid 0 { ret; }",
       "1:21: expected a number that is not 0"},
      {".entry f() .maxnreg 0 { ret; }",
       "1:12: '.maxnreg' needs a number that is not 0"},
      {".entry f() .maxntid 32 .reqntid 32 { ret; }",
       "1:12: '.maxntid' and '.reqntid' contradict each other"},
      {".entry f() .reqnctapercluster 2 .maxclusterrank 8 { ret; }",
       "1:12: '.maxclusterrank' and '.reqnctapercluster' contradict each "
       "other"},
      {".entry f() .noreturn { ret; }",
       "1:12: '.noreturn' is for '.func' only; a kernel returns"},
      {".entry f() .blocksareclusters { ret; }",
       "1:12: '.blocksareclusters' needs sm_90 and PTX 9.0 or higher"},
      {".pragma nounroll;",
       "1:9: expected a string after '.pragma', found 'nounroll'"},
      {".global .b32 \"x", "1:14: string is not closed before the end of the "
                           "line"},
      {".global \x80", "1:9: unexpected byte 0x80"},
      {"/* ...", "1:1: comment is not closed before the end of the file"},
      {".section .debug_str { .b8 1",
       "1:21: section is not closed before the end of the file"},
      {".func f() { t: .branchtargets N<0>; ret; }",
       "1:13: list of labels 't' is empty"},
      {".alias a, b;", "1:8: 'a' is not declared as a function"},
      {".target sm_80", "1:1: a second '.target', or one in the wrong place"},
  };
  for (const auto &c : cases)
    EXPECT_EQ(refusal(c.text), c.message) << c.text;
}

TEST(Parser, DirectivesOfClustersAreForTargetsThatHaveThem) {
  for (const char *directive :
       {".maxclusterrank 8", ".reqnctapercluster 2", ".explicitcluster"}) {
    std::string rest = std::string("\n.entry f() ") + directive + " { ret; }";
    EXPECT_TRUE(parse(".version 7.8\n.target sm_90" + rest, "<ptx>"));
    EXPECT_FALSE(parse(".version 7.7\n.target sm_90" + rest, "<ptx>"));
    EXPECT_FALSE(parse(".version 7.8\n.target sm_80" + rest, "<ptx>"));
  }
  const std::string both =
      "\n.entry f() .blocksareclusters .reqntid 64 .reqnctapercluster 2 "
      "{ ret; }";
  EXPECT_TRUE(parse(".version 9.0\n.target sm_90" + both, "<ptx>"));
  EXPECT_FALSE(parse(".version 8.8\n.target sm_90" + both, "<ptx>"));
  EXPECT_FALSE(parse(".version 9.0\n.target sm_90\n.entry f() "
                     ".blocksareclusters .reqntid 64 { ret; }",
                     "<ptx>"));
}

TEST(Parser, RefusesOtherHeads) {
  struct {
    const char *text, *message;
  } cases[] = {
      {"", "expected '.version' at the start of the module, found the end of "
           "the file"},
      {".version 8\n", "expected a version such as 8.0, found '8'"},
      {".version 8.0 .func f();", "expected '.target' after '.version', found "
                                  "'.func'"},
      {".version 8.0 .target sm_90 .address_size 32",
       "addresses of 32 bits are no longer supported"},
      {".version 8.0 .target sm_90x", "unknown target 'sm_90x'"},
      {".version 8.0 .target debug", "'.target' names no architecture such as "
                                     "sm_80"},
      {".version 8.0 .target sm_80, sm_90",
       "'sm_90' is a second target beside 'sm_80'"},
      {".version 8.0 .target sm_80, some", "unknown target 'some'"},
      {".version 8.0 .target sm_80, map_f64_to_f32",
       "'map_f64_to_f32' is for targets below sm_13"},
      {".version 8.0 .target sm_80, texmode_unified, texmode_independent",
       "'texmode_independent' contradicts 'texmode_unified'"},
      {".version 8.0 .target sm_80 .address_size 16",
       "expected 32 or 64 after '.address_size', found '16'"},
  };
  for (const auto &c : cases) {
    auto m = parse(c.text, "<ptx>");
    ASSERT_FALSE(m) << c.text;
    EXPECT_EQ(m.error().message, c.message);
  }
}

std::string repeated(const std::string &text, size_t times) {
  std::string s;
  for (size_t i = 0; i < times; ++i)
    s += text;
  return s;
}

// Each ends at once, and without memory that the text does not pay for.
TEST(Parser, HostileInput) {
  const size_t many = 1000000;
  struct {
    std::string text, message;
  } cases[] = {
      {repeated("{", many), "nesting is deeper than 64"},
      {".reg .b32 a; mov.b32 a, " + repeated("(", many),
       "nesting is deeper than 64"},
      {".reg .b32 a; mov.b32 a, " + repeated("-", many),
       "nesting is deeper than 64"},
      {".reg .b32 a; mov.b32 a, " + repeated("1?", many),
       "nesting is deeper than 64"},
      {".reg .b32 a; mov.b32 " + repeated("{", many),
       "nesting is deeper than 64"},
      {".reg .b32 %r<4000000000>;",
       "the number of registers is 4000000000, expected at most 1048576"},
      {repeated("{ .reg .b32 %r<1000000>; }", 3),
       "function 'f' declares more than 1048576 registers"},
      {".local .b32 x<60000>; .local .b32 y<60000>;",
       "more than 65536 variables declared as ranges"},
      {".local .b8 x[4294967295][4294967295][4294967295];",
       "'x' is larger than 4294967296 bytes"},
      {".local .b8 x" + repeated("[1]", many),
       "array of more than 64 dimensions"},
      {"t: .branchtargets N<4000000000>;",
       "the number of labels is 4000000000, expected at most 65536"},
      {".reg .b32 a; /*" + repeated("*", many),
       "comment is not closed before the end of the file"},
      {".global .b8 x[2][2000000000] = {{1}, {1}};",
       "initialisers span more than 67108864 bytes beyond what the file's "
       "length allows"},
      {".loc 99999 1 1", "a file number is 99999, expected at most 65535"},
  };
  for (const auto &c : cases) {
    auto m = parse(head + (".func f() {" + c.text), "<ptx>");
    ASSERT_FALSE(m) << c.text.substr(0, 40);
    EXPECT_EQ(m.error().message, c.message) << c.text.substr(0, 40);
  }
}

TEST(Parser, LongTextsStayLinear) {
  std::string text = ".reg .b32 a; ";
  const int many = 200000;
  for (int i = 0; i < many; ++i)
    text += "L" + std::to_string(i) + ": { bra L" +
            std::to_string(many - 1 - i) + "; mov.b32 a, 0; }\n";
  Function f = body(text);
  ASSERT_EQ(f.instructions.size(), 2u * many);
  EXPECT_EQ(operand(f, 0, 0).symbol.index, 2u * (many - 1));
}

} // namespace
