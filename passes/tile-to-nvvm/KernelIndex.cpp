// SPDX-License-Identifier: Apache-2.0
//
// Writes the index. Sizes of the launch are known from compiling; ops, shapes
// and costs come with the kernel as `about`, because only the caller knows the
// source.
#include "passes/tile-to-nvvm/KernelIndex.h"
#include "dialects/tile/Dialect.h"
#include "passes/tile-to-nvvm/TensorMaps.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace act;

namespace {

template <typename T> llvm::json::Array numbers(ArrayRef<T> values) {
  llvm::json::Array array;
  for (T value : values)
    array.push_back(int64_t(value));
  return array;
}

std::string printed(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream os(text);
  attribute.print(os);
  return text;
}

/// Numbers, strings and lists in JSON's own types, the rest as text.
llvm::json::Value jsonOf(Attribute attribute) {
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getValue().getSExtValue();
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return real.getValueAsDouble();
  if (auto string = dyn_cast<StringAttr>(attribute))
    return string.getValue().str();
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute))
    return numbers(list.asArrayRef());
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    llvm::json::Array array;
    for (Attribute element : list)
      array.push_back(jsonOf(element));
    return array;
  }
  if (auto words = dyn_cast<DictionaryAttr>(attribute)) {
    llvm::json::Object object;
    for (NamedAttribute word : words)
      object[word.getName().getValue()] = jsonOf(word.getValue());
    return object;
  }
  if (auto schedule = dyn_cast<tile::ScheduleAttr>(attribute)) {
    llvm::json::Object object{{"stages", schedule.getStages()},
                              {"warps", schedule.getWarps()}};
    if (!schedule.getRaster().empty())
      object["raster"] = numbers(schedule.getRaster());
    if (schedule.getInGroups())
      object["groups"] = schedule.getWarps() / tile::ScheduleAttr::groupWarps;
    if (schedule.getEarly())
      object["early"] = true;
    if (schedule.getAhead())
      object["ahead"] = true;
    if (schedule.getA() != tile::FirstOperand::WhereItIs)
      object["a"] = tile::stringifyFirstOperand(schedule.getA());
    if (schedule.getRotated())
      object["rotated"] = true;
    if (schedule.getTurns())
      object["turns"] = true;
    if (schedule.getPersistent())
      object["persistent"] = true;
    if (schedule.getCluster() > 1)
      object["cluster"] = schedule.getCluster();
    if (schedule.getCopyWarps()) {
      llvm::json::Object roles{{"copy", schedule.getCopyWarps()}};
      if (schedule.getStoreWarps())
        roles["store"] = schedule.getStoreWarps();
      object["roles"] = std::move(roles);
    }
    if (schedule.getCopyRegisters())
      object["registers"] =
          llvm::json::Object{{"copy", schedule.getCopyRegisters()},
                             {"compute", schedule.getComputeRegisters()}};
    return object;
  }
  return printed(attribute);
}

void writeKernel(llvm::json::OStream &json, const tile::CompiledKernel &k,
                 const tile::Cubin *cubin) {
  auto about = [&](StringRef word, llvm::json::Value otherwise) {
    const llvm::json::Value *value = k.about.get(word);
    json.attribute(word, value ? *value : otherwise);
  };
  json.object([&] {
    json.attribute("name", k.name);
    json.attribute("file", k.name + ".ptx");
    json.attribute("entry", k.name);
    about("ops", llvm::json::Array());
    about("shapes", llvm::json::Array());
    json.attribute("grid", numbers(ArrayRef<int64_t>(k.grid)));
    json.attribute("block", numbers(ArrayRef<int32_t>(k.block)));
    json.attribute("shared_bytes", k.sharedBytes);
    about("useful_flops", 0);
    about("least_bytes", 0);
    if (k.atOnce)
      json.attribute("at_once", k.atOnce);
    if (!k.tensorMaps.empty())
      json.attribute("tensor_maps", tile::tensorMapsJson(k.tensorMaps));
    json.attribute("block_bytes", k.blockBytes < 0
                                      ? llvm::json::Value(nullptr)
                                      : llvm::json::Value(k.blockBytes));
    about("schedule", llvm::json::Object());
    if (cubin) {
      json.attribute("cubin", k.name + ".cubin");
      json.attribute("registers", cubin->registers);
      json.attribute("spilled_bytes", cubin->spilled());
    }
  });
}

} // namespace

llvm::json::Object tile::describe(gpu::GPUFuncOp kernel) {
  llvm::json::Object about;
  for (StringRef word :
       {"ops", "shapes", "useful_flops", "least_bytes", "schedule"})
    if (Attribute given = kernel->getAttr(("tile." + word).str()))
      about[word] = jsonOf(given);
  return about;
}

std::string tile::kernelIndex(ArrayRef<CompiledKernel> kernels,
                              ArrayRef<Cubin> cubins) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.array([&] {
    for (auto [i, k] : llvm::enumerate(kernels))
      writeKernel(json, k, cubins.empty() ? nullptr : &cubins[i]);
  });
  os << "\n";
  return text;
}
