// SPDX-License-Identifier: Apache-2.0
//
// The documentation of act's ops, as mlir-tblgen writes it from the .td files.
// Editors show it; MLIR itself keeps no such text at run time.
#ifndef ACT_TOOLS_ACTLSPSERVER_OPDOCS_H
#define ACT_TOOLS_ACTLSPSERVER_OPDOCS_H
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>

namespace act::lsp {

struct OpDoc {
  std::string summary;
  /// Markdown: summary, assembly format, description, operands and results.
  std::string text;
};

/// By name, such as "act.silu": those of the dialects act and tile.
const std::map<std::string, OpDoc> &opDocs();

/// Parses the output of mlir-tblgen -gen-op-doc.
std::map<std::string, OpDoc> readOpDocs(llvm::StringRef page);

} // namespace act::lsp
#endif
