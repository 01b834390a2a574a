// SPDX-License-Identifier: Apache-2.0
// Syntax and verification of attributes.
#include "dialects/tile/ShapeCheck.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace act;
using namespace act::tile;

LogicalResult SharedLayoutAttr::verify(function_ref<InFlightDiagnostic()> error,
                                       int64_t swizzle, bool pairs,
                                       bool transposed) {
  if (!llvm::is_contained({0, 16, 32, 64, 128}, swizzle))
    return error() << "swizzle is " << swizzle
                   << ", expected 0, 16, 32, 64 or 128 bytes";
  if (pairs && swizzle <= 16)
    return error()
           << "swizzle is " << swizzle
           << ", expected 32, 64 or 128 bytes where pairs of chunks are "
              "kept apart";
  return success();
}

/// Bits of an operand's element in tensor cores; 0 if they do not multiply it.
static int64_t multipliedBits(Type element) {
  if (isa<Float8E4M3FNType, Float8E5M2Type>(element) || element.isInteger(8))
    return 8;
  if (isa<BFloat16Type, Float16Type>(element))
    return 16;
  return isa<FloatTF32Type>(element) ? 32 : element.isF64() ? 64 : 0;
}

// The shapes are those of the PTX ISA's tables of mma.sync and wgmma (without
// sparse operands and types below 8 bits).
LogicalResult InstructionAttr::verify(function_ref<InFlightDiagnostic()> error,
                                      InstructionKind kind, int64_t m,
                                      int64_t n, int64_t k, Type element,
                                      int64_t parts) {
  int64_t bits = multipliedBits(element);
  int64_t most = bits ? 256 / bits : 0; // of k
  bool fits = false;
  switch (kind) {
  case InstructionKind::MmaSync:
    fits =
        n == 8 &&
        (bits == 64
             ? m == 8 && k == most
             : m == 16 && (k == most ||
                           (2 * k == most &&
                            !isa<Float8E4M3FNType, Float8E5M2Type>(element))));
    break;
  case InstructionKind::Wgmma:
    fits =
        m == 64 && k == most && bits != 64 && n >= 8 && n <= 256 && n % 8 == 0;
    break;
  }
  if (!bits || !fits)
    return error() << "there is no " << stringifyInstructionKind(kind) << " of "
                   << m << "x" << n << "x" << k << " on " << element;
  if (parts < 1 || parts > 3 || (parts > 1 && !element.isBF16()))
    return error() << "operands in " << parts << " parts of " << element
                   << ", expected 1, or up to 3 of bf16";
  return success();
}

// Every key is optional and may be given in any order: <warps = 8, stages = 3>.
// The printer writes warps, or groups, and stages always.
Attribute ScheduleAttr::parse(AsmParser &p, Type) {
  SMLoc loc = p.getCurrentLocation();
  int64_t warps = 4, stages = 2, copyWarps = 0, storeWarps = 0, cluster = 1;
  int64_t copyRegisters = 0, computeRegisters = 0;
  bool inGroups = false, rotated = false, persistent = false, turns = false;
  bool early = false, ahead = false;
  FirstOperand a = FirstOperand::WhereItIs;
  SmallVector<int64_t> raster;
  // copy = 3 at 40, store = 1, compute at 232
  auto parseRole = [&]() -> ParseResult {
    if (succeeded(p.parseOptionalKeyword("compute")))
      return failure(p.parseKeyword("at") || p.parseInteger(computeRegisters));
    if (succeeded(p.parseOptionalKeyword("store")))
      return failure(p.parseEqual() || p.parseInteger(storeWarps));
    if (p.parseKeyword("copy") || p.parseEqual() || p.parseInteger(copyWarps))
      return failure();
    return failure(succeeded(p.parseOptionalKeyword("at")) &&
                   p.parseInteger(copyRegisters));
  };
  auto parseKey = [&]() -> ParseResult {
    SMLoc keyLoc = p.getCurrentLocation();
    StringRef key;
    if (p.parseKeyword(&key))
      return failure();
    for (auto [name, flag] : {std::pair("rotated", &rotated),
                              {"persistent", &persistent},
                              {"turns", &turns},
                              {"early", &early},
                              {"ahead", &ahead}})
      if (key == name) {
        *flag = true;
        return success();
      }
    if (p.parseEqual())
      return failure();
    if (key == "warps" || key == "groups") {
      if (p.parseInteger(warps))
        return failure();
      inGroups = key == "groups";
      // Too many are for the verifier to reject.
      if (inGroups && warps > -100 && warps < 100)
        warps *= groupWarps;
      return success();
    }
    if (key == "stages")
      return p.parseInteger(stages);
    if (key == "cluster")
      return p.parseInteger(cluster);
    if (key == "a") {
      SMLoc at = p.getCurrentLocation();
      StringRef from;
      if (p.parseKeyword(&from))
        return failure();
      auto known = symbolizeFirstOperand(from);
      if (!known || *known == FirstOperand::WhereItIs)
        return p.emitError(at) << "expected registers or shared, got " << from;
      a = *known;
      return success();
    }
    if (key == "raster")
      return p.parseDimensionList(raster, /*allowDynamic=*/false,
                                  /*withTrailingX=*/false);
    if (key == "roles")
      return p.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseRole);
    return p.emitError(keyLoc) << "expected warps, groups, stages, early, "
                                  "ahead, raster, a, rotated, turns, "
                                  "persistent, cluster or roles, got "
                               << key;
  };
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseKey))
    return {};
  return p.getChecked<ScheduleAttr>(
      loc, p.getContext(), warps, stages, ArrayRef<int64_t>(raster), copyWarps,
      inGroups, copyRegisters, computeRegisters, rotated, persistent, turns,
      storeWarps, cluster, a, early, ahead);
}

