// SPDX-License-Identifier: Apache-2.0
//
// A layout is an attribute in the IR and a Distributed in calculations. The
// attribute's verifier has run Distributed::get, so the way back cannot fail.
#include "passes/tile/Layouts.h"

using namespace mlir;
using namespace act;

layout::Distributed tile::distributed(RankedTensorType type) {
  // The type's verifier has checked it.
  return *cast<LayoutAttr>(type.getEncoding()).getDistributed(type.getShape());
}

tile::LayoutAttr tile::attribute(MLIRContext *context,
                                 const layout::Distributed &l) {
  return LayoutAttr::get(context, l);
}

RankedTensorType tile::with(RankedTensorType type,
                            const layout::Distributed &l) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               attribute(type.getContext(), l));
}

// Merging dimensions in row-major order keeps digits: a stride in an outer
// dimension becomes that stride times the inner extents.
RankedTensorType tile::collapsed(RankedTensorType type, unsigned rank) {
  layout::Distributed l = distributed(type);
  size_t merged = l.rank() - rank + 1;
  ArrayRef<int64_t> from = type.getShape();
  SmallVector<int64_t> shape{llvm::product_of(from.take_front(merged))};
  llvm::append_range(shape, from.drop_front(merged));
  auto digits = [&](const layout::Digits &list) {
    layout::Digits out;
    for (const layout::Digit &d : list) {
      int64_t first = 0;
      for (size_t i = 0; i < merged; ++i)
        first = first * from[i] + d.strides[i];
      std::vector<int64_t> strides{first};
      strides.insert(strides.end(), d.strides.begin() + merged,
                     d.strides.end());
      out.push_back({d.extent, strides});
    }
    return out;
  };
  // Each dimension's mixed radix joins one of the merged dimension.
  return with(RankedTensorType::get(shape, type.getElementType()),
              *layout::Distributed::get({shape.begin(), shape.end()},
                                        digits(l.registers()),
                                        digits(l.lanes()), digits(l.warps())));
}

act::layout::Distributed
act::tile::inOrderOf(ArrayRef<int64_t> strides,
                     const act::layout::Distributed &layout) {
  act::layout::Digits registers = layout.registers();
  auto step = [&](const act::layout::Digit &digit) {
    auto d = digit.dimension();
    return d ? strides[*d] * digit.stride()
             : std::numeric_limits<int64_t>::max();
  };
  llvm::stable_sort(registers, [&](const auto &x, const auto &y) {
    return step(x) < step(y);
  });
  return *act::layout::Distributed::get(layout.shape(), registers,
                                        layout.lanes(), layout.warps());
}

int64_t act::tile::bytesOf(Type element) {
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}
