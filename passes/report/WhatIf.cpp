// SPDX-License-Identifier: Apache-2.0
//
// Searches the largest sizes that fit on a card. A formula, if it applies,
// finds the neighbourhood; every size that is reported has been measured on the
// program written out for it.
#include "passes/report/WhatIf.h"
#include "act/Remat/Bytes.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/Types.h"
#include "mlir/Pass/PassManager.h"
#include "passes/autodiff/Autodiff.h"
#include "passes/memory/MemoryFormulas.h"
#include "passes/memory/MemoryModel.h"
#include "passes/module/Entries.h"
#include "passes/module/Sizes.h"
#include "passes/remat/Passes.h"
#include "passes/remat/RematBudget.h"
#include "passes/step/Complete.h"
#include <cmath>

using namespace mlir;
using namespace act;
using report::LargestFit;

namespace {

/// The program under one policy.
class Sized {
public:
  static FailureOr<Sized> make(ModuleOp module, const WhatIfQuestion &question);

  bool has(const std::string &letter) const { return letters.count(letter); }
  LargestFit largest(const std::string &letter) const;
  /// A curve's value: the total peak by the formula, or with an allocator the
  /// reserved bytes. Empty on overflow of 64 bits.
  std::optional<int64_t> held(const std::string &letter, int64_t size) const;
  int64_t positions(const std::string &letter) const;
  /// Tokens of a batch in which the letter has size 1.
  int64_t tokensPer(const std::string &letter) const;

private:
  LogicalResult enlarge(ModuleOp copy) const;
  std::optional<int64_t> formula(const std::string &letter, int64_t size) const;