void ScheduleAttr::print(AsmPrinter &p) const {
  if (getInGroups())
    p << "<groups = " << getWarps() / groupWarps;
  else
    p << "<warps = " << getWarps();
  p << ", stages = " << getStages();
  if (getEarly())
    p << ", early";
  if (getAhead())
    p << ", ahead";
  if (!getRaster().empty()) {
    p << ", raster = ";
    llvm::interleave(getRaster(), p, "x");
  }
  if (getA() != FirstOperand::WhereItIs)
    p << ", a = " << stringifyFirstOperand(getA());
  if (getRotated())
    p << ", rotated";
  if (getTurns())
    p << ", turns";
  if (getPersistent())
    p << ", persistent";
  if (getCluster() != 1)
    p << ", cluster = " << getCluster();
  if (getCopyWarps()) {
    p << ", roles = {copy = " << getCopyWarps();
    if (getCopyRegisters())
      p << " at " << getCopyRegisters();
    if (getStoreWarps())
      p << ", store = " << getStoreWarps();
    if (getCopyRegisters())
      p << ", compute at " << getComputeRegisters();
    p << '}';
  }
  p << '>';
}

int64_t ScheduleAttr::getEntryRegisters(int64_t file) const {
  return file / getThreads() / 8 * 8;
}

namespace {
/// The parameters of a schedule that may be left out again.
struct Asked {
  explicit Asked(ScheduleAttr s)
      : schedule(s), raster(s.getRaster()), copyWarps(s.getCopyWarps()),
        copyRegisters(s.getCopyRegisters()),
        computeRegisters(s.getComputeRegisters()), rotated(s.getRotated()),
        turns(s.getTurns()), storeWarps(s.getStoreWarps()),
        cluster(s.getCluster()), early(s.getEarly()), ahead(s.getAhead()) {}
  ScheduleAttr get() const {
    return ScheduleAttr::get(
        schedule.getContext(), schedule.getWarps(), schedule.getStages(),
        raster, copyWarps, schedule.getInGroups(), copyRegisters,
        computeRegisters, rotated, schedule.getPersistent(), turns, storeWarps,
        cluster, schedule.getA(), early, ahead);
  }

  ScheduleAttr schedule;
  ArrayRef<int64_t> raster;
  int64_t copyWarps, copyRegisters, computeRegisters;
  bool rotated, turns;
  int64_t storeWarps, cluster;
  bool early, ahead;
};
} // namespace

ScheduleAttr ScheduleAttr::withoutRoles() const {
  Asked asked(*this);
  asked.copyWarps = asked.storeWarps = 0;
  asked.copyRegisters = asked.computeRegisters = 0;
  asked.rotated = asked.turns = false;
  asked.cluster = 1;
  return asked.get();
}

