// SPDX-License-Identifier: Apache-2.0
//
// The pass --remat: reads the policy and picks what runs again. The fixed
// policies pick ops or segments here; a budget's choice is made in RematBudget.
// How a choice is written into the IR is in SavedValues (one layer) and
// LayerRuns (several runs of a layer).
#include "act/Remat/Bytes.h"
#include "dialects/act/AttrNames.h"
#include "passes/autodiff/Autodiff.h"
#include "passes/memory/MemoryModel.h"
#include "passes/memory/OffloadTimes.h"
#include "passes/module/Entries.h"
#include "passes/remat/AttentionModule.h"
#include "passes/remat/LayerRuns.h"
#include "passes/remat/Passes.h"
#include "passes/remat/RematBudget.h"
#include "passes/remat/RematPolicy.h"
#include "passes/remat/SavedValues.h"

namespace act {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "passes/remat/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

/// Cheap ops whose inputs are kept anyway. Walks in order, so that a kept value
/// can serve later ops. The result must not grow what is saved: an op is chosen
/// only if its saved result can be made from other saved values and arguments
/// by cheap ops alone.
///
///   %n = act.rms_norm %x, %g     saved; %x is an argument    chosen
///   %p = act.linear %n, %w       saved; a product            kept
///   %a = act.silu %p             saved; %p is kept           chosen
DenseSet<Operation *> selectCheap(ArrayRef<Value> saved, Block &body) {
  DenseSet<Value> kept(saved.begin(), saved.end());
  for (BlockArgument a : body.getArguments())
    kept.insert(a);
  DenseSet<Operation *> chosen;
  DenseSet<Value> dropped;
  // Can cheap ops alone compute `v` from kept values? `root` is the value to be
  // dropped: it is still kept, and would otherwise be the answer itself.
  std::function<bool(Value, bool)> reachable = [&](Value v, bool root) -> bool {
    if (!root && kept.contains(v) && !dropped.contains(v))
      return true;
    Operation *def = v.getDefiningOp();
    if (!def)
      return true;
    auto costed = dyn_cast<CostOpInterface>(def);
    if (!costed)
      return false;
    CostClass c = costed.getCostClass();
    if (c != CostClass::Cheap && c != CostClass::Statistic && !isReplayed(def))
      return false;
    return llvm::all_of(def->getOperands(),
                        [&](Value o) { return reachable(o, false); });
  };
  for (Operation &op : body.without_terminator()) {
    auto costed = dyn_cast<CostOpInterface>(op);
    if (!costed || (costed.getCostClass() != CostClass::Cheap &&
                    costed.getCostClass() != CostClass::Statistic))
      continue;
    // Drop only the first result; the statistics after it stay saved.
    if (op.getNumResults() == 0 || !kept.contains(op.getResult(0)))
      continue;
    if (!reachable(op.getResult(0), true))
      continue;
    chosen.insert(&op);
    dropped.insert(op.getResult(0));
  }
  return chosen;
}

/// Applies a fixed policy: to each layer's pair of functions, then to the
/// values that cross the phase boundary in @grad itself.
class Rematerializer {
public:
  Rematerializer(ModuleOp module, const RematPolicy &policy)
      : module(module), symbols(module), policy(policy) {}

  LogicalResult run() {
    auto grad = module.lookupSymbol<func::FuncOp>(gradName);
    auto pairs = findSavedPairs(grad);
    if (failed(pairs))
      return failure();
    for (SavedPair &pair : *pairs) {
      if (policy.kind == RematPolicy::Segments) {
        if (failed(cutIntoSegments(pair)))
          return failure();
        continue;
      }
      if (failed(recomputeInLayer(pair)))
        return failure();
    }
    changeBody(grad, !grad.getBody().getOps<RepeatOp>().empty());
    return success();
  }

private:
  /// The ops of a forward layer that the policy runs again. Choosing an op
  /// whose result no gradient reads costs nothing: only what is needed gets a
  /// copy.
  DenseSet<Operation *> region(Block &body, ArrayRef<Value> saved) {
    DenseSet<Operation *> ops;
    switch (policy.kind) {
    case RematPolicy::Selective:
      return selectCheap(saved, body);
    case RematPolicy::Layer:
      for (Operation &op : body.without_terminator())
        ops.insert(&op);
      return ops;
    case RematPolicy::Attention:
      return attentionModule(body, /*coreOnly=*/false);
    case RematPolicy::AttentionCore:
      return attentionModule(body, /*coreOnly=*/true);
    default:
      return ops;
    }
  }

