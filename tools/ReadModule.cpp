// SPDX-License-Identifier: Apache-2.0
#include "tools/ReadModule.h"
#include "compiler/CheckModule.h"
#include "tools/arguments/FileKind.h"

namespace act {

Result<std::unique_ptr<llvm::MemoryBuffer>>
readModule(llvm::StringRef path, const mlir::DialectRegistry &registry) {
  if (std::string folder = tools::ifFolder(path.str(), tools::FileKind::Module);
      !folder.empty())
    return Error{folder, path.str()};
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!file)
    return Error{"cannot be read: " + file.getError().message(), path.str()};
  std::string foreign = tools::ifForeign(path.str(), (*file)->getBuffer(),
                                         tools::FileKind::Module);
  if (!foreign.empty())
    return Error{foreign, (*file)->getBufferIdentifier().str()};
  return checkModule(std::move(*file), registry);
}

} // namespace act