ScheduleAttr ScheduleAttr::withoutStores() const {
  Asked asked(*this);
  asked.copyWarps += std::exchange(asked.storeWarps, 0);
  return asked.get();
}

ScheduleAttr ScheduleAttr::withoutRotation() const {
  Asked asked(*this);
  asked.rotated = false;
  return asked.get();
}

ScheduleAttr ScheduleAttr::withoutTurns() const {
  Asked asked(*this);
  asked.turns = false;
  return asked.get();
}

ScheduleAttr ScheduleAttr::withoutEarly() const {
  Asked asked(*this);
  asked.early = false;
  return asked.get();
}

ScheduleAttr ScheduleAttr::withoutAhead() const {
  Asked asked(*this);
  asked.ahead = false;
  return asked.get();
}

ScheduleAttr ScheduleAttr::withoutRaster() const {
  Asked asked(*this);
  asked.raster = {};
  return asked.get();
}

ScheduleAttr ScheduleAttr::withoutCluster() const {
  Asked asked(*this);
  asked.cluster = 1;
  return asked.get();
}

/// Whether the roles' registers are those of `setmaxnreg`, and a launch has as
/// many: threads begin with equal shares, and a role waits until there are
/// enough, for ever if there never are.
static LogicalResult verifyRegisters(function_ref<InFlightDiagnostic()> error,
                                     int64_t warps, int64_t copyWarps,
                                     int64_t copyRegisters,
                                     int64_t computeRegisters) {
  if (!copyRegisters && !computeRegisters)
    return success();
  for (int64_t registers : {copyRegisters, computeRegisters})
    if (registers < 24 || registers > 256 || registers % 8)
      return error() << "a schedule has roles of " << copyRegisters << " and "
                     << computeRegisters
                     << " registers a thread, expected multiples of 8 from 24 "
                        "to 256 for both";
  constexpr int64_t group = ScheduleAttr::groupWarps, file = 65536;
  if (copyWarps % group)
    return error() << "a schedule has " << copyWarps
                   << " copying and storing warps with registers of their own, "
                      "expected groups of 4";
  int64_t entry = file / (32 * (warps + copyWarps)) / 8 * 8,
          all = entry * (warps + copyWarps),
          taken = copyRegisters * copyWarps + computeRegisters * warps;
  if (taken > all)
    return error() << "a schedule's roles have " << 32 * taken
                   << " registers, but a program of " << warps + copyWarps
                   << " warps begins with " << 32 * all << ", " << entry
                   << " a thread";
  return success();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> error,
                                   int64_t warps, int64_t stages,
                                   ArrayRef<int64_t> raster, int64_t copyWarps,
                                   bool inGroups, int64_t copyRegisters,
                                   int64_t computeRegisters, bool rotated,
                                   bool persistent, bool turns,
                                   int64_t storeWarps, int64_t cluster,
                                   FirstOperand a, bool early, bool ahead) {
  if (warps < 1 || warps > 32)
    return error() << "a schedule has " << warps << " warps, expected 1 to 32";
  if (copyWarps < 0 || copyWarps > 32 - warps - storeWarps)
    return error()
           << "a schedule has " << copyWarps << " warps that copy and " << warps
           << " that compute, expected 0 or more, and at most 32 in all";
  if (storeWarps < 0 || storeWarps > 1 || (storeWarps && !copyWarps))
    return error()
           << "a schedule has " << storeWarps
           << " warps that store, expected 0, or 1 beside some that copy";
  if (stages < 1 || stages > 16)
    return error() << "a schedule has " << stages
                   << " stages, expected 1 to 16";
  auto isCount = [](int64_t n) { return n >= 1 && n <= mostPrograms[0]; };
  if (!raster.empty() && (raster.size() != 2 || !llvm::all_of(raster, isCount)))
    return error() << "a schedule has a raster of " << shapeText(raster)
                   << ", expected rows x programs in a row, 1 or more of each";
  if (rotated && (!inGroups || !copyWarps))
    return error()
           << "a schedule is rotated, expected groups = N, whose products run "
              "beside other work, and roles = {copy = N}, whose rings the next "
              "iteration reads";
  if (early && (stages != 1 || copyWarps))
    return error() << "a schedule is early, expected stages = 1 and no roles: "
                      "each block has one place";
  if (ahead && (inGroups || copyWarps))
    return error() << "a schedule fetches ahead, expected warps = N, which "
                      "read fragments, and no roles";
  if (a != FirstOperand::WhereItIs && !inGroups)
    return error() << "a schedule has a = " << stringifyFirstOperand(a)
                   << ", expected groups = N, whose products may read their "
                      "first operand from there";
  if (turns && (!inGroups || warps <= groupWarps || !copyWarps))
    return error() << "a schedule has turns, expected groups = 2 or more that "
                      "take them, and roles = {copy = N}";
  if (cluster != 1 && cluster != 2 && cluster != 4 && cluster != 8)
    return error() << "a schedule has clusters of " << cluster
                   << " programs, expected 2, 4 or 8";
  if (cluster > 1 && !copyWarps)
    return error() << "a schedule has clusters, expected roles = {copy = N}, "
                      "whose copies the programs share";
  if (!inGroups && (copyRegisters || computeRegisters))
    return error() << "a schedule has registers for roles, expected groups = N "
                      "in place of warps";
  return verifyRegisters(error, warps, copyWarps + storeWarps, copyRegisters,
                         computeRegisters);
}

