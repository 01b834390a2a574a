// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/Layouts.h"

using namespace mlir;
using namespace act;

layout::Distributed tile::distributed(RankedTensorType type) {
  auto attr = cast<LayoutAttr>(type.getEncoding());
  auto digits = [](ArrayRef<DigitAttr> list) {
    layout::Digits out;
    for (DigitAttr d : list)
      out.push_back({d.getExtent(), d.getStrides().vec()});
    return out;
  };
  // The type's verifier has checked it.
  return *layout::Distributed::get(
      type.getShape().vec(), digits(attr.getRegisters()),
      digits(attr.getLanes()), digits(attr.getWarps()));
}

tile::LayoutAttr tile::attribute(MLIRContext *context,
                                 const layout::Distributed &l) {
  auto digits = [&](const layout::Digits &list) {
    SmallVector<DigitAttr> out;
    for (const layout::Digit &d : list)
      out.push_back(DigitAttr::get(context, d.extent, d.strides));
    return out;
  };
  return LayoutAttr::get(context, digits(l.registers()), digits(l.lanes()),
                         digits(l.warps()));
}

RankedTensorType tile::with(RankedTensorType type,
                            const layout::Distributed &l) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               attribute(type.getContext(), l));
}

layout::Distributed tile::swapped(const layout::Distributed &l) {
  std::vector<unsigned> order(l.rank());
  for (unsigned d = 0; d < l.rank(); ++d)
    order[d] = d;
  std::swap(order[l.rank() - 1], order[l.rank() - 2]);
  return l.transposed(order);
}
