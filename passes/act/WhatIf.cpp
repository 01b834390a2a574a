// SPDX-License-Identifier: Apache-2.0
#include "passes/act/WhatIf.h"
#include "dialects/act/Types.h"
#include "passes/act/Complete.h"
#include "passes/act/FormKernels.h"
#include "passes/act/MemoryFormulas.h"
#include "passes/act/MemoryModel.h"
#include "passes/act/Passes.h"
#include "passes/act/RematBudget.h"
#include "mlir/Pass/PassManager.h"
#include <cmath>

using namespace mlir;
using namespace act;
using report::LargestFit;

namespace {

/// The program under one policy.
class Sized {
public:
  static FailureOr<Sized> make(ModuleOp module, int64_t deviceBytes);

  bool has(const std::string &letter) const { return letters.count(letter); }
  LargestFit largest(const std::string &letter) const;
  /// The total peak by the formula; nothing where it does not fit in 64 bits.
  std::optional<int64_t> formula(const std::string &letter, int64_t size) const;
  int64_t positions(const std::string &letter) const;

private:
  LogicalResult enlarge(ModuleOp copy) const;
  /// The same of the program written out; nothing if there is no such program.
  std::optional<int64_t> measured(const std::string &letter, int64_t size) const;

  OwningOpRef<ModuleOp> module; // kernels not formed
  int64_t deviceBytes = 0;
  symbolic::Letters letters;
  symbolic::Expr peak;
  symbolic::Polynomial ports; // inputs and outputs
  int64_t fixed = 0;          // parameters and what stays beside them
};

/// So many tokens that a fused loss is of several chunks: with one, the formula is
/// that of one chunk of any size.
LogicalResult Sized::enlarge(ModuleOp copy) const {
  constexpr int64_t enough = 4096;
  auto sizes = givenSizes(copy);
  auto size = [&](const char *letter) { return sizes.count(letter) ? sizes[letter] : 1; };
  int64_t tokens = size("b") * size("s") * size("t");
  if (tokens >= enough)
    return success();
  int64_t factor = llvm::divideCeil(enough, tokens);
  for (const char *letter : {"t", "s", "b"})
    if (sizes.count(letter) && size(letter) * factor <= positions(letter))
      return resizeLetter(copy, letter, size(letter) * factor);
  return success();
}

FailureOr<Sized> Sized::make(ModuleOp module, int64_t deviceBytes) {
  Sized out;
  out.module = module.clone();
  out.deviceBytes = deviceBytes;
  OwningOpRef<ModuleOp> copy(module.clone());
  if (failed(out.enlarge(*copy)))
    return failure();
  auto sizes = givenSizes(module);
  if (failed(completeModule(*copy)))
    return failure();
  auto program = flatten(*copy, mainFunction(*copy));
  if (failed(program))
    return failure();
  auto plan = planArena(*program, copy->getLoc());
  if (failed(plan))
    return failure();
  auto report = describeMemory(*copy, *program, *plan);
  if (failed(report))
    return failure();
  out.letters = report->letters;
  for (const char *letter : {"b", "s", "t"}) // of the module, not of the copy
    if (auto it = sizes.find(letter); it != sizes.end())
      out.letters[letter] = it->second;
  out.peak = report->peak.bytes;
  for (auto *list : {&program->inputs, &program->outputs})
    for (const FlatPort &port : *list)
      out.ports += bytesInLetters(cast<RankedTensorType>(port.type));
  out.fixed = persistentBytes(*copy, *program) - report->inputsBytes - report->outputsBytes;
  return std::move(out);
}

std::optional<int64_t> Sized::formula(const std::string &letter, int64_t size) const {
  symbolic::Letters at = letters;
  at[letter] = size;
  auto moving = (peak + symbolic::Expr(ports)).evaluate(at);
  if (!moving || *moving > std::numeric_limits<int64_t>::max() - fixed)
    return std::nullopt;
  return *moving + fixed;
}

std::optional<int64_t> Sized::measured(const std::string &letter, int64_t size) const {
  ScopedDiagnosticHandler quiet(module.get().getContext(), [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> copy(module.get().clone());
  if (failed(resizeLetter(*copy, letter, size)))
    return std::nullopt;
  auto bytes = measureStep(*copy, RematPlan());
  return failed(bytes) ? std::nullopt : std::optional<int64_t>(bytes->total);
}

/// The largest i in [low, high) for which `fits`, which it is not beyond; low
/// itself is taken for granted.
int64_t lastThat(int64_t low, int64_t high, llvm::function_ref<bool(int64_t)> fits) {
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

/// The rows of a table that is read at every position: as many can be asked for.
int64_t Sized::positions(const std::string &letter) const {
  int64_t rows = std::numeric_limits<int32_t>::max();
  module.get()->walk([&](EmbeddingOp op) {
    auto ids = op.getIds().getDefiningOp<PositionsOp>();
    if (ids && dimNames(ids.getType())[0] == letter)
      rows = std::min(rows, op.getTable().getType().getDimSize(0));
  });
  return rows;
}

LargestFit Sized::largest(const std::string &letter) const {
  LargestFit out;
  out.letter = letter;
  out.step = letter == "b" ? 1 : 128;
  auto fits = [&](std::optional<int64_t> bytes) { return bytes && *bytes <= deviceBytes; };
  // Tokens are numbered in 31 bits.
  int64_t tokens = 1;
  for (const char *other : {"b", "s"})
    if (auto it = letters.find(other); it != letters.end() && letter != other)
      tokens = it->second;
  int64_t most = std::min(std::numeric_limits<int32_t>::max() / tokens, positions(letter)) / out.step;
  int64_t steps = lastThat(0, most + 1, [&](int64_t n) { return fits(formula(letter, n * out.step)); });
  // A formula is that of one way to cut the loss into chunks.
  auto at = [&](int64_t n) { return n > most ? std::nullopt : measured(letter, n * out.step); };
  auto bytes = steps ? at(steps) : std::nullopt;
  if (steps && !fits(bytes)) {
    steps = lastThat(0, steps, [&](int64_t n) { return fits(at(n)); });
    bytes = steps ? at(steps) : std::nullopt;
  }
  out.nextBytes = at(steps + 1);
  while (fits(out.nextBytes) && steps < most) {
    ++steps;
    bytes = out.nextBytes;
    out.nextBytes = at(steps + 1);
  }
  out.size = steps * out.step;
  out.bytes = bytes.value_or(0);
  return out;
}

/// A copy under `policy`.
FailureOr<OwningOpRef<ModuleOp>> under(ModuleOp module, const std::string &policy) {
  OwningOpRef<ModuleOp> copy(module.clone());
  PassManager passes(module.getContext());
  RematerializePassOptions options;
  options.policy = policy;
  passes.addPass(createRematerializePass(options));
  if (failed(passes.run(*copy)))
    return failure();
  return std::move(copy);
}

} // namespace

FailureOr<report::WhatIf> act::whatFits(ModuleOp module, int64_t deviceBytes) {
  if (kernelsFormed(module))
    return module.emitError() << "kernels are formed for one size; what fits is asked before that";
  auto earlier = module->getAttrOfType<StringAttr>("act.remat");
  std::vector<std::string> policies = {"none", "selective", "attention", "sqrt", "layer"};
  if (!returnsLoss(module) || (earlier && earlier.getValue() != "none"))
    policies = {earlier ? earlier.getValue().str() : "as it is"};

  report::WhatIf out;
  out.deviceBytes = deviceBytes;
  std::vector<Sized> programs;
  for (const std::string &policy : policies) {
    OwningOpRef<ModuleOp> copy;
    if (policies.size() > 1) {
      auto written = under(module, policy);
      if (failed(written))
        return failure();
      copy = std::move(*written);
    }
    auto sized = Sized::make(copy ? *copy : module, deviceBytes);
    if (failed(sized))
      return failure();
    report::PolicyFit fit;
    fit.policy = policy;
    for (const char *letter : {"s", "t", "b"})
      if (sized->has(letter))
        fit.largest.push_back(sized->largest(letter));
    programs.push_back(std::move(*sized));
    out.policies.push_back(std::move(fit));
  }
  if (out.policies[0].largest.empty())
    return module.emitError() << "has no dimension named s, t or b, so nothing can be longer or more";
  if (out.along = out.policies[0].largest[0].letter; out.along == "b")
    out.along.clear();
  if (out.along.empty())
    return std::move(out);

  int64_t end = 1024;
  for (const report::PolicyFit &p : out.policies)
    end = std::max(end, p.largest[0].size + p.largest[0].size / 8);
  end = std::min(end, programs[0].positions(out.along));
  constexpr int64_t points = 64;
  for (auto [p, program] : llvm::zip(out.policies, programs))
    for (int64_t i = 1; i <= points; ++i) {
      int64_t size = std::max<int64_t>(1, end * i / points);
      if (auto bytes = program.formula(out.along, size))
        p.curve.push_back({size, *bytes});
    }
  return std::move(out);
}
