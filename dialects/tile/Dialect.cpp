// SPDX-License-Identifier: Apache-2.0
//
// The tile dialect: its registration, and short names for long attributes.
#include "dialects/tile/Dialect.h"
#include "dialects/BytecodeVersion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace act::tile;

#include "dialects/tile/Dialect.cpp.inc"
#include "dialects/tile/Enums.cpp.inc"
#include "dialects/tile/Interfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/tile/Attrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/tile/Types.cpp.inc"

namespace {
/// Layouts are long: each is written once, at the top of the file.
struct Aliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (isa<LayoutAttr>(attr))
      os << "layout";
    else if (auto shared = dyn_cast<SharedLayoutAttr>(attr))
      os << "shared" << shared.getSwizzle() << (shared.getPairs() ? "p" : "")
         << (shared.getTransposed() ? "t" : "");
    else
      return AliasResult::NoAlias;
    return AliasResult::OverridableAlias;
  }
};
} // namespace

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/tile/Ops.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/tile/Types.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/tile/Attrs.cpp.inc"
      >();
  addInterfaces<Aliases, VersionedBytecode>();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
