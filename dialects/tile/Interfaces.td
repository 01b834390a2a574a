// SPDX-License-Identifier: Apache-2.0
// What ops answer about global memory, and about the layouts of their blocks.
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
    InterfaceMethod<"The value that is read or written; none where it stays in shared memory.",
      "::mlir::Value", "getAccessed">,
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

def Tile_LayoutOpInterface : OpInterface<"LayoutOpInterface"> {
  let cppNamespace = "::act::tile";
  let description = [{
    An op that says how the layouts of its operands and results depend on each
    other. All its results have one layout. An op whose blocks all have one layout
    (`hasOneLayout`) does not need the interface.

    Layouts are chosen in two steps. First they spread as suggestions: an op
    hands on the layout of one of its blocks to the others, in either direction.
    Then every op gets what it requires: if its results decide, operands are
    converted; if its operands decide, results are.
  }];
  let methods = [
    InterfaceMethod<"The layout of this operand where the results have `results`; none if it does not follow.",
      "::std::optional<::act::layout::Distributed>", "operandLayout",
      (ins "::mlir::OpOperand &":$operand, "const ::act::layout::Distributed &":$results), "",
      [{ return std::nullopt; }]>,
    InterfaceMethod<"The layout of the results where this operand has `layout`; none if it does not follow.",
      "::std::optional<::act::layout::Distributed>", "resultLayout",
      (ins "::mlir::OpOperand &":$operand, "const ::act::layout::Distributed &":$layout), "",
      [{ return std::nullopt; }]>,
    InterfaceMethod<"Whether the operands decide. They then have one layout, which the results follow.",
      "bool", "operandsDecide", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{Whether this operand takes the op's suggestion. If not, it only gets what the op requires,
      by a conversion.}], "bool", "takesSuggestion", (ins "::mlir::OpOperand &":$operand), "",
      [{ return true; }]>];
}
#endif
