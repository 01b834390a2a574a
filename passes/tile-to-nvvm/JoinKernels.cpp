// SPDX-License-Identifier: Apache-2.0
//
// A program finds its part by comparing its number. With two instances of A, of
// 8 programs each, and one of B:
//
//     id = block id
//     if (id < 16)  A, as program id % 8, with the arguments of instance id / 8
//     else          B, as program id - 16
//
// All threads of a program take the same branch, so barriers in a part stay
// uniform.
#include "passes/tile-to-nvvm/JoinKernels.h"
#include "act/Artifact/Format.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "passes/tile-to-nvvm/Schedule.h"

using namespace mlir;
using namespace act;
using namespace act::tile;

namespace {

/// The limit of a grid's first dimension.
constexpr int64_t mostPrograms = (int64_t(1) << 31) - 1;

class Joiner {
public:
  Joiner(StringRef name, ArrayRef<KernelPart> parts, ModuleOp into)
      : name(name), parts(parts), into(into), b(into.getContext()) {}

  gpu::GPUModuleOp run();

private:
  bool fits();
  void open();
  void addPart(const KernelPart &part, int64_t begin, bool last);
  bool copySymbols();
  void makeBody(const KernelPart &part, Value program, unsigned argument);
  Value select(const KernelPart &part, unsigned argument, unsigned stride,
               Value number);
  /// Tensor maps are the last arguments of a kernel, and of the joined one.
  static ArrayRef<Attribute> mapsOf(gpu::GPUFuncOp kernel) {
    auto maps = kernel->getAttrOfType<ArrayAttr>(tensorMapsName);
    return maps ? maps.getValue() : ArrayRef<Attribute>();
  }
  static unsigned ownOf(gpu::GPUFuncOp kernel) {
    return kernel.getNumArguments() - mapsOf(kernel).size();
  }

  StringRef name;
  ArrayRef<KernelPart> parts;
  ModuleOp into;
  OpBuilder b;
  gpu::GPUModuleOp module;
  gpu::GPUFuncOp joined;
  gpu::BlockIdOp begins; // a program's number in the joined grid,
  Value program;         // as i32
  int64_t programs = 0, shared = 0;
  unsigned arguments = 0; // of the parts added so far,
  unsigned mapsAt = 0;    // and where the next part's tensor maps are
  uint64_t maps = 0;
};

/// A launch has one block size, and programs of a part are numbered along x
/// only. Persistent kernels have more programs than run at once, and their
/// launch fewer; clusters must not begin in one part and end in the next. Of
/// two parts whose programs wait for each other, each could have begun some
/// programs and keep the others off the card.
bool Joiner::fits() {
  int64_t waiting = 0;
  auto first = blockSize(parts.front().kernel);
  if (failed(first))
    return false;
  for (const KernelPart &part : parts) {
    gpu::GPUFuncOp kernel = part.kernel;
    auto block = blockSize(kernel);
    auto bytes = sharedBytes(kernel);
    auto [x, y, z] = gridSize(kernel);
    maps += part.times * mapsOf(kernel).size();
    auto schedule = kernel->getAttrOfType<ScheduleAttr>(scheduleName);
    if ((schedule && (schedule.getPersistent() || schedule.getCluster() > 1)) ||
        failed(block) || failed(bytes) || *block != *first || x < 1 || y != 1 ||
        z != 1 || part.times > (mostPrograms - programs) / x)
      return false;
    waiting += kernel->hasAttr(atOnceName) ? part.times : 0;
    if (waiting > 1)
      return false;
    programs += part.times * x;
    shared = std::max(shared, *bytes);
  }
  return maps <= artifact::maxTensorMaps;
}

/// Creates the joined kernel with every part's arguments and their attributes.
void Joiner::open() {
  gpu::GPUFuncOp first = parts.front().kernel;
  b.setInsertionPointToEnd(into.getBody());
  module = gpu::GPUModuleOp::create(b, first.getLoc(), name);
  SmallVector<Type> types;
  SmallVector<Attribute> list;
  auto forEach = [&](llvm::function_ref<void(gpu::GPUFuncOp)> instance) {
    for (const KernelPart &part : parts)
      for (int64_t i = 0; i < part.times; ++i)
        instance(part.kernel);
  };
  forEach([&](gpu::GPUFuncOp kernel) {
    for (Attribute map : mapsOf(kernel)) {
      auto own = cast<TensorMapAttr>(map);
      list.push_back(TensorMapAttr::get(
          b.getContext(), types.size() + own.getArgument(), own.getElement(),
          own.getSizes(), own.getStrides(), own.getBox(), own.getSwizzle()));
    }
    llvm::append_range(types,
                       kernel.getArgumentTypes().take_front(ownOf(kernel)));
  });
  mapsAt = types.size();
  types.append(maps, LLVM::LLVMPointerType::get(b.getContext()));
  b.setInsertionPointToEnd(module.getBody());
  joined = gpu::GPUFuncOp::create(b, first.getLoc(), name,
                                  b.getFunctionType(types, {}));
  if (!list.empty())
    joined->setAttr(tensorMapsName, b.getArrayAttr(list));
  if (Attribute schedule = first->getAttr(scheduleName))
    joined->setAttr(scheduleName, schedule);
  joined->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  if (auto block = first.getKnownBlockSizeAttr())
    joined.setKnownBlockSizeAttr(block);
  joined->setAttr(gridName, b.getDenseI64ArrayAttr({programs, 1, 1}));
  joined->setAttr("tile.shared_bytes", b.getI64IntegerAttr(shared));
  // Indices of 32 bits only if all parts allow them.
  if (llvm::all_of(parts, [](const KernelPart &part) {
        gpu::GPUFuncOp kernel = part.kernel;
        return indexBits(kernel) == 32;
      }))
    joined->setAttr(indexBitsName, b.getI32IntegerAttr(32));
  unsigned at = 0;
  forEach([&](gpu::GPUFuncOp kernel) {
    for (unsigned a = 0; a < ownOf(kernel); ++a, ++at)
      if (auto align =
              kernel.getArgAttr(a, LLVM::LLVMDialect::getAlignAttrName()))
        joined.setArgAttr(at, LLVM::LLVMDialect::getAlignAttrName(), align);
  });
}

/// Copies the symbols (shared memory) that the parts use. False if one name has
/// two meanings.
bool Joiner::copySymbols() {
  SymbolTable table(module);
  for (const KernelPart &part : parts) {
    gpu::GPUFuncOp kernel = part.kernel;
    for (Operation &op :
         *kernel->getParentOfType<gpu::GPUModuleOp>().getBody()) {
      auto symbol = dyn_cast<SymbolOpInterface>(op);
      if (!symbol || &op == kernel.getOperation())
        continue;
      if (Operation *known = table.lookup(symbol.getNameAttr())) {
        if (!OperationEquivalence::isEquivalentTo(
                known, &op, OperationEquivalence::IgnoreLocations))
          return false;
        continue;
      }
      table.insert(op.clone(), module.getBody()->begin());
    }
  }
  return true;
}

/// The argument of instance `number` of the part, `stride` behind that of the
/// instance before. Arguments are values, which cannot be indexed, so selects
/// choose.
Value Joiner::select(const KernelPart &part, unsigned argument, unsigned stride,
                     Value number) {
  Location loc = joined.getLoc();
  Value v = joined.getArgument(argument);
  for (int64_t n = 1; n < part.times; ++n) {
    Value is =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number,
                              arith::ConstantIntOp::create(b, loc, n, 32));
    v = arith::SelectOp::create(b, loc, is,
                                joined.getArgument(argument + n * stride), v);
  }
  return v;
}

