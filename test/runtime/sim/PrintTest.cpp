// SPDX-License-Identifier: Apache-2.0
//
// What is printed parses to the same tree: of every PTX file that is kept
// beside this test, written by nvcc, Triton, LLVM and by hand.
#include "runtime/sim/ptx/Print.h"
#include "runtime/sim/ptx/Parser.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace act::runtime::ptx;

namespace {

void expectSame(const Operand &a, const Operand &b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.negated, b.negated);
  EXPECT_EQ(a.isFloat, b.isFloat);
  EXPECT_EQ(a.isF32, b.isF32);
  EXPECT_EQ(a.isUnsigned, b.isUnsigned);
  EXPECT_EQ(a.hasBase, b.hasBase);
  EXPECT_EQ(a.baseIsSymbol, b.baseIsSymbol);
  EXPECT_EQ(a.reg, b.reg);
  EXPECT_EQ(a.symbol.kind, b.symbol.kind);
  EXPECT_EQ(a.symbol.index, b.symbol.index);
  EXPECT_EQ(a.bits, b.bits);
  EXPECT_EQ(a.offset, b.offset);
  ASSERT_EQ(a.elements.size(), b.elements.size());
  for (size_t i = 0; i < a.elements.size(); ++i)
    expectSame(a.elements[i], b.elements[i]);
}

void expectSame(const std::vector<Variable> &a,
                const std::vector<Variable> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(a[i].name);
    EXPECT_EQ(a[i].space, b[i].space);
    EXPECT_EQ(a[i].type, b[i].type);
    EXPECT_EQ(a[i].align, b[i].align);
    EXPECT_EQ(a[i].bytes, b[i].bytes);
    EXPECT_EQ(a[i].isUnsized, b[i].isUnsized);
    EXPECT_EQ(a[i].isExtern, b[i].isExtern);
    EXPECT_EQ(a[i].isVisible, b[i].isVisible);
    EXPECT_EQ(a[i].isWeak, b[i].isWeak);
    EXPECT_EQ(a[i].isPointer, b[i].isPointer);
    EXPECT_EQ(a[i].pointee, b[i].pointee);
    EXPECT_EQ(a[i].pointeeAlign, b[i].pointeeAlign);
    EXPECT_EQ(a[i].reg, b[i].reg);
    EXPECT_EQ(a[i].initial, b[i].initial);
    ASSERT_EQ(a[i].patches.size(), b[i].patches.size());
    for (size_t k = 0; k < a[i].patches.size(); ++k) {
      const Variable::Patch &p = a[i].patches[k], &q = b[i].patches[k];
      EXPECT_EQ(p.at, q.at);
      EXPECT_EQ(p.symbol, q.symbol);
      EXPECT_EQ(p.addend, q.addend);
      EXPECT_EQ(p.generic, q.generic);
      EXPECT_EQ(p.width, q.width);
      EXPECT_EQ(p.byte, q.byte);
    }
  }
}

void expectSame(const Instruction &a, const Instruction &b) {
  EXPECT_EQ(a.spelling(), b.spelling());
  EXPECT_EQ(a.guard, b.guard);
  EXPECT_EQ(a.guardNegated, b.guardNegated);
  EXPECT_EQ(a.location.file, b.location.file);
  EXPECT_EQ(a.location.sourceLine, b.location.sourceLine);
  EXPECT_EQ(a.location.sourceColumn, b.location.sourceColumn);
  ASSERT_EQ(a.operands.size(), b.operands.size());
  for (size_t i = 0; i < a.operands.size(); ++i)
    expectSame(a.operands[i], b.operands[i]);
}

void expectSame(const Performance &a, const Performance &b) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(a.maxThreads[i], b.maxThreads[i]);
    EXPECT_EQ(a.requiredThreads[i], b.requiredThreads[i]);
    EXPECT_EQ(a.requiredCluster[i], b.requiredCluster[i]);
  }
  EXPECT_EQ(a.maxRegisters, b.maxRegisters);
  EXPECT_EQ(a.minCtasPerSm, b.minCtasPerSm);
  EXPECT_EQ(a.maxCtasPerSm, b.maxCtasPerSm);
  EXPECT_EQ(a.maxClusterRank, b.maxClusterRank);
  EXPECT_EQ(a.explicitCluster, b.explicitCluster);
  EXPECT_EQ(a.noReturn, b.noReturn);
  EXPECT_EQ(a.blocksAreClusters, b.blocksAreClusters);
}