// 32 * 200/M, 160/N
Attribute GridAttr::parse(AsmParser &p, Type) {
  SMLoc loc = p.getCurrentLocation();
  SmallVector<int64_t> numbers, axes;
  SmallVector<StringAttr> names;
  int64_t axis = 0;
  auto parseFactor = [&]() -> ParseResult {
    StringRef name;
    if (p.parseInteger(numbers.emplace_back()) ||
        (succeeded(p.parseOptionalSlash()) && p.parseKeyword(&name)))
      return failure();
    names.push_back(p.getBuilder().getStringAttr(name));
    axes.push_back(axis);
    return success();
  };
  auto parseAxis = [&]() -> ParseResult {
    do
      if (parseFactor())
        return failure();
    while (succeeded(p.parseOptionalStar()));
    ++axis;
    return success();
  };
  if (p.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseAxis))
    return {};
  return p.getChecked<GridAttr>(loc, p.getContext(), ArrayRef(numbers),
                                ArrayRef(names), ArrayRef(axes));
}

// The inverse of parse(): factors of one axis are joined by a star, axes by a
// comma.
void GridAttr::print(AsmPrinter &p) const {
  p << '<';
  for (auto [i, number] : llvm::enumerate(getNumbers())) {
    if (i)
      p << (getAxes()[i] == getAxes()[i - 1] ? " * " : ", ");
    p << number;
    if (!getNames()[i].empty())
      p << '/' << getNames()[i].getValue();
  }
  p << '>';
}

// The factors of an axis must be adjacent and the axes in order, or the text
// would read back as another attribute.
LogicalResult GridAttr::verify(function_ref<InFlightDiagnostic()> error,
                               ArrayRef<int64_t> numbers,
                               ArrayRef<StringAttr> names,
                               ArrayRef<int64_t> axes) {
  if (numbers.empty() || names.size() != numbers.size() ||
      axes.size() != numbers.size())
    return error() << "a grid has no axis";
  int64_t last = 0;
  for (auto [number, axis] : llvm::zip(numbers, axes)) {
    if (number < 1)
      return error() << "a grid has a factor of " << number
                     << ", expected 1 or more";
    if (axis < last || axis > last + 1)
      return error() << "a grid's axes are not in order";
    last = axis;
  }
  if (axes.front() != 0 || last > 2)
    return error() << "a grid has " << last + 1 << " axes, expected 1 to 3";
  return success();
}

// Empty if a name has no size or an axis overflows; the verifier of the grid
// reports that.
SmallVector<int64_t> GridAttr::resolve(DictionaryAttr sizes) const {
  SmallVector<int64_t> grid{1, 1, 1};
  for (auto [number, name, axis] :
       llvm::zip(getNumbers(), getNames(), getAxes())) {
    int64_t blocks = number;
    if (!name.empty()) {
      int64_t size = blockSizeOf(sizes, name);
      if (size < 1)
        return {};
      blocks = llvm::divideCeilSigned(number, size);
    }
    auto product = llvm::checkedMul(grid[axis], blocks);
    if (!product)
      return {};
    grid[axis] = *product;
  }
  return grid;
}