/// The part's code, for program `local` of all its instances.
void Joiner::makeBody(const KernelPart &part, Value local, unsigned argument) {
  gpu::GPUFuncOp kernel = part.kernel;
  Location loc = kernel.getLoc();
  int64_t grid = gridSize(kernel)[0];
  Value number, own = local;
  if (part.times > 1) {
    Value count = arith::ConstantIntOp::create(b, loc, grid, 32);
    number = arith::DivUIOp::create(b, loc, local, count);
    own = arith::RemUIOp::create(b, loc, local, count);
  }
  // Zero-extended from 32 bits, as a block id is.
  Value id = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), own);
  IRMapping inside;
  const unsigned first = ownOf(kernel), all = kernel.getNumArguments();
  for (unsigned i = 0; i < all; ++i)
    inside.map(kernel.getArgument(i),
               i < first
                   ? select(part, argument + i, first, number)
                   : select(part, mapsAt + i - first, all - first, number));
  for (Operation &op : kernel.getBody().front().without_terminator())
    b.clone(op, inside);
  // The part's block id and grid size: its own number, and a constant.
  Region &region = *b.getInsertionBlock()->getParent();
  region.walk([&](Operation *op) {
    auto block = dyn_cast<gpu::BlockIdOp>(op);
    if (block && block != begins && block.getDimension() == gpu::Dimension::x)
      block.getResult().replaceAllUsesWith(id);
    auto count = dyn_cast<gpu::GridDimOp>(op);
    if (!count || count.getDimension() != gpu::Dimension::x)
      return;
    OpBuilder at(count);
    count.getResult().replaceAllUsesWith(
        arith::ConstantIndexOp::create(at, loc, grid).getResult());
  });
}

/// if (program < end of this part) { part } else { next parts }
void Joiner::addPart(const KernelPart &part, int64_t begin, bool last) {
  gpu::GPUFuncOp kernel = part.kernel;
  Location loc = kernel.getLoc();
  int64_t end = begin + part.times * gridSize(kernel)[0];
  scf::IfOp choice;
  if (!last) {
    Value mine =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, program,
                              arith::ConstantIntOp::create(b, loc, end, 32));
    choice = scf::IfOp::create(b, loc, mine, /*withElseRegion=*/true);
    b.setInsertionPointToStart(choice.thenBlock());
  }
  Value local = begin == 0
                    ? program
                    : Value(arith::SubIOp::create(
                          b, loc, program,
                          arith::ConstantIntOp::create(b, loc, begin, 32)));
  makeBody(part, local, arguments);
  arguments += part.times * ownOf(kernel);
  mapsAt += part.times * mapsOf(kernel).size();
  if (!last)
    b.setInsertionPointToStart(choice.elseBlock());
}

/// Leaves nothing behind if the parts do not fit together.
gpu::GPUModuleOp Joiner::run() {
  if (!fits())
    return nullptr;
  open();
  if (!copySymbols()) {
    module->erase();
    return nullptr;
  }
  Location loc = joined.getLoc();
  b.setInsertionPointToStart(&joined.getBody().front());
  begins = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  program = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), begins);
  int64_t begin = 0;
  for (auto [i, part] : llvm::enumerate(parts)) {
    addPart(part, begin, i + 1 == parts.size());
    begin += part.times * gridSize(part.kernel)[0];
  }
  b.setInsertionPointToEnd(&joined.getBody().front());
  gpu::ReturnOp::create(b, loc);
  return module;
}

} // namespace

gpu::GPUModuleOp tile::joinKernels(StringRef name, ArrayRef<KernelPart> parts,
                                   ModuleOp into) {
  return Joiner(name, parts, into).run();
}
