// SPDX-License-Identifier: Apache-2.0
#include "passes/act/Complete.h"
#include "passes/act/Differentiate.h"
#include "passes/act/Entries.h"
#include "passes/act/FormKernels.h"
#include "passes/act/WriteStep.h"
#include "dialects/act/Types.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Verifier.h"
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

/// Letters that some type has sizes for.
static std::map<std::string, int64_t> givenSizes(ModuleOp module) {
  std::map<std::string, int64_t> sizes;
  AttrTypeWalker walker;
  walker.addWalk([&](RankedTensorType type) {
    for (auto [name, size] : llvm::zip(dimNames(type), type.getShape()))
      if (!ShapedType::isDynamic(size) && !llvm::isDigit(name[0]) && !StringRef(name).contains('*'))
        sizes.insert({name, size});
  });
  module.walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type t : op->getResultTypes())
      walker.walk(t);
  });
  return sizes;
}

/// A size for a letter that has none, `taken` others before it: letters that are
/// used in the same way everywhere in act fit each other, others differ from each
/// other.
static int64_t openSize(ModuleOp module, StringRef letter, unsigned taken) {
  if (auto known = module->getAttrOfType<DictionaryAttr>(openSizesAttr))
    if (auto size = dyn_cast_or_null<IntegerAttr>(known.get(letter));
        size && size.getInt() > 0)
      return size.getInt();
  static const std::map<StringRef, int64_t> usual = {
      {"b", 4},  {"s", 1024}, {"t", 4096}, {"h", 512},   {"a", 16}, {"k", 4},
      {"d", 32}, {"p", 16},   {"f", 2048}, {"V", 8192}, {"P", 1024}};
  auto it = usual.find(letter);
  return it == usual.end() ? int64_t(64) << taken % 6 : it->second;
}

LogicalResult bindLetters(ModuleOp module, StringRef sizes, Unsized unsized) {
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
  if (unsized == Unsized::Open)
    values.merge(givenSizes(module));
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
          if (it == values.end() && unsized == Unsized::Open)
            it = values.insert({term.str(), openSize(module, term, values.size())}).first;
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
  return verify(module);
}

} // namespace act
