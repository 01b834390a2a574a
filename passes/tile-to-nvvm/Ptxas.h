// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's assembler, if installed: assembles PTX to a cubin and reports
// registers and spills. Optional; bench/ prints the report.
#ifndef ACT_PASSES_TILETONVVM_PTXAS_H
#define ACT_PASSES_TILETONVVM_PTXAS_H
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
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

/// Assembles one kernel with `ptxas` (empty: the one of findPtxas), or finds in
/// the cache what the same ptxas made of the same text for the same target.
/// ptxas is identified by its file (path, size, time), so it need not run to
/// print its version. Errors are reported at `loc`, and so are warnings C75xx
/// (serialised wgmma, ignored setmaxnreg); failed results are not cached.
mlir::FailureOr<Cubin> assemble(llvm::StringRef ptx, llvm::StringRef chip,
                                mlir::Location loc, const PtxCache &cache,
                                llvm::StringRef ptxas = "");

/// Assembles one kernel. If only a few registers spill, ptxas over-allocated:
/// with a limit slightly below the maximum it plans better. If that spills
/// less, the limit (.maxnreg) is added to the text.
mlir::FailureOr<Cubin> assembleWithFewSpills(std::string &ptx,
                                             llvm::StringRef chip,
                                             mlir::Location loc,
                                             const PtxCache &cache,
                                             llvm::StringRef ptxas = "");

/// Parses the output of `ptxas -v` for one kernel.
void readPtxasReport(llvm::StringRef text, Cubin &cubin);

} // namespace act::tile
#endif
