// SPDX-License-Identifier: Apache-2.0
//
// Where NVIDIA's assembler is installed, and which version it is.
#ifndef ACT_PASSES_TILETONVVM_FINDPTXAS_H
#define ACT_PASSES_TILETONVVM_FINDPTXAS_H
#include "mlir/Support/LLVM.h"
#include "llvm/Support/VersionTuple.h"
#include <optional>
#include <string>

namespace act::tile {

struct Ptxas {
  std::string path;
  llvm::VersionTuple version; ///< 13.3; empty if it does not say

  /// Whether it keeps registers of a running wgmma's operands for that wgmma.
  /// Before 13.3 it could give them to other values.
  bool isRightForWgmma() const { return version >= llvm::VersionTuple(13, 3); }
  /// "ptxas 13.3 (/usr/local/cuda/bin/ptxas)", for messages.
  std::string str() const;
};

/// The newest ptxas of these places; of equal versions, the first:
///
///   $PATH, then $CUDA_HOME/bin (not set: /usr/local/cuda/bin)
///   the Python packages nvidia-cuda-nvcc and triton (ptxas-blackwell, ptxas),
///   in $VIRTUAL_ENV and in build/venv of the working folder
///
/// A process asks each ptxas for its version once.
std::optional<Ptxas> findPtxas();

/// The places that findPtxas searches, for messages.
extern const char ptxasPlaces[];

/// Identifies the file behind links by path, size and time; empty if that
/// fails.
std::string identityOf(llvm::StringRef program);

} // namespace act::tile
#endif
