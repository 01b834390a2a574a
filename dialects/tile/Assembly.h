// SPDX-License-Identifier: Apache-2.0
//
// The syntax of an access to a block, shared by all ops with one:
//
//   %v[%b, %i : 128, %rows : tensor<64xi32>, %k : i32 : 64]
//
// An index that is not of type `index` is followed by its type. For a dimension
// of the block its extent follows, which may have a name (`%i : M = 128`). A
// tensor's extent is its length.
#ifndef ACT_DIALECTS_TILE_ASSEMBLY_H
#define ACT_DIALECTS_TILE_ASSEMBLY_H
#include "dialects/tile/Dialect.h"

namespace act::tile {

/// The contents of an access' brackets.
struct BlockText {
  llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> indices;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<mlir::Attribute> names; // strings, "" where there is none

  /// Adds the names to the parsed op, if there are any.
  void addNames(mlir::OperationState &state) const;
};

mlir::ParseResult parseBlock(mlir::OpAsmParser &p, BlockText &block);
void printBlock(mlir::OpAsmPrinter &p, BlockAccessOpInterface access);

/// Emits "'tile.trans' op FAULT" at the op: if no type can be inferred, the op
/// is wrong, not the use of its result.
mlir::ParseResult emitFault(mlir::OpAsmParser &p, llvm::StringRef op,
                            const llvm::Twine &fault);

/// A number without its type (`pad = 0.5`, `neg_inf`), and the same as an
/// attribute of `type`; null if the type cannot hold it.
mlir::ParseResult parseNumber(mlir::OpAsmParser &p, mlir::Attribute &number);
mlir::TypedAttr numberOfType(mlir::Attribute number, mlir::Type type);
void printNumber(mlir::OpAsmPrinter &p, mlir::TypedAttr number);

} // namespace act::tile
#endif
