// SPDX-License-Identifier: Apache-2.0
//
// Compiles a module of kernels from text, loads the shared object from memory
// and runs a kernel's grid on some threads. For tests, the driver tool and
// benchmarks; the real executor is the runtime's.
#ifndef ACT_TEST_PASSES_GROUPSTOHOST_KERNELRUNNER_H
#define ACT_TEST_PASSES_GROUPSTOHOST_KERNELRUNNER_H
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/groups-to-host/HostKernels.h"
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace act::test {

class KernelRunner {
public:
  using Function = void (*)(void *const *, int64_t);

  /// nullptr and a message on stderr when it does not parse or compile.
  static std::unique_ptr<KernelRunner> create(const std::string &text,
                                              const HostOptions &options = {});
  ~KernelRunner();

  const HostCode &code() const { return compiled; }
  const HostKernelInfo *find(const std::string &name) const;
  mlir::ModuleOp module() { return *source; }
  double compileSeconds() const { return seconds; }

  /// Runs every block once; `args` are operands, then fresh results. Blocks
  /// go in reverse order when `reversed`.
  bool run(const std::string &name, std::vector<void *> args,
           unsigned threads = 1, bool reversed = false) const;

private:
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> source;
  HostCode compiled;
  void *library = nullptr;
  int file = -1;
  double seconds = 0;
};

} // namespace act::test
#endif
