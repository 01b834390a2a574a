// SPDX-License-Identifier: Apache-2.0
//
// --memory-report: checks which options go together, brings a clone of the
// module to the form that the view needs, and prints. The figures come from
// MemoryModel (view act), TorchModel (torch) and PaperView (paper).
#include "act/File/AtomicFile.h"
#include "passes/emit/EmitStep.h"
#include "passes/emit/GpuKernels.h"
#include "passes/memory/MemoryModel.h"
#include "passes/memory/StepTime.h"
#include "passes/module/Entries.h"
#include "passes/module/Sizes.h"
#include "passes/report/PaperView.h"
#include "passes/report/Passes.h"
#include "passes/report/WhatIf.h"
#include "passes/step/Complete.h"
#include "passes/torch/TorchModel.h"

namespace act {
#define GEN_PASS_DEF_ANALYZEMEMORYPASS
#include "passes/report/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

struct AnalyzeMemory : act::impl::AnalyzeMemoryPassBase<AnalyzeMemory> {
  using AnalyzeMemoryPassBase::AnalyzeMemoryPassBase;
  explicit AnalyzeMemory(std::string *out) : out(out) {}

  void getDependentDialects(DialectRegistry &registry) const override {
    AnalyzeMemoryPassBase::getDependentDialects(registry);
    if (isGpu())
      registerGpuKernelDialects(registry);
  }

  void runOnOperation() override {
    if (format != "text" && format != "json" && format != "html" &&
        format != "formula" && format != "svg") {
      emitError(getOperation()->getLoc())
          << "unknown report format '" << format
          << "': expected text, json, html, formula or svg";
      return signalPassFailure();
    }
    if (view != "act" && view != "torch" && view != "paper") {
      emitError(getOperation()->getLoc())
          << "unknown view '" << view << "': expected act, torch or paper";
      return signalPassFailure();
    }
    if (failed(checkOptionsOfViews()))
      return signalPassFailure();
    if (!log.empty())
      return describeLog();
    OwningOpRef<ModuleOp> copy(getOperation().clone());
    if (failed(
            bindLetters(*copy, sizes(),
                        format == "formula" ? Unsized::Open : Unsized::Fail)))
      return signalPassFailure();
    AllocatorOptions options{allocator, allocatorConf, deviceMemory,
                             cublasWorkspace, cublasLtWorkspace};
    auto choice = chooseAllocator(options, view);
    if (!choice) {
      emitError(getOperation()->getLoc()) << choice.error().str();
      return signalPassFailure();
    }
    std::optional<report::WhatIf> fits;
    // Before the module is completed: what-if completes it at other sizes.
    if (failed(ask(*copy, *choice, fits)))
      return signalPassFailure();
    if (view == "torch") {
      auto report = describeTorch(*copy, attention, checkpoint, *choice,
                                  format == "formula");
      return failed(report) ? signalPassFailure() : write(*report);
    }
    OwningOpRef<ModuleOp> forward(view == "paper" ? copy->clone() : ModuleOp());
    if (failed(completeModule(*copy)))
      return signalPassFailure();
    // From here on view paper is view act's report, read in another way.
    std::string name =
        function.empty() ? mainFunction(*copy) : function.getValue();
    auto program = flatten(*copy, name);
    if (failed(program))
      return signalPassFailure();
    auto plan = planArena(*program, copy->getLoc());
    if (failed(plan))
      return signalPassFailure();
    auto report = describeMemory(*copy, *program, *plan);
    if (failed(report))
      return signalPassFailure();
    if (forward) {
      auto paper = describePaper(*forward, selection, std::move(*report));
      return failed(paper) ? signalPassFailure() : write(*paper);
    }
    if (!card.empty()) {
      auto named = cardNamed(card);
      if (!named) {
        emitError(getOperation()->getLoc()) << named.error().str();
        return signalPassFailure();
      }
      report->card = (*named)->name;
      report->seconds = stepSeconds(*program, **named);
    }
    if (function.empty() && lacksGradient(getOperation()))
      report->notes.push_back(
          "the module is in kernel form without a gradient and can no longer "
          "be differentiated: this is @forward alone, not a training step");
    if (*choice) {
      // The step has one arena, so its buffers stand in for tensors.
      replayAllocator(*report, traceOf(*report), **choice);
      report->notes.push_back(
          "the allocator sees each buffer of the step as a tensor of its own, "
          "and what is "
          "kept beside them; the step itself has one arena");
      if (auto status = report::check(*report); !status) {
        emitError(getOperation()->getLoc())
            << "the memory report contradicts itself: " << status.error().str();
        return signalPassFailure();
      }
    }
    if (isGpu() && format != "formula") {
      EmitOptions options;
      options.target = target;
      options.cacheDir = cacheDir;
      if (failed(addTarget(*report, *program, *copy, options)))
        return signalPassFailure();
    }
    report->whatIf = std::move(fits);
    write(*report);
  }