  /// Selective keeps the row statistics: one number per row is not worth
  /// running anything again.
  LogicalResult recomputeInLayer(SavedPair &pair) {
    auto fwd = symbols.lookup<func::FuncOp>(pair.forward.getCallee());
    auto bwd = symbols.lookup<func::FuncOp>(pair.backward.getCallee());
    LayerRewriter rewriter(pair, fwd, bwd);
    if (policy.kind == RematPolicy::Offload) {
      SmallVector<Value> saved = rewriter.savedValues();
      rewriter.offload(DenseSet<Value>(saved.begin(), saved.end()));
      return success();
    }
    rewriter.recompute(region(fwd.getBody().front(), rewriter.savedValues()),
                       /*keepStatistics=*/policy.kind ==
                           RematPolicy::Selective);
    return success();
  }

  /// Applies the policy to values that cross the phase boundary in the entry
  /// function itself. Policies not about single values need layers.
  void changeBody(func::FuncOp grad, bool layers) {
    if (policy.kind != RematPolicy::Selective && layers)
      return;
    if (policy.kind != RematPolicy::Selective &&
        policy.kind != RematPolicy::Offload) {
      grad.emitWarning("repeats no layers, so this policy of --remat changes "
                       "nothing; none, selective, "
                       "offload and budgets work on any function");
      return;
    }
    Block &block = grad.getBody().front();
    PhaseOp boundary;
    for (auto phase : block.getOps<PhaseOp>())
      boundary = phase;
    if (!boundary)
      return;
    // What @grad saves: the values that forward makes and backward reads. Views
    // and parameters do not count, since backward repeats them.
    SmallVector<Value> crossing;
    for (Operation &op : block) {
      if (!op.isBeforeInBlock(boundary))
        break;
      if (isReplayed(&op))
        continue;
      for (Value r : op.getResults())
        if (llvm::any_of(r.getUsers(), [&](Operation *u) {
              return boundary->isBeforeInBlock(u) &&
                     !u->hasTrait<OpTrait::IsTerminator>();
            }))
          crossing.push_back(r);
    }
    if (policy.kind == RematPolicy::Offload)
      return offloadAcross(boundary, crossing);
    DenseSet<Operation *> chosen;
    // The block holds backward as well, whose ops are no candidates.
    for (Operation *op : selectCheap(crossing, block))
      if (op->isBeforeInBlock(boundary) &&
          llvm::is_contained(crossing, op->getResult(0)))
        chosen.insert(op);
    recomputeAcross(boundary, chosen);
  }

  LogicalResult cutIntoSegments(SavedPair &pair);

  ModuleOp module;
  SymbolTable symbols;
  RematPolicy policy;
};

/// Segments of equal length, up to rounding. Each keeps its input and runs
/// again as a whole.
LogicalResult Rematerializer::cutIntoSegments(SavedPair &pair) {
  int64_t count = pair.forward.getCount(), n = segmentCount(policy, count);
  if (n < 1 || n > count)
    return emitError(pair.forward.getLoc())
           << "cannot be cut into " << n << " segments: it runs " << count
           << " layers";
  SmallVector<LayerRun> runs;
  for (int64_t i = 0; i < n; ++i) {
    LayerRun run;
    run.segment = true;
    run.layers = segmentEnd(i + 1, n, count) - segmentEnd(i, n, count);
    runs.push_back(run);
  }
  return writeRuns(pair, runs, symbols);
}

struct Rematerialize : act::impl::RematerializePassBase<Rematerialize> {
  using RematerializePassBase::RematerializePassBase;