// What cuTensorMapEncodeTiled of the CUDA driver takes. Verifies that
// - there are one to five dimensions;
// - sizes are 1 to 2^32, strides multiples of 16 bytes below 2^40, the
// innermost
//   one an element;
// - a box has 1 to 256 elements along each dimension, whole 16-byte pieces
// along
//   the innermost one, and there no more bytes than the swizzle has.
LogicalResult TensorMapAttr::verify(function_ref<InFlightDiagnostic()> error,
                                    int64_t argument, Type element,
                                    ArrayRef<int64_t> sizes,
                                    ArrayRef<int64_t> strides,
                                    ArrayRef<int64_t> box, int64_t swizzle) {
  if (argument < 0)
    return error() << "a tensor map is of argument " << argument;
  if (!isElementType(element) || element.isInteger(1))
    return error() << "a tensor map has elements of type " << element;
  if (sizes.empty() || sizes.size() > 5 || strides.size() != sizes.size() ||
      box.size() != sizes.size())
    return error() << "a tensor map has " << sizes.size() << " sizes, "
                   << strides.size() << " strides and a box of " << box.size()
                   << " dimensions, expected 1 to 5 of each";
  for (int64_t size : sizes)
    if (size < 1 || size > int64_t(1) << 32)
      return error() << "a tensor map has a size of " << size
                     << ", expected 1 to 2^32";
  if (strides[0] * 8 != element.getIntOrFloatBitWidth())
    return error() << "a tensor map has an innermost stride of " << strides[0]
                   << " bytes, expected that of an element";
  for (int64_t stride : strides.drop_front())
    if (stride < 16 || stride % 16 || stride >= int64_t(1) << 40)
      return error() << "a tensor map has a stride of " << stride
                     << " bytes, expected a multiple of 16 below 2^40";
  for (int64_t extent : box)
    if (extent < 1 || extent > 256)
      return error() << "a tensor map has a box of " << shapeText(box)
                     << ", expected 1 to 256 along each dimension";
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle))
    return error() << "a tensor map has a swizzle of " << swizzle
                   << ", expected 0, 32, 64 or 128 bytes";
  int64_t bytes = box[0] * element.getIntOrFloatBitWidth() / 8;
  if (bytes % 16 || (swizzle && bytes > swizzle))
    return error() << "a tensor map has a box of " << bytes
                   << " bytes along the innermost dimension, expected a "
                      "multiple of 16, at most the swizzle's";
  return success();
}

// 4:(0, 2)
static DigitAttr parseDigit(AsmParser &p) {
  SMLoc loc = p.getCurrentLocation();
  int64_t extent;
  SmallVector<int64_t> strides;
  if (p.parseInteger(extent) || p.parseColon() ||
      p.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        return p.parseInteger(strides.emplace_back());
      }))
    return {};
  return p.getChecked<DigitAttr>(loc, p.getContext(), extent,
                                 ArrayRef<int64_t>(strides));
}

static void printDigit(AsmPrinter &p, DigitAttr digit) {
  p << digit.getExtent() << ":(";
  llvm::interleave(digit.getStrides(), p, ",");
  p << ')';
}

Attribute DigitAttr::parse(AsmParser &p, Type) {
  if (p.parseLess())
    return {};
  DigitAttr digit = parseDigit(p);
  if (!digit || p.parseGreater())
    return {};
  return digit;
}

void DigitAttr::print(AsmPrinter &p) const {
  p << '<';
  printDigit(p, *this);
  p << '>';
}

LogicalResult DigitAttr::verify(function_ref<InFlightDiagnostic()> error,
                                int64_t extent, ArrayRef<int64_t> strides) {
  if (extent < 1)
    return error() << "a digit has extent " << extent << ", expected 1 or more";
  if (strides.empty())
    return error() << "a digit has no strides, expected one per dimension";
  for (int64_t stride : strides)
    if (stride < 0)
      return error() << "a digit has a stride of " << stride
                     << ", expected 0 or more";
  return success();
}

