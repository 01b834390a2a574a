// SPDX-License-Identifier: Apache-2.0
#include "passes/module/Sizes.h"
#include "dialects/act/Dialect.h"
#include "dialects/act/Types.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace act {

std::map<std::string, int64_t> givenSizes(ModuleOp module) {
  std::map<std::string, int64_t> sizes;
  AttrTypeWalker walker;
  walker.addWalk([&](RankedTensorType type) {
    for (auto [name, size] : llvm::zip(dimNames(type), type.getShape()))
      if (!ShapedType::isDynamic(size) && !llvm::isDigit(name[0]) &&
          !StringRef(name).contains('*'))
        sizes.insert({name, size});
  });
  module.walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type t : op->getResultTypes())
      walker.walk(t);
  });
  return sizes;
}

/// A size for a letter without one, after `taken` others. The usual letters of
/// act get sizes that fit together; other letters get differing sizes.
static int64_t openSize(ModuleOp module, StringRef letter, unsigned taken) {
  if (auto known = module->getAttrOfType<DictionaryAttr>(openSizesAttr))
    if (auto size = dyn_cast_or_null<IntegerAttr>(known.get(letter));
        size && size.getInt() > 0)
      return size.getInt();
  static const std::map<StringRef, int64_t> usual = {
      {"b", 4},  {"s", 1024}, {"t", 4096}, {"h", 512},  {"a", 16},  {"k", 4},
      {"d", 32}, {"p", 16},   {"f", 2048}, {"V", 8192}, {"P", 1024}};
  auto it = usual.find(letter);
  return it == usual.end() ? int64_t(64) << taken % 6 : it->second;
}

/// A dimension's size from its name, "3*a*d".
static int64_t product(StringRef name,
                       llvm::function_ref<int64_t(StringRef)> sizeOf) {
  int64_t size = 1;
  for (StringRef rest = name; !rest.empty();) {
    auto [term, tail] = rest.split('*');
    int64_t n;
    if (term.getAsInteger(10, n))
      n = sizeOf(term);
    size *= n;
    rest = tail;
  }
  return size;
}

/// Replaces the size of every dimension of every tensor type, by its name and
/// old size. Types are in results, in arguments and in attributes (functions
/// and parameters), so the replacement walks all of these.
static void
replaceSizes(ModuleOp module,
             llvm::function_ref<int64_t(StringRef, int64_t)> sizeOf) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
        SmallVector<int64_t> shape;
        for (auto [name, size] : llvm::zip(dimNames(type), type.getShape()))
          shape.push_back(sizeOf(name, size));
        if (shape == type.getShape())
          return std::nullopt;
        return std::pair(Type(RankedTensorType::get(
                             shape, type.getElementType(), type.getEncoding())),
                         WalkResult::skip());
      });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

LogicalResult resizeLetter(ModuleOp module, StringRef letter, int64_t size) {
  auto values = givenSizes(module);
  auto known = values.find(letter.str());
  if (known == values.end())
    return emitError(module.getLoc())
           << "the module has no dimension " << letter << " with a size";
  replaceSizes(module, [&](StringRef name, int64_t old) {
    for (StringRef term : llvm::split(name, '*'))
      if (term == letter)
        old = old / known->second * size;
    return old;
  });
  return verify(module);
}

/// Rope's tables are half as long as the dimension that it rotates: maps the
/// tables' letter (p) to that dimension's (d).
static std::map<std::string, std::string> halfLetters(ModuleOp module) {
  std::map<std::string, std::string> wholes;
  module.walk([&](RopeOp op) {
    wholes[dimNames(op.getCos().getType()).back()] =
        dimNames(op.getInput().getType()).back();
  });
  return wholes;
}

// Sizes are replaced in types and verified at the end. A size that contradicts
// an op then fails at that op, with the op's own message.
LogicalResult bindLetters(ModuleOp module, StringRef sizes, Unsized unsized) {
  std::map<std::string, int64_t> values;
  SmallVector<StringRef> parts;
  llvm::SplitString(sizes, parts, ",; ");
  for (StringRef part : parts) {
    auto [letter, number] = part.split('=');
    int64_t n;
    if (letter.trim().empty() || number.trim().getAsInteger(10, n) || n < 1)
      return emitError(module.getLoc())
             << "'" << part
             << "' gives no letter a positive size, expected b=1,s=4096";
    values[letter.trim().str()] = n;
  }
  auto fixed = givenSizes(module);
  // People give d; half of it follows.
  auto wholes = halfLetters(module);
  for (const auto &[half, whole] : wholes)
    for (const auto &known : {values, fixed})
      if (auto it = known.find(whole); it != known.end() && !fixed.count(half))
        values.insert({half, it->second / 2});
  for (auto &[letter, size] : values)
    if (auto it = fixed.find(letter); it != fixed.end() && it->second != size)
      return emitError(module.getLoc())
             << "dims gives " << letter << "=" << size << ", but in the module "
             << letter << " has the size " << it->second;
  if (unsized == Unsized::Open)
    values.merge(fixed);
  std::string missing;
  replaceSizes(module, [&](StringRef name, int64_t size) {
    if (!ShapedType::isDynamic(size))
      return size;
    return product(name, [&](StringRef letter) -> int64_t {
      auto it = values.find(letter.str());
      if (it == values.end() && unsized == Unsized::Open)
        it =
            values
                .insert({letter.str(), openSize(module, letter, values.size())})
                .first;
      if (it != values.end())
        return it->second;
      // Ask for d where p is missing, as that is what people know.
      auto whole = wholes.find(letter.str());
      missing = whole == wholes.end() ? letter.str() : whole->second;
      return 1;
    });
  });
  if (!missing.empty())
    return emitError(module.getLoc())
           << "the letter " << missing
           << " has no size; give it one with dims=" << missing << "=N";
  return verify(module);
}

} // namespace act
