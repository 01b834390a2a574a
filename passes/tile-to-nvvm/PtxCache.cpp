// SPDX-License-Identifier: Apache-2.0
#include "passes/tile-to-nvvm/PtxCache.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "passes/tile-to-nvvm/CompiledKernel.h"
#include "passes/tile-to-nvvm/EmitPtx.h"
#include "passes/tile-to-nvvm/TensorMaps.h"

using namespace mlir;
using namespace act;
using namespace act::tile;

/// Part of every key, so entries of another form are never found.
static constexpr llvm::StringLiteral magic = "ptx 6 ";

/// An assertion's location is part of the message that its PTX prints.
static std::string textOf(gpu::GPUModuleOp module) {
  std::string text = textForKey(module);
  if (StringRef(text).contains("assert")) {
    llvm::raw_string_ostream os(text);
    module->walk([&](Operation *inner) {
      if (isa<AssertOp, cf::AssertOp>(inner))
        os << inner->getLoc();
    });
  }
  return text;
}

std::string PtxCache::key(gpu::GPUModuleOp module,
                          const PtxOptions &options) const {
  return key(textOf(module), options);
}

std::string PtxCache::key(StringRef source, const PtxOptions &options) const {
  return cache.key(
      (magic + options.chip + " " + Twine(options.registers) + "\n" + source)
          .str());
}

// An entry that does not parse counts as missing.
bool PtxCache::find(const std::string &key, CompiledKernel &kernel) const {
  auto entry = cache.find(key, ".ptx");
  if (!entry)
    return false;
  StringRef body = *entry;
  auto [numbers, afterNumbers] = body.split('\n');
  auto [schedule, ptx] = afterNumbers.split('\n');
  SmallVector<StringRef> words;
  numbers.split(words, ' ');
  SmallVector<int64_t> values;
  for (StringRef word : words) {
    int64_t value;
    if (!word.getAsInteger(10, value))
      values.push_back(value);
  }
  auto parsed = llvm::json::parse(schedule);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return false;
  }
  llvm::json::Object *about = parsed->getAsObject();
  llvm::json::Value *maps = about ? about->get("tensor_maps") : nullptr;
  auto tensorMaps =
      maps ? parseTensorMaps(*maps) : std::vector<artifact::TensorMap>();
  if (!about || !about->get("schedule") || !tensorMaps)
    return false;
  // Three sizes of the block, three of the grid, two numbers of bytes, and the
  // programs at once.
  if (values.size() != 9)
    return false;
  for (int i = 0; i < 3; ++i) {
    kernel.block[i] = int32_t(values[i]);
    kernel.grid[i] = values[3 + i];
  }
  kernel.sharedBytes = values[6];
  kernel.blockBytes = values[7];
  kernel.atOnce = values[8];
  kernel.about["schedule"] = std::move(*about->get("schedule"));
  kernel.tensorMaps = std::move(*tensorMaps);
  kernel.ptx = ptx.str();
  return true;
}

void PtxCache::store(const std::string &key, const CompiledKernel &k) const {
  if (key.empty())
    return;
  std::string body;
  llvm::raw_string_ostream os(body);
  os << "block " << k.block[0] << " " << k.block[1] << " " << k.block[2]
     << " grid " << k.grid[0] << " " << k.grid[1] << " " << k.grid[2]
     << " shared " << k.sharedBytes << " bytes " << k.blockBytes << " at_once "
     << k.atOnce << "\n";
  const llvm::json::Value *schedule = k.about.get("schedule");
  llvm::json::Object about{
      {"schedule",
       schedule ? *schedule : llvm::json::Value(llvm::json::Object())}};
  if (!k.tensorMaps.empty())
    about["tensor_maps"] = tensorMapsJson(k.tensorMaps);
  os << llvm::json::Value(std::move(about)) << "\n" << k.ptx;
  cache.store(key, body, ".ptx");
}