Attribute LayoutAttr::parse(AsmParser &p, Type) {
  SMLoc loc = p.getCurrentLocation();
  SmallVector<DigitAttr> registers, lanes, warps;
  auto parsePart = [&](StringRef name,
                       SmallVector<DigitAttr> &digits) -> ParseResult {
    auto parseOne = [&]() -> ParseResult {
      digits.push_back(parseDigit(p));
      return success(bool(digits.back()));
    };
    return failure(
        p.parseKeyword(name) || p.parseEqual() ||
        p.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne));
  };
  if (p.parseLess() || parsePart("register", registers) || p.parseComma() ||
      parsePart("lane", lanes) || p.parseComma() || parsePart("warp", warps) ||
      p.parseGreater())
    return {};
  return p.getChecked<LayoutAttr>(
      loc, p.getContext(), ArrayRef<DigitAttr>(registers),
      ArrayRef<DigitAttr>(lanes), ArrayRef<DigitAttr>(warps));
}

void LayoutAttr::print(AsmPrinter &p) const {
  auto part = [&](StringRef name, ArrayRef<DigitAttr> digits) {
    p << name << " = [";
    llvm::interleaveComma(digits, p, [&](DigitAttr d) { printDigit(p, d); });
    p << ']';
  };
  p << '<';
  part("register", getRegisters());
  part(", lane", getLanes());
  part(", warp", getWarps());
  p << '>';
}

static int64_t count(ArrayRef<DigitAttr> digits) {
  int64_t n = 1;
  for (DigitAttr digit : digits)
    n *= digit.getExtent();
  return n;
}

int64_t LayoutAttr::getRank() const {
  return getLanes()[0].getStrides().size();
}
int64_t LayoutAttr::getNumRegisters() const { return count(getRegisters()); }
int64_t LayoutAttr::getNumLanes() const { return count(getLanes()); }
int64_t LayoutAttr::getNumWarps() const { return count(getWarps()); }

// Verifies that
// - all digits have equally many strides;
// - the lanes multiply to 32. So there is a lane digit, on which getRank()
//   relies.
LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> error,
                                 ArrayRef<DigitAttr> registers,
                                 ArrayRef<DigitAttr> lanes,
                                 ArrayRef<DigitAttr> warps) {
  int64_t numLanes = 1;
  for (DigitAttr digit : lanes)
    numLanes = llvm::checkedMul(numLanes, digit.getExtent()).value_or(0);
  if (numLanes != 32)
    return error() << "the lanes of a layout multiply to " << numLanes
                   << ", expected 32";
  size_t rank = lanes[0].getStrides().size();
  for (auto digits : {registers, lanes, warps})
    for (DigitAttr digit : digits)
      if (digit.getStrides().size() != rank)
        return error() << "a digit has " << digit.getStrides().size()
                       << " strides and another " << rank;
  return success();
}

// Verifies that
// - the layout has as many dimensions as the tensor, which is static;
// - every element is held exactly once, copies apart.
LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                           function_ref<InFlightDiagnostic()> error) const {
  if (int64_t(shape.size()) != getRank())
    return error() << "a layout of " << getRank()
                   << " dimensions encodes a tensor of rank " << shape.size();
  if (ShapedType::isDynamicShape(shape))
    return error() << "a layout encodes a tensor of dynamic shape";
  auto layout = getDistributed(shape);
  if (!layout)
    return error() << "layout does not fit a tensor of shape "
                   << shapeText(shape) << ": " << layout.error().message;
  return success();
}

static layout::Digits plain(ArrayRef<DigitAttr> digits) {
  layout::Digits out;
  for (DigitAttr digit : digits)
    out.push_back({digit.getExtent(),
                   {digit.getStrides().begin(), digit.getStrides().end()}});
  return out;
}

act::Result<layout::Distributed>
LayoutAttr::getDistributed(ArrayRef<int64_t> shape) const {
  return layout::Distributed::get({shape.begin(), shape.end()},
                                  plain(getRegisters()), plain(getLanes()),
                                  plain(getWarps()));
}

static SmallVector<DigitAttr> attributes(MLIRContext *context,
                                         const layout::Digits &digits) {
  SmallVector<DigitAttr> out;
  for (const layout::Digit &digit : digits)
    out.push_back(DigitAttr::get(context, digit.extent, digit.strides));
  return out;
}

LayoutAttr LayoutAttr::get(MLIRContext *context,
                           const layout::Distributed &layout) {
  return get(context, attributes(context, layout.registers()),
             attributes(context, layout.lanes()),
             attributes(context, layout.warps()));
}