  FailureOr<BudgetOptions> readOptions() {
    BudgetOptions options;
    auto refuse = [&](const Error &error) {
      return emitError(getOperation()->getLoc()) << error.str();
    };
    auto parsed = parseRematPolicy(policy);
    if (!parsed)
      return refuse(parsed.error());
    options.policy = *parsed;
    if (!deviceMemory.empty()) {
      auto bytes = remat::parseBytes(deviceMemory);
      if (!bytes)
        return refuse({"remat device memory: " + bytes.error().str(), ""});
      // Both spellings bound the same figure, so the smaller one holds.
      int64_t &total = options.policy.totalBytes;
      total = total < 0 ? *bytes : std::min(total, *bytes);
    }
    if (parsed->kind == RematPolicy::Budget && options.policy.peakBytes < 0 &&
        options.policy.totalBytes < 0)
      return refuse({"remat policy 'budget=fit' has no size; expected "
                     "budget=fit:BYTES, or --device-memory=BYTES as well",
                     ""});
    auto replay =
        chooseAllocator({allocator, allocatorConf, "", "", ""}, "act");
    if (!replay)
      return refuse({"remat: " + replay.error().str(), ""});
    options.allocator = std::move(*replay);
    auto given = parseRates(rates);
    if (!given)
      return refuse(given.error());
    options.rates = *given;
    options.rates.moves = parsed->offloads;
    if (parsed->link > 0)
      options.rates.link = parsed->link;
    if (effort < 2)
      return refuse(
          {"remat effort " + std::to_string(effort) + ": expected 2 or more",
           ""});
    options.states = effort;
    return options;
  }

  // Nothing is written if the step fits as it is; the attribute still says what
  // was found.
  LogicalResult stayUnder(ModuleOp module, const BudgetOptions &options) {
    auto answer = planBudget(module, options);
    if (failed(answer) ||
        (answer->plan.any() && failed(applyPlan(module, answer->plan))))
      return failure();
    module->setAttr(
        rematResultAttr,
        StringAttr::get(&getContext(), answer->text(options.policy)));
    return success();
  }

  // A fixed policy ignores the device's memory; warn if it needs more.
  LogicalResult compareWithDevice(ModuleOp module, int64_t bytes) {
    auto needed = measureStep(module, RematPlan());
    if (failed(needed))
      return failure();
    if (needed->total > bytes)
      module.emitWarning() << "policy '" << policy << "' needs "
                           << needed->total << " bytes, more than the " << bytes
                           << " of the device";
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto options = readOptions();
    if (failed(options))
      return signalPassFailure();
    const RematPolicy &parsed = options->policy;
    // A policy chooses from the values that differentiation saves. A second one
    // would choose from what the first has left.
    if (auto earlier = module->getAttrOfType<StringAttr>(rematAttr);
        earlier && earlier.getValue() != "none") {
      emitError(module.getLoc())
          << "the module is already rematerialized, by policy '"
          << earlier.getValue() << "'; policy '" << policy
          << "' cannot be added to it";
      return signalPassFailure();
    }
    if (failed(checkEntries(module)) ||
        (!module.lookupSymbol(gradName) && failed(differentiate(module))))
      return signalPassFailure();
    if (parsed.kind != RematPolicy::None && kernelsFormed(module)) {
      emitError(module.getLoc(), "the module is in kernel form; --remat must "
                                 "come before --form-kernels");
      return signalPassFailure();
    }
    module->setAttr(rematAttr, StringAttr::get(&getContext(), policy));
    LogicalResult done = parsed.kind == RematPolicy::Budget
                             ? stayUnder(module, *options)
                         : parsed.kind == RematPolicy::None
                             ? success()
                             : Rematerializer(module, parsed).run();
    if (succeeded(done) && parsed.offloads)
      setOffloadRates(module, options->rates);
    if (succeeded(done) && parsed.kind != RematPolicy::Budget &&
        parsed.totalBytes >= 0)
      done = compareWithDevice(module, parsed.totalBytes);
    if (failed(done))
      signalPassFailure();
  }
};

} // namespace
