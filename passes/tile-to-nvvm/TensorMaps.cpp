// SPDX-License-Identifier: Apache-2.0
#include "passes/tile-to-nvvm/TensorMaps.h"
#include "dialects/tile/Dialect.h"

using namespace mlir;
using namespace act;
using namespace act::tile;

namespace {

/// The number that the CUDA driver has for the type (CUtensorMapDataType).
uint32_t mapType(Type element) {
  if (element.isF16())
    return 6;
  if (element.isF32())
    return 7;
  if (element.isF64())
    return 8;
  if (element.isBF16())
    return 9;
  switch (element.getIntOrFloatBitWidth()) {
  case 8:
    return 0;
  case 16:
    return 1;
  case 32:
    return 3;
  default:
    return 5;
  }
}

artifact::TensorMap tensorMap(TensorMapAttr map) {
  return {uint32_t(map.getArgument()), mapType(map.getElement()),
          map.getSizes().vec(),        map.getStrides().vec(),
          map.getBox().vec(),          uint32_t(map.getSwizzle())};
}

llvm::json::Array numbers(ArrayRef<int64_t> values) {
  llvm::json::Array array;
  for (int64_t value : values)
    array.push_back(value);
  return array;
}

} // namespace

std::vector<artifact::TensorMap> tile::tensorMapsOf(gpu::GPUFuncOp kernel) {
  std::vector<artifact::TensorMap> out;
  if (auto maps = kernel->getAttrOfType<ArrayAttr>(tensorMapsName))
    for (auto map : maps.getAsRange<TensorMapAttr>())
      out.push_back(tensorMap(map));
  return out;
}

llvm::json::Value tile::tensorMapsJson(ArrayRef<artifact::TensorMap> maps) {
  llvm::json::Array array;
  for (const artifact::TensorMap &map : maps)
    array.push_back(llvm::json::Object{
        {"argument", map.argument},
        {"type", map.type},
        {"sizes", numbers(map.sizes)},
        {"strides", numbers(map.strides)},
        {"box", numbers(map.box)},
        {"swizzle", map.swizzle},
    });
  return array;
}

std::optional<std::vector<artifact::TensorMap>>
tile::parseTensorMaps(const llvm::json::Value &json) {
  std::vector<artifact::TensorMap> maps;
  auto list = json.getAsArray();
  for (const llvm::json::Value &value : list ? *list : llvm::json::Array()) {
    const llvm::json::Object *object = value.getAsObject();
    if (!object)
      return std::nullopt;
    artifact::TensorMap map;
    map.argument = uint32_t(object->getInteger("argument").value_or(0));
    map.type = uint32_t(object->getInteger("type").value_or(0));
    map.swizzle = uint32_t(object->getInteger("swizzle").value_or(0));
    for (auto [word, to] : {std::pair("sizes", &map.sizes),
                            {"strides", &map.strides},
                            {"box", &map.box}})
      if (const llvm::json::Array *numbers = object->getArray(word))
        for (const llvm::json::Value &number : *numbers)
          to->push_back(number.getAsInteger().value_or(0));
    if (map.sizes.empty() || map.strides.size() != map.sizes.size() ||
        map.box.size() != map.sizes.size())
      return std::nullopt;
    maps.push_back(std::move(map));
  }
  return maps;
}