void expectSame(const Function &a, const Function &b) {
  SCOPED_TRACE(a.name);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.isEntry, b.isEntry);
  EXPECT_EQ(a.isExtern, b.isExtern);
  EXPECT_EQ(a.isWeak, b.isWeak);
  EXPECT_EQ(a.isVisible, b.isVisible);
  EXPECT_EQ(a.hasBody, b.hasBody);
  EXPECT_EQ(a.aliasOf, b.aliasOf);
  expectSame(a.results, b.results);
  expectSame(a.parameters, b.parameters);
  expectSame(a.variables, b.variables);
  expectSame(a.performance, b.performance);
  ASSERT_EQ(a.registers.size(), b.registers.size());
  for (size_t i = 0; i < a.registers.size(); ++i)
    EXPECT_EQ(a.registers[i].type, b.registers[i].type);
  EXPECT_EQ(a.branchTargets, b.branchTargets);
  EXPECT_EQ(a.callTargets, b.callTargets);
  ASSERT_EQ(a.prototypes.size(), b.prototypes.size());
  for (size_t i = 0; i < a.prototypes.size(); ++i) {
    expectSame(a.prototypes[i].results, b.prototypes[i].results);
    expectSame(a.prototypes[i].parameters, b.prototypes[i].parameters);
  }
  ASSERT_EQ(a.labels.size(), b.labels.size());
  for (size_t i = 0; i < a.labels.size(); ++i)
    EXPECT_EQ(a.labels[i].instruction, b.labels[i].instruction);
  ASSERT_EQ(a.instructions.size(), b.instructions.size());
  for (size_t i = 0; i < a.instructions.size(); ++i) {
    SCOPED_TRACE("line " + std::to_string(a.instructions[i].location.line));
    expectSame(a.instructions[i], b.instructions[i]);
  }
}

std::unique_ptr<Module> parsed(const std::string &text,
                               const std::string &name) {
  auto module = parse(text, name);
  if (module)
    return std::move(*module);
  ADD_FAILURE() << module.error().str();
  return nullptr;
}

void expectRoundTrip(const std::string &text, const std::string &name) {
  SCOPED_TRACE(name);
  auto first = parsed(text, name);
  if (!first)
    return;
  std::string printed = print(*first);
  auto second = parsed(printed, "printed " + name);
  if (!second)
    return;
  EXPECT_EQ(first->versionMinor, second->versionMinor);
  EXPECT_EQ(first->target, second->target);
  EXPECT_EQ(first->files, second->files);
  expectSame(first->variables, second->variables);
  ASSERT_EQ(first->functions.size(), second->functions.size());
  for (size_t i = 0; i < first->functions.size(); ++i)
    expectSame(first->functions[i], second->functions[i]);
  EXPECT_EQ(print(*second), printed);
}

TEST(Print, EveryFileSurvives) {
  namespace fs = std::filesystem;
  std::vector<fs::path> paths;
  for (const auto &entry : fs::recursive_directory_iterator(ACT_SIM_TESTS))
    if (entry.path().extension() == ".ptx")
      paths.push_back(entry.path());
  ASSERT_GE(paths.size(), 3u);
  std::sort(paths.begin(), paths.end());
  for (const fs::path &path : paths) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    expectRoundTrip(text.str(), path.filename().string());
  }
}

constexpr const char *head = ".version 8.0\n.target sm_90\n.address_size 64\n";

TEST(Print, FunctionsThatNameEachOther) {
  expectRoundTrip(std::string(head) +
                      ".func a(); .func b();\n.global .u64 t[2] = {b, a};\n"
                      ".func c() { call a; call b; ret; }\n"
                      ".entry k() { call c; ret; }\n"
                      ".func d();\n.func b() { call a; call d; ret; }\n"
                      ".func a() { call b; ret; } .alias d, a;\n",
                  "mutual");
}

TEST(Print, LeastAndUnsignedImmediates) {
  expectRoundTrip(std::string(head) +
                      ".func f() { .reg .b64 a; mov.b64 a, 5U;\n"
                      "mov.b64 a, -9223372036854775807-1;\n"
                      "mov.b64 a, 18446744073709551615; mov.f64 a, -1.5;\n"
                      "ld.b64 a, [a+0x8000000000000000]; ld.b64 a, [-8]; }",
                  "immediates");
}

TEST(Print, NamesOfClosedScopesStayApart) {
  auto m = parsed(std::string(head) +
                      ".func f() { { .reg .b32 r; L: mov.b32 r, 1; bra L; }\n"
                      "{ .reg .b64 r; L: mov.b64 r, 2; bra L; } }",
                  "scopes");
  ASSERT_TRUE(m);
  const Function &f = m->functions[0];
  EXPECT_EQ(print(*m, f, f.instructions[0]), "mov.b32 r, 1");
  EXPECT_EQ(print(*m, f, f.instructions[2]), "mov.b64 r$1, 2");
  EXPECT_EQ(print(*m, f, f.instructions[1]), "bra L");
  EXPECT_EQ(print(*m, f, f.instructions[3]), "bra L$1");
}

// As the mutation tests do it: take an instruction out, print, parse.
TEST(Print, AChangedTree) {
  auto m =
      parsed(std::string(head) + ".func f() { .reg .b32 r; L: mov.b32 r, 1;\n"
                                 "membar.gl; bra L; }",
             "changed");
  ASSERT_TRUE(m);
  Function &f = m->functions[0];
  f.instructions[1].root = "fence";
  f.instructions[1].modifiers = {"acq_rel", "gpu"};
  f.labels.clear(); // the branch still needs one
  auto again = parsed(print(*m), "printed");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->functions[0].instructions[1].spelling(),
            "fence.acq_rel.gpu");
  EXPECT_EQ(again->functions[0].instructions[2].operands[0].symbol.index, 0u);
}

} // namespace
