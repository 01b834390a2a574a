// SPDX-License-Identifier: Apache-2.0
#include "passes/act/Complete.h"
#include "passes/act/Differentiate.h"
#include "passes/act/Entries.h"
#include "passes/act/FormKernels.h"
#include "passes/act/WriteStep.h"
#include "dialects/act/Types.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;

namespace act {

bool returnsLoss(ModuleOp module) {
  auto f = module.lookupSymbol<func::FuncOp>(forwardName);
  auto type = f && f.getNumResults() ? dyn_cast<RankedTensorType>(f.getResultTypes()[0])
                                     : RankedTensorType();
  return type && type.getRank() == 0 && isa<FloatType>(type.getElementType());
}

bool lacksGradient(ModuleOp module) {
  return kernelsFormed(module) && returnsLoss(module) && !module.lookupSymbol(gradName) &&
         llvm::any_of(module.getOps<ParameterOp>(), [](ParameterOp p) { return !p.getFrozen(); });
}

LogicalResult completeModule(ModuleOp module) {
  if (failed(checkEntries(module)))
    return failure();
  if (!kernelsFormed(module) && returnsLoss(module)) {
    bool trains = llvm::any_of(module.getOps<ParameterOp>(),
                               [](ParameterOp p) { return !p.getFrozen(); });
    if (trains && !module.lookupSymbol(gradName) && failed(differentiate(module)))
      return failure();
    if (module.lookupSymbol(gradName) && !module.lookupSymbol(stepName) &&
        failed(writeStep(module, StepOptions())))
      return failure();
  }
  return formKernels(module);
}

std::string mainFunction(ModuleOp module) {
  for (StringRef name : {StringRef(stepName), StringRef(gradName), StringRef(forwardName)})
    if (module.lookupSymbol(name))
      return name.str();
  return forwardName.str();
}

LogicalResult bindLetters(ModuleOp module, StringRef sizes) {
  std::map<std::string, int64_t> values;
  SmallVector<StringRef> parts;
  llvm::SplitString(sizes, parts, ",; ");
  for (StringRef part : parts) {
    auto [letter, number] = part.split('=');
    int64_t n;
    if (letter.trim().empty() || number.trim().getAsInteger(10, n) || n < 1)
      return module.emitError() << "'" << part << "' gives no letter a positive size; expected b=1,s=4096";
    values[letter.trim().str()] = n;
  }
  std::string missing;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
    if (type.hasStaticShape())
      return std::nullopt;
    SmallVector<int64_t> shape(type.getShape());
    auto names = dimNames(type);
    for (auto [i, d] : llvm::enumerate(shape)) {
      if (!ShapedType::isDynamic(d))
        continue;
      int64_t product = 1;
      StringRef rest = names[i];
      while (!rest.empty()) {
        auto [term, tail] = rest.split('*');
        int64_t n;
        if (term.getAsInteger(10, n)) {
          auto it = values.find(term.str());
          if (it == values.end()) {
            missing = term.str();
            return std::nullopt;
          }
          n = it->second;
        }
        product *= n;
        rest = tail;
      }
      d = product;
    }
    return std::pair(Type(RankedTensorType::get(shape, type.getElementType(), type.getEncoding())),
                     WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  if (!missing.empty())
    return module.emitError() << "the letter " << missing
                              << " has no size; give it one with dims=" << missing << "=N";
  return success();
}

} // namespace act
