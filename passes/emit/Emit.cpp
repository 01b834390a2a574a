// SPDX-License-Identifier: Apache-2.0
//
// --emit: writes the artifact of a model. The module itself stays as it is,
// since emitStep changes a clone.
#include "act/Artifact/Format.h"
#include "passes/emit/EmitStep.h"
#include "passes/emit/Passes.h"
#include "passes/groups-to-host/HostKernels.h"

namespace act {
#define GEN_PASS_DEF_EMITPASS
#include "passes/emit/Passes.h.inc"
} // namespace act

using namespace mlir;
using namespace act;

namespace {

struct Emit : act::impl::EmitPassBase<Emit> {
  using EmitPassBase::EmitPassBase;
  explicit Emit(std::vector<uint8_t> *out) : out(out) {}

  void getDependentDialects(DialectRegistry &registry) const override {
    registerHostKernelDialects(registry);
  }

  void runOnOperation() override {
    if (file.empty() && !out) {
      emitError(getOperation()->getLoc(),
                "emit needs a file to write: --emit=FILE");
      return signalPassFailure();
    }
    OwningOpRef<ModuleOp> copy(getOperation().clone());
    EmitOptions o;
    o.mode = mode;
    o.target = target == "host" ? "" : target.getValue();
    o.cpu = cpu;
    o.cacheDir = cacheDir;
    o.kernelsFile = kernels;
    o.f32Products = f32Products;
    o.joinLaunches = joinLaunches;
    o.schedules = schedules;
    o.drawSchedules = drawSchedules;
    auto cubins = cubinsNamed(cubin);
    if (!cubins) {
      emitError(getOperation()->getLoc())
          << "unknown cubin '" << cubin << "': expected auto, on or off";
      return signalPassFailure();
    }
    o.cubins = *cubins;
    if (o.target.empty() && o.cubins == Cubins::On) {
      emitError(getOperation()->getLoc(),
                "cubin=on applies to a GPU's kernels: expected a target as "
                "well, such as --target=sm_90a");
      return signalPassFailure();
    }
    if (o.target.empty() && !f32Products.empty()) {
      emitError(getOperation()->getLoc(),
                "f32-products applies to a GPU's tensor cores: expected a "
                "target as well, such as --target=sm_80");
      return signalPassFailure();
    }
    auto step = emitStep(*copy, o);
    if (failed(step))
      return signalPassFailure();
    if (auto written = write(*step); !written) {
      emitError(getOperation()->getLoc()) << written.error().str();
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }

  Status write(const artifact::Step &step) {
    if (!out)
      return artifact::writeFile(file, step);
    auto bytes = artifact::write(step);
    if (!bytes)
      return bytes.error();
    *out = std::move(*bytes);
    return ok();
  }

  std::vector<uint8_t> *out = nullptr; ///< in place of a file
};

} // namespace

std::unique_ptr<Pass> act::createEmitPass(std::vector<uint8_t> *out) {
  return std::make_unique<Emit>(out);
}
