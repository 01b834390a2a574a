// SPDX-License-Identifier: Apache-2.0
//
// The act dialect: its registration, names of dimensions (#act.dims), and nf4.
#include "dialects/act/Dialect.h"
#include "dialects/BytecodeVersion.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace act;

#include "dialects/act/Dialect.cpp.inc"
#include "dialects/act/Enums.cpp.inc"
#include "dialects/act/Interfaces.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/act/Types.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/act/Attrs.cpp.inc"

namespace {
/// Short names for encodings: a reader sees #bsh, not its definition on every
/// line.
struct Aliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    auto dims = dyn_cast<DimsAttr>(attr);
    if (!dims)
      return AliasResult::NoAlias;
    for (unsigned i = 0, e = dims.getDims().size(); i < e; ++i) {
      if (i)
        os << '_';
      for (char c : dims.getDim(i))
        os << (c == '*' ? 'x' : c);
    }
    return AliasResult::OverridableAlias;
  }
};
} // namespace

void ActDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/act/Ops.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/act/Types.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/act/Attrs.cpp.inc"
      >();
  addInterfaces<Aliases, VersionedBytecode>();
}

Operation *ActDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                           Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || !isa<RankedTensorType>(type))
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}

LogicalResult NF4Type::verify(function_ref<InFlightDiagnostic()> error,
                              int64_t block, bool) {
  if (block < 2 || block > 4096 || (block & (block - 1)))
    return error()
           << "nf4 block size must be a power of two from 2 to 4096, got "
           << block;
  return success();
}

// A monomial in canonical form: integer factor first (when not 1 or alone),
// then letters in alphabetical order.
static std::string canonicalMonomial(int64_t factor,
                                     SmallVector<std::string> letters) {
  llvm::sort(letters);
  std::string text;
  if (factor != 1 || letters.empty())
    text = std::to_string(factor);
  for (const std::string &l : letters)
    text += (text.empty() ? "" : "*") + l;
  return text;
}

Attribute DimsAttr::parse(AsmParser &p, Type) {
  SmallVector<StringAttr> dims;
  auto parseMonomial = [&]() -> ParseResult {
    int64_t factor = 1;
    SmallVector<std::string> letters;
    do {
      int64_t n;
      OptionalParseResult number = p.parseOptionalInteger(n);
      if (number.has_value()) {
        if (failed(*number))
          return failure();
        std::optional<int64_t> product = llvm::checkedMul(factor, n);
        if (n < 1 || !product)
          return p.emitError(p.getCurrentLocation(),
                             "expected a positive dimension factor below 2^63");
        factor = *product;
        continue;
      }
      std::string letter;
      if (p.parseKeywordOrString(&letter))
        return failure();
      letters.push_back(letter);
    } while (succeeded(p.parseOptionalStar()));
    dims.push_back(StringAttr::get(
        p.getContext(), canonicalMonomial(factor, std::move(letters))));
    return success();
  };
  SMLoc loc = p.getCurrentLocation();
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                parseMonomial))
    return {};
  return p.getChecked<DimsAttr>(loc, p.getContext(), dims);
}

void DimsAttr::print(AsmPrinter &p) const {
  p << '<';
  llvm::interleaveComma(getDims(), p, [&](StringAttr d) { p << d.getValue(); });
  p << '>';
}

LogicalResult DimsAttr::verify(function_ref<InFlightDiagnostic()> error,
                               ArrayRef<StringAttr> dims) {
  for (StringAttr d : dims) {
    StringRef rest = d.getValue();
    if (rest.empty())
      return error() << "a dimension's name is empty";
    while (!rest.empty()) {
      auto [term, tail] = rest.split('*');
      bool number = llvm::all_of(term, llvm::isDigit);
      bool letter =
          !term.empty() && (llvm::isAlpha(term[0]) || term[0] == '_') &&
          llvm::all_of(term,
                       [](char c) { return llvm::isAlnum(c) || c == '_'; });
      if (term.empty() || (!number && !letter))
        return error() << "'" << d.getValue()
                       << "' is not a product of letters and positive integers";
      rest = tail;
    }
  }
  return success();
}
