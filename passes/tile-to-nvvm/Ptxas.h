// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's assembler, where there is one: PTX to a cubin, and what it says of
// registers and spills. Nothing needs it; bench/ reports what it tells.
#ifndef ACT_PASSES_TILETONVVM_PTXAS_H
#define ACT_PASSES_TILETONVVM_PTXAS_H
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include <optional>
#include <string>
#include <vector>

namespace act::tile {
class PtxCache;

struct Cubin {
  std::vector<char> bytes;
  int64_t registers = 0, stackBytes = 0, spillStores = 0, spillLoads = 0;
  int64_t staticSharedBytes = 0, barriers = 0;
  int64_t spilled() const { return spillStores + spillLoads; }
};

/// $PATH, then $CUDA_HOME/bin, /usr/local/cuda/bin and the wheel of Triton in
/// `venv`'s packages (empty: build/venv below the working folder).
std::optional<std::string> findPtxas(llvm::StringRef venv = "");

/// Assembles one kernel, or finds in the cache what the same ptxas made of the
/// same text for the same target: which ptxas it is is told by its file (path,
/// size, time), so that it need not run to say its version. Errors, also at
/// warnings C75xx (wgmma that is made serial, setmaxnreg that is ignored), are
/// at `loc`, and nothing is kept of them.
mlir::FailureOr<Cubin> assemble(llvm::StringRef ptx, llvm::StringRef chip,
                                mlir::Location loc, const PtxCache &cache,
                                llvm::StringRef ptxas = "");

/// Assembles one kernel. Where a few registers spill ptxas has taken more than
/// it has, not the kernel: told of a few less than there are it plans better.
/// The text then says so (.maxnreg), if that spills less.
mlir::FailureOr<Cubin> assembleWithFewSpills(std::string &ptx,
                                             llvm::StringRef chip,
                                             mlir::Location loc,
                                             const PtxCache &cache);

/// The numbers in what `ptxas -v` prints for one kernel.
void readPtxasReport(llvm::StringRef text, Cubin &cubin);

} // namespace act::tile
#endif
