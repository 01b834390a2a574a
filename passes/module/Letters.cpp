// SPDX-License-Identifier: Apache-2.0
#include "passes/module/Letters.h"
#include "dialects/act/Types.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace act {

// All names in use, in types, attributes and counts of repeats. Terms of a
// product such as b*s are names, too.
static llvm::StringSet<> lettersOf(ModuleOp module) {
  llvm::StringSet<> letters;
  AttrTypeWalker walker;
  walker.addWalk([&](DimsAttr dims) {
    for (StringAttr dim : dims.getDims()) {
      SmallVector<StringRef> terms;
      dim.getValue().split(terms, '*');
      for (StringRef term : terms)
        letters.insert(term);
    }
  });
  module.walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type t : op->getResultTypes())
      walker.walk(t);
    if (auto repeat = dyn_cast<RepeatOp>(op))
      letters.insert(repeat.getLetter());
  });
  return letters;
}

// The forward and the backward op of a loss each ask for their letters and must
// get the same ones.
std::string newLetter(ModuleOp module, StringRef wanted, int64_t size,
                      StringRef meaning) {
  auto known = module->getAttrOfType<DictionaryAttr>(lettersAttr);
  Builder b(module.getContext());
  Attribute entry =
      b.getArrayAttr({b.getI64IntegerAttr(size), b.getStringAttr(meaning)});
  if (known)
    for (NamedAttribute letter : known)
      if (letter.getValue() == entry)
        return letter.getName().str();
  llvm::StringSet<> taken = lettersOf(module);
  std::string name = wanted.str();
  for (int i = 2; taken.contains(name) || (known && known.contains(name)); ++i)
    name = wanted.str() + std::to_string(i);
  NamedAttrList letters(known);
  letters.append(name, entry);
  module->setAttr(lettersAttr, letters.getDictionary(module.getContext()));
  return name;
}

} // namespace act
