// SPDX-License-Identifier: Apache-2.0
// The interface that ops on global memory share.
#ifndef TILE_INTERFACES_TD
#define TILE_INTERFACES_TD
include "mlir/IR/OpBase.td"

def Tile_BlockAccessOpInterface : OpInterface<"BlockAccessOpInterface"> {
  let cppNamespace = "::act::tile";
  let description = [{
    An op that reads or writes one block of a view. Each dimension of the view
    has an index. `extents` gives the block's length along it, or -1 where the
    block has no such dimension. A tensor as an index gathers: its elements are
    the positions, and its length is the extent.
  }];
  let methods = [
    InterfaceMethod<"The view.", "::mlir::Value", "getView">,
    InterfaceMethod<"One per dimension of the view.", "::mlir::Operation::operand_range", "getIndices">,
    InterfaceMethod<"One per dimension of the view; -1 where the block has none.",
      "::llvm::ArrayRef<int64_t>", "getExtents">,
    InterfaceMethod<"The shape of the block.", "::llvm::SmallVector<int64_t>", "getBlockShape", (ins), "", [{
      ::llvm::SmallVector<int64_t> shape;
      for (int64_t extent : $_op.getExtents())
        if (extent != -1)
          shape.push_back(extent);
      return shape;
    }]>,
    InterfaceMethod<"The view's type.", "::act::tile::ViewType", "getViewType", (ins), "", [{
      return ::llvm::cast<::act::tile::ViewType>($_op.getView().getType());
    }]>];
}
#endif