  OwningOpRef<ModuleOp> module; // kernels not formed
  const WhatIfQuestion *question = nullptr;
  symbolic::Letters letters;
  symbolic::Expr peak;
  symbolic::Polynomial ports; // inputs and outputs
  int64_t fixed = 0;          // parameters and other persistent bytes
};

/// Enlarges the copy so that a fused loss has several chunks. With one chunk
/// the formula would describe a single chunk of any size.
LogicalResult Sized::enlarge(ModuleOp copy) const {
  constexpr int64_t enough = 4096;
  auto sizes = givenSizes(copy);
  auto size = [&](const char *letter) {
    return sizes.count(letter) ? sizes[letter] : 1;
  };
  int64_t tokens = size("b") * size("s") * size("t");
  if (tokens >= enough)
    return success();
  int64_t factor = llvm::divideCeil(enough, tokens);
  for (const char *letter : {"t", "s", "b"})
    if (sizes.count(letter) && size(letter) * factor <= positions(letter))
      return resizeLetter(copy, letter, size(letter) * factor);
  return success();
}

// The formula comes from an enlarged copy. What does not change with s, t or b
// (parameters, gradients, optimizer state) is one number.
FailureOr<Sized> Sized::make(ModuleOp module, const WhatIfQuestion &question) {
  Sized out;
  out.module = module.clone();
  out.question = &question;
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
  for (const char *letter : {"b", "s", "t"}) // not of the enlarged copy
    if (auto it = sizes.find(letter); it != sizes.end())
      out.letters[letter] = it->second;
  out.peak = report->peak.bytes;
  for (auto *list : {&program->inputs, &program->outputs})
    for (const FlatPort &port : *list)
      out.ports += bytesInLetters(cast<RankedTensorType>(port.type));
  out.fixed = persistentBytes(*copy, *program) - report->inputsBytes -
              report->outputsBytes;
  return std::move(out);
}

std::optional<int64_t> Sized::formula(const std::string &letter,
                                      int64_t size) const {
  symbolic::Letters at = letters;
  at[letter] = size;
  auto moving = (peak + symbolic::Expr(ports)).evaluate(at);
  if (!moving || *moving > std::numeric_limits<int64_t>::max() - fixed)
    return std::nullopt;
  return *moving + fixed;
}

/// A copy in which the letter has that size; null if it does not fit. Sizes are
/// only tried here, so diagnostics are not shown.
OwningOpRef<ModuleOp> resized(ModuleOp module, const std::string &letter,
                              int64_t size) {
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> copy(module.clone());
  return succeeded(resizeLetter(*copy, letter, size)) ? std::move(copy)
                                                      : OwningOpRef<ModuleOp>();
}

/// Measures the written-out program; empty if there is none of that size.
std::optional<StepBytes> measured(ModuleOp module, const std::string &letter,
                                  int64_t size,
                                  const WhatIfQuestion &question) {
  OwningOpRef<ModuleOp> copy = resized(module, letter, size);
  if (!copy)
    return std::nullopt;
  auto bytes = measureStep(*copy, RematPlan(), question.allocator);
  return failed(bytes) ? std::nullopt : std::optional<StepBytes>(*bytes);
}

std::optional<int64_t> Sized::held(const std::string &letter,
                                   int64_t size) const {
  if (!question->allocator)
    return formula(letter, size);
  auto bytes = measured(module.get(), letter, size, *question);
  return bytes ? std::optional<int64_t>(bytes->reserved) : std::nullopt;
}

bool fits(const std::optional<StepBytes> &bytes,
          const WhatIfQuestion &question) {
  return bytes && (question.allocator ? bytes->reserved : bytes->total) <=
                      question.deviceBytes;
}

void describe(LargestFit &fit, int64_t size,
              const std::optional<StepBytes> &here,
              const std::optional<StepBytes> &next) {
  fit.size = size;
  fit.bytes = here ? here->total : 0;
  fit.reserved = here ? here->reserved : 0;
  fit.nextBytes.reset();
  fit.nextReserved = next ? next->reserved : 0;
  if (next)
    fit.nextBytes = next->total;
}

/// The largest i in [low, high) for which `fits` holds, assuming that it holds
/// for low and is monotonic.
int64_t lastThat(int64_t low, int64_t high,
                 llvm::function_ref<bool(int64_t)> fits) {
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

/// The largest size that learned position tables allow: their number of rows.
int64_t Sized::positions(const std::string &letter) const {
  int64_t rows = std::numeric_limits<int32_t>::max();
  module.get()->walk([&](EmbeddingOp op) {
    auto ids = op.getIds().getDefiningOp<PositionsOp>();
    if (ids && dimNames(ids.getType())[0] == letter)
      rows = std::min(rows, op.getTable().getType().getDimSize(0));
  });
  return rows;
}

int64_t Sized::tokensPer(const std::string &letter) const {
  int64_t tokens = 1;
  for (const char *other : {"b", "s"})
    if (auto it = letters.find(other); it != letters.end() && letter != other)
      tokens = it->second;
  return tokens;
}

// The formula gives a first size at no cost. Then measuring decides: down while
// the size does not fit, up while the next one does.
LargestFit Sized::largest(const std::string &letter) const {
  LargestFit out;
  out.letter = letter;
  out.step = letter == "b" ? 1 : 128;
  // Token indices have 31 bits.
  int64_t most =
      std::min(std::numeric_limits<int32_t>::max() / tokensPer(letter),
               positions(letter)) /
      out.step;
  int64_t steps = lastThat(0, most + 1, [&](int64_t n) {
    auto bytes = formula(letter, n * out.step);
    return bytes && *bytes <= question->deviceBytes;
  });
  auto at = [&](int64_t n) {
    return n == 0 || n > most
               ? std::nullopt
               : measured(module.get(), letter, n * out.step, *question);
  };
  auto bytes = at(steps);
  // Reserved bytes exceed the formula and do not grow monotonically.
  while (question->allocator && steps && !fits(bytes, *question))
    bytes = at(--steps);
  // The formula holds for one way to split the loss into chunks, so it may be
  // off at this size.
  if (steps && !fits(bytes, *question)) {
    steps =
        lastThat(0, steps, [&](int64_t n) { return fits(at(n), *question); });
    bytes = at(steps);
  }
  auto next = at(steps + 1);
  while (fits(next, *question) && steps < most) {
    ++steps;
    bytes = next;
    next = at(steps + 1);
  }
  describe(out, steps * out.step, bytes, next);
  return out;
}

/// A copy rematerialised under `policy`, by the pass itself, so that a policy
/// means the same as on the command line.
FailureOr<OwningOpRef<ModuleOp>> under(ModuleOp module,
                                       const std::string &policy) {
  OwningOpRef<ModuleOp> copy(module.clone());
  PassManager passes(module.getContext());
  RematerializePassOptions options;
  options.policy = policy;
  passes.addPass(createRematerializePass(options));
  if (failed(passes.run(*copy)))
    return failure();
  return std::move(copy);
}

/// The largest size under a budget of the card's bytes. The lowest-memory
/// choice at one size is followed as far as it fits; beyond that, another
/// choice may fit.
FailureOr<LargestFit> largestUnderBudget(ModuleOp module,
                                         const WhatIfQuestion &question,
                                         LargestFit fit, int64_t most) {
  BudgetOptions options;
  options.policy.kind = RematPolicy::Budget;
  options.policy.totalBytes = question.deviceBytes;
  options.allocator = question.allocator;
  std::optional<StepBytes> here, next;
  int64_t size = fit.size;
  // The budget may reach far beyond the fixed policies, in a small model by
  // millions of tokens. So strides double until one is too far, then halve.
  int64_t ahead = 1;
  bool doubles = true;
  for (;;) {
    next.reset();
    OwningOpRef<ModuleOp> larger;
    if (size + ahead * fit.step <= most)
      larger = resized(module, fit.letter, size + ahead * fit.step);
    if (!larger && ahead > 1) {
      doubles = false;
      ahead /= 2;
      continue;
    }
    if (!larger)
      break;
    auto least = leastMemory(*larger, options);
    if (failed(least) || failed(applyPlan(*larger, least->plan)))
      return failure();
    if (ahead > 1 && !fits(least->bytes, question)) {
      doubles = false;
      ahead /= 2;
      continue;
    }
    auto further = [&](int64_t steps) {
      int64_t there = size + steps * fit.step;
      return there <= most &&
             fits(measured(*larger, fit.letter, there, question), question);
    };
    if (!fits(next = least->bytes, question)) {
      // Reserved bytes are not monotonic: a larger size may fit where a smaller
      // one does not.
      int64_t stride = std::max<int64_t>(1, size / 32 / fit.step), far = 8;
      while (far > 0 && !(question.allocator && further(far * stride)))
        --far;
      if (far == 0)
        break;
      options.plans = {least->plan};
      size += far * stride * fit.step;
      continue;
    }
    size += ahead * fit.step;
    ahead = doubles ? 2 * ahead : std::max<int64_t>(1, ahead / 2);
    options.plans = {least->plan};
    int64_t steps = 1;
    while (further(steps))
      steps *= 2;
    size += lastThat(0, steps, further) * fit.step;
  }
  // Report what the policy itself finds at this size. The choice that got this
  // far is among those it tries.
  while (size) {
    OwningOpRef<ModuleOp> found = resized(module, fit.letter, size);
    ScopedDiagnosticHandler quiet(module.getContext(),
                                  [](Diagnostic &) { return success(); });
    if (auto answer = planBudget(*found, options); succeeded(answer)) {
      here = StepBytes{answer->peakBytes, answer->totalPeakBytes,
                       answer->reservedBytes};
      fit.again = answer->percent();
      break;
    }
    auto least = leastMemory(*found, options);
    if (failed(least))
      return failure();
    next = least->bytes;
    size -= fit.step;
  }
  describe(fit, size, here, next);
  return fit;
}

/// The row for the budget policy, after those of the fixed policies; the first
/// of these keeps everything.
FailureOr<report::PolicyFit> budgetRow(ModuleOp module,
                                       const WhatIfQuestion &question,
                                       const report::WhatIf &others,
                                       const Sized &plain) {
  OwningOpRef<ModuleOp> grad(module.clone());
  if (!grad->lookupSymbol(gradName) && failed(differentiate(*grad)))
    return failure();
  report::PolicyFit out;
  out.policy = "budget";
  for (size_t i = 0; i < others.policies[0].largest.size(); ++i) {
    LargestFit best = others.policies[0].largest[i];
    for (const report::PolicyFit &p : others.policies)
      if (p.largest[i].size > best.size)
        best = p.largest[i];
    const int64_t last = plain.positions(best.letter);
    const int64_t searched =
        report::mostBudgetTokens / plain.tokensPer(best.letter);
    auto isCut = [&](const LargestFit &fit) {
      return searched < last && fit.size + fit.step > searched;
    };
    if (isCut(best)) {
      best.cut = true;
      out.largest.push_back(best);
      continue;
    }
    auto fit =
        largestUnderBudget(*grad, question, best, std::min(last, searched));
    if (failed(fit))
      return failure();
    fit->cut = isCut(*fit);
    out.largest.push_back(*fit);
  }
  return out;
}

} // namespace

Result<WhatIfQuestion> act::parseWhatIf(const std::string &text) {
  WhatIfQuestion out;
  auto [card, more] = llvm::StringRef(text).split(',');
  auto bytes = remat::parseBytes(card.str());
  if (!bytes)
    return Error{"what-if: " + bytes.error().str(), ""};
  if (*bytes == 0)
    return Error{
        "what-if: expected a card that has memory, found '" + text + "'", ""};
  out.deviceBytes = *bytes;
  out.budget = more == "budget";
  if (!out.budget && card.size() != text.size())
    return Error{"what-if: expected a card, 24GB, or 24GB,budget, found '" +
                     text + "'",
                 ""};
  return out;
}

FailureOr<report::WhatIf> act::whatFits(ModuleOp module,
                                        const WhatIfQuestion &question) {
  if (kernelsFormed(module))
    return emitError(module.getLoc()) << "kernels are formed for one size; use "
                                         "what-if before --form-kernels";
  auto earlier = module->getAttrOfType<StringAttr>(rematAttr);
  std::vector<std::string> policies = {"none", "selective", "attention", "sqrt",
                                       "layer"};
  if (!returnsLoss(module) || (earlier && earlier.getValue() != "none"))
    policies = {earlier ? earlier.getValue().str() : "as it is"};
  if (question.budget && policies.size() == 1)
    return emitError(module.getLoc())
           << "what-if: a budget chooses what a training step recomputes, but "
           << (earlier ? "that is already chosen"
                       : "this is not a training step");

  report::WhatIf out;
  out.deviceBytes = question.deviceBytes;
  if (question.allocator)
    out.allocator = question.allocator->allocator;
  std::vector<Sized> programs;
  for (const std::string &policy : policies) {
    OwningOpRef<ModuleOp> copy;
    if (policies.size() > 1) {
      auto written = under(module, policy);
      if (failed(written))
        return failure();
      copy = std::move(*written);
    }
    auto sized = Sized::make(copy ? *copy : module, question);
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
    return emitError(module.getLoc()) << "the module has no dimension named s, "
                                         "t or b, so no size can grow";
  if (question.budget) {
    auto row = budgetRow(module, question, out, programs[0]);
    if (failed(row))
      return failure();
    out.policies.push_back(std::move(*row));
  }
  if (out.along = out.policies[0].largest[0].letter; out.along == "b")
    out.along.clear();
  if (out.along.empty())
    return std::move(out);

  int64_t end = 1024;
  for (const report::PolicyFit &p : out.policies)
    end = std::max(end, p.largest[0].size + p.largest[0].size / 8);
  end = std::min(end, programs[0].positions(out.along));
  const int64_t points =
      question.allocator ? 16 : 64; // replays cost more than formulas
  for (auto [p, program] : llvm::zip(out.policies, programs))
    for (int64_t i = 1; i <= points; ++i) {
      int64_t size = std::max<int64_t>(1, end * i / points);
      if (auto bytes = program.held(out.along, size))
        p.curve.push_back({size, *bytes});
    }
  // A budget keeps everything until the card is full, then uses the whole card.
  if (question.budget) {
    report::PolicyFit &p = out.policies.back();
    const LargestFit &last = p.largest[0];
    for (auto [size, bytes] : out.policies[0].curve)
      if (size < last.size)
        p.curve.push_back({size, std::min(bytes, question.deviceBytes)});
    if (last.size)
      p.curve.push_back(
          {last.size, question.allocator ? last.reserved : last.bytes});
  }
  return std::move(out);
}
