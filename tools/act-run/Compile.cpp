// SPDX-License-Identifier: Apache-2.0
//
// Compiles a module in the process of act-run, for a .mlir that is given
// instead of an artifact.
#include "tools/act-run/Compile.h"
#include "dialects/act/AttrNames.h"
#include "mlir/Pass/PassManager.h"
#include "passes/autodiff/Autodiff.h"
#include "passes/emit/EmitStep.h"
#include "passes/fuse/Passes.h"
#include "passes/module/Entries.h"
#include "passes/remat/Passes.h"
#include "passes/remat/RematBudget.h"
#include "passes/step/WriteStep.h"
#include "tools/act-run/ParseModule.h"

using namespace mlir;

namespace act::run {

/// Adds the requested step unless the module has one.
static LogicalResult writeChosenStep(ModuleOp module,
                                     const CompileOptions &options) {
  bool chosen = !options.optimizer.empty() || options.microBatches ||
                !options.lossAverage.empty();
  if (options.wants != "train" || !chosen || module.lookupSymbol(stepName))
    return success();
  StepOptions step;
  if (!options.optimizer.empty())
    step.optimizer = options.optimizer;
  if (options.microBatches)
    step.microBatches = options.microBatches;
  if (!options.lossAverage.empty())
    step.lossAverage = options.lossAverage;
  if (!module.lookupSymbol(gradName) && failed(differentiate(module)))
    return failure();
  return writeStep(module, step);
}

Result<artifact::Step> compileModule(const std::string &path,
                                     const CompileOptions &options) {
  auto parsed = ParsedModule::open(path, options.threads);
  if (!parsed)
    return parsed.error();
  ModuleOp module = ***parsed;
  if (failed(writeChosenStep(module, options)))
    return (*parsed)->error("has no step and none can be written");
  EmitOptions emit;
  emit.mode = options.wants;
  if (options.target != "host")
    emit.target = options.target;
  if (!StringRef(options.device).starts_with("cuda:"))
    emit.cubins = Cubins::Off; // a simulator runs PTX
  auto step = emitStep(module, emit);
  if (failed(step))
    return (*parsed)->error("cannot be compiled");
  return std::move(*step);
}

// ---- What would fit

namespace {
/// A way to compile the module, and the memory that the step then needs.
struct Candidate {
  std::string flags;
  int64_t bytes = 0;
};
} // namespace

/// The bytes of the module's step under a policy, as its report counts them.
static std::optional<int64_t> bytesUnder(ModuleOp module, StringRef policy,
                                         const CompileOptions &options) {
  OwningOpRef<ModuleOp> copy(module.clone());
  PassManager passes(module.getContext());
  passes.addPass(createFuseAttentionPass());
  RematerializePassOptions remat;
  remat.policy = policy.str();
  passes.addPass(createRematerializePass(remat));
  if (failed(passes.run(*copy)) || failed(writeChosenStep(*copy, options)))
    return std::nullopt;
  auto bytes = measureStep(*copy, RematPlan());
  return failed(bytes) ? std::nullopt : std::optional(bytes->total);
}

static std::string inGiB(int64_t bytes) {
  char text[32];
  snprintf(text, sizeof text, " (%.2f GiB)",
           static_cast<double>(bytes) / (1u << 30));
  return std::to_string(bytes) + " bytes" + text;
}

static std::string lineFor(const Candidate &c) {
  return "\n    " + c.flags + "  " + inGiB(c.bytes);
}

std::string whatWouldFit(const std::string &path, const CompileOptions &options,
                         uint64_t needed, uint64_t free) {
  const std::string smaller =
      "a smaller batch or a shorter sequence takes less";
  auto parsed = ParsedModule::open(path, options.threads);
  if (!parsed || options.wants != "train")
    return smaller;
  ModuleOp module = ***parsed;
  auto earlier = module->getAttrOfType<StringAttr>(rematAttr);
  if (kernelsFormed(module) || module.lookupSymbol(stepName) ||
      (earlier && earlier.getValue() != "none"))
    return "the module has been through act-opt already" +
           (earlier ? " with --remat=" + earlier.getValue().str()
                    : std::string()) +
           "; make it from the imported one with --remat=budget=fit:" +
           std::to_string(free) + ", or " + smaller;
  // A step needs more than its report counts: its kernels' workspaces.
  OwningOpRef<ModuleOp> asItIs(module.clone());
  if (failed(writeChosenStep(*asItIs, options)))
    return smaller;
  auto now = measureStep(*asItIs, RematPlan());
  if (failed(now))
    return smaller;
  int64_t beside =
      std::max<int64_t>(0, static_cast<int64_t>(needed) - now->total);
  std::vector<Candidate> fitting, all;
  auto consider = [&](const std::string &policy) {
    auto bytes = bytesUnder(module, policy, options);
    if (!bytes)
      return;
    all.push_back({"--fuse-attention --remat=" + policy, *bytes + beside});
    if (static_cast<uint64_t>(all.back().bytes) <= free)
      fitting.push_back(all.back());
  };
  for (const char *policy : {"none", "selective", "attention", "sqrt", "layer"})
    consider(policy);
  if (static_cast<int64_t>(free) > beside)
    consider("budget=fit:" +
             std::to_string(static_cast<int64_t>(free) - beside));
  if (all.empty())
    return smaller;
  std::string out;
  if (fitting.empty()) {
    auto least = std::min_element(all.begin(), all.end(), [](auto &a, auto &b) {
      return a.bytes < b.bytes;
    });
    out = "no policy fits; the least is" + lineFor(*least) + "\n  ";
    return out +
           (options.optimizer == "sgd" ? ""
                                       : "--optimizer sgd keeps no "
                                         "states, and ") +
           smaller;
  }
  out = "these fit (act-opt " + path + " FLAGS -o OUT.mlir, then train that):";
  for (const Candidate &c : fitting)
    out += lineFor(c);
  return out;
}

} // namespace act::run