  void describeLog() {
    Location loc = getOperation()->getLoc();
    if (format == "formula" || format == "svg" || !whatIf.empty() ||
        attention.hasValue() || checkpoint.hasValue()) {
      emitError(loc)
          << "a log is of one step: expected format text, json or "
             "html, and neither what-if nor attention nor checkpoint";
      return signalPassFailure();
    }
    auto choice = chooseAllocator({allocator, allocatorConf, deviceMemory,
                                   cublasWorkspace, cublasLtWorkspace},
                                  view);
    if (!choice) {
      emitError(loc) << choice.error().str();
      return signalPassFailure();
    }
    auto report = describeTorchLog(loc, log, *choice);
    return failed(report) ? signalPassFailure() : write(*report);
  }

  // PyTorch treats a batch of 1 specially in its memory layout, so a formula
  // with an open batch uses 2.
  std::string sizes() {
    bool open = view == "torch" && format == "formula" &&
                !givenSizes(getOperation()).count("b") &&
                !StringRef(dims).starts_with("b=") &&
                !StringRef(dims).contains(",b=");
    return open ? dims + (dims.empty() ? "b=2" : ",b=2") : dims;
  }

  bool isGpu() const { return !target.empty() && target != "host"; }

  // An option of another view is an error, because it would have no effect.
  LogicalResult checkOptionsOfViews() {
    struct {
      bool said;
      StringRef name, of;
    } options[] = {{attention.hasValue(), "attention", "torch"},
                   {checkpoint.hasValue(), "checkpoint", "torch"},
                   {log.hasValue(), "log", "torch"},
                   {selection.hasValue(), "selection", "paper"},
                   {isGpu(), "target", "act"},
                   {!card.empty(), "card", "act"}};
    for (auto [said, name, of] : options)
      if (said && view != of)
        return emitError(getOperation()->getLoc())
               << name << " applies to view " << of << ", but this is view "
               << view << ": expected view=" << of << " as well";
    if (view == "paper" && !allocator.empty())
      return emitError(getOperation()->getLoc())
             << "allocator: publications count the values of a layer, which an "
                "allocator cannot replay: expected view=act or view=torch";
    if (view == "torch" && !function.empty())
      return emitError(getOperation()->getLoc())
             << "function=" << function
             << ": view torch applies to a step of @forward, not to a function";
    return success();
  }

  // What fits on a card, if that is asked. Format svg is a drawing of it.
  LogicalResult ask(ModuleOp module,
                    const std::optional<AllocatorChoice> &replayed,
                    std::optional<report::WhatIf> &fits) {
    if (whatIf.empty() && format != "svg")
      return success();
    if (whatIf.empty())
      return emitError(module.getLoc(), "format svg draws what fits on a card; "
                                        "name its memory with what-if=24GB");
    if (view != "act" || !function.empty())
      return emitError(module.getLoc(),
                       "what-if applies to the whole step in view act only");
    auto question = parseWhatIf(whatIf);
    if (!question)
      return emitError(module.getLoc()) << question.error().str();
    question->allocator = replayed;
    auto found = whatFits(module, *question);
    if (failed(found))
      return failure();
    if (format == "svg" && found->along.empty())
      return emitError(
          module.getLoc(),
          "no dimension is named s or t, so there is no curve to draw");
    fits = std::move(*found);
    return success();
  }

  void write(const report::MemoryReport &report) {
    if (format == "html")
      return print(report::toHtml(report));
    if (format == "svg")
      return print(report::toSvg(*report.whatIf));
    writeText(report);
  }
  void write(const report::PaperReport &report) {
    format == "html" ? print(report::toHtml(report)) : writeText(report);
  }
  template <typename Report> void writeText(const Report &report) {
    print(format == "json"      ? report::toJson(report)
          : format == "formula" ? report::toFormulas(report)
                                : report::toText(report));
  }

  void print(const std::string &text) {
    if (out) {
      *out = text;
    } else if (file.empty() || file == "-") {
      llvm::outs() << text;
    } else if (auto written = file::writeFile(file, text); !written) {
      emitError(getOperation()->getLoc()) << written.error().str();
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }

  std::string *out = nullptr; ///< in place of a file
};

} // namespace

std::unique_ptr<Pass> act::createMemoryReportPass(std::string *out) {
  return std::make_unique<AnalyzeMemory>(out);
}
