// SPDX-License-Identifier: Apache-2.0
//
// Lowers a kernel's ops on blocks to the code of one thread.
//
// A block has a layout: which register of which lane of which warp holds which
// element. Coordinates are sums, so the part that depends on lane and warp is
// computed once per kernel, and what depends on the register is a constant:
//
//     coordinate(register, thread) = constant(register) + base(thread)
//
// A block value becomes one scalar per register, in the layout's order.
// Everything else (indices, conditions, loops) stays as it is; loops carry
// registers where they carried blocks.
#ifndef ACT_PASSES_TILE_THREADS_THREADBUILDER_H
#define ACT_PASSES_TILE_THREADS_THREADBUILDER_H

#include "act/Layout/Distributed.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "passes/tile/AffineBlocks.h"
#include "passes/tile/threads/SharedPlan.h"
#include <map>

namespace act::tile {

using Registers = llvm::SmallVector<mlir::Value>;
using layout::Coordinates;

class ThreadBuilder {
public:
  ThreadBuilder(mlir::gpu::GPUFuncOp kernel, mlir::OpBuilder &builder,
                int64_t warps, mlir::DataFlowSolver &ranges);

  mlir::OpBuilder &b;
  mlir::IRMapping scalars; // old scalar → new scalar

  // Blocks.
  const Registers &of(mlir::Value block) const {
    return blocks.find(block)->second;
  }
  void set(mlir::Value block, Registers registers) {
    blocks[block] = std::move(registers);
  }
  void set(mlir::Value block, int64_t r, mlir::Value v) {
    blocks.find(block)->second[r] = v;
  }
  void forget(mlir::Value block) { blocks.erase(block); }
  mlir::Value scalar(mlir::Value v) { return scalars.lookupOrDefault(v); }
  static bool isBlock(mlir::Value v) { return isBlock(v.getType()); }
  static bool isBlock(mlir::Type t) {
    return llvm::isa<mlir::RankedTensorType, PendingType>(t);
  }
  /// The block, also of a pending sum.
  static mlir::RankedTensorType blockOf(mlir::Type t) {
    auto pending = llvm::dyn_cast<PendingType>(t);
    return pending ? pending.getBlock() : llvm::cast<mlir::RankedTensorType>(t);
  }
  static mlir::Type element(mlir::Type t) {
    return blockOf(t).getElementType();
  }
  const layout::Distributed &layoutOf(mlir::Type block);
  int64_t registersOf(mlir::Type block) {
    return layoutOf(block).registerCount();
  }

  /// Words of A that a product in flight reads.
  llvm::DenseMap<mlir::Operation *, Registers> readByProduct;

  /// On sm_90 the hardware suspends a warp that waits at an mbarrier.
  bool sleepsAtMbarriers = false;
  /// Whether there is stmatrix.
  bool storesMatrices = false;
  /// Whether several numbers can be added to global memory at once.
  bool addsVectors = false;
  int64_t registersPerSm = 65536;
  /// An i32 that all lanes of a warp have, so that the assembler knows.
  mlir::Value sameInLanes(mlir::Value v);
  /// The number of the warp's group, the same in all its lanes.
  mlir::Value group();

  /// The program's numbers along x and y if the schedule has a raster; null:
  /// the hardware's block numbers.
  mlir::Value program[2];

  // Threads. All i32.
  mlir::Value thread, lane, warp;
  int64_t warps;
  /// While a Role lives, code is for the `warps` warps from `first` on: `warp`
  /// counts among them, blocks are spread over them, and barriers are named
  /// barriers of theirs.
  class Role;
  /// What lane and warp add to the coordinate along `dim`.
  mlir::Value base(mlir::Type block, unsigned dim);
  /// (value / divisor) % extent, at the start of the kernel, once.
  mlir::Value digit(mlir::Value value, int64_t divisor, int64_t extent);
  /// Integer blocks as affine sums, before they are lowered.
  AffineBlocks sums;
  /// An element's type in memory: booleans are bytes, 8-bit floats (unknown to
  /// LLVM) are integers.
  mlir::Type memoryType(mlir::Type element);
  mlir::Value toMemory(mlir::Value element);
  mlir::Value fromMemory(mlir::Value memory, mlir::Type element);
  /// True in the threads that hold the first of several copies of their
  /// elements; null where there are none.
  mlir::Value holdsFirstCopy(mlir::Type block);

  // Constants and arithmetic on i32 and index.
  mlir::Value i32(int64_t v);
  mlir::Value index(int64_t v);
  mlir::Value add(mlir::Value a, mlir::Value c);
  mlir::Value mul(mlir::Value a, int64_t c);

  // Shared memory.
  SharedPlan shared;
  /// The op that is lowered.
  mlir::Operation *current = nullptr;
  /// Scratch for `current`. Ops use it one after the other, overlapping memory
  /// that is dead then; a barrier separates two users.
  mlir::Value scratch(int64_t bytes);
  mlir::Value sharedAddress(int64_t offset);
  void barrier(); ///< of the role's warps, where there are roles
  void barrierOfPart(int64_t parts); ///< of warps equal modulo `parts`
  /// The address of a block in shared memory as a number, divided by `unit`. An
  /// address of shared memory has 18 bits.
  mlir::Value sharedUnits(mlir::Value memory, int64_t unit);
  /// `address` and so many bytes.
  mlir::Value sharedByte(mlir::Value address, int64_t bytes);
  /// The address of an mbarrier among several of 8 bytes, at an index.
  mlir::Value mbarrier(mlir::Value mbarriers, mlir::Value slot);
  /// The kernel copies by tensor maps, which see shared memory their own way.
  bool hasTensorCopies = false;
  /// The address of a tensor map, a parameter behind the kernel's own.
  mlir::Value tensorMap(TensorMapAttr map);
  llvm::ArrayRef<TensorMapAttr> tensorMaps() const { return maps; }
  /// Loop bodies repeat, so earlier code may run after later code.
  void enterLoop() { scratchUsed = true; }

  /// Scalars as one LLVM vector or as 32-bit words, and back. Elements taken
  /// from a vector and put back unchanged are that vector.
  mlir::Value vectorOf(mlir::ValueRange elements);
  /// A block of 16-bit numbers as words of two.
  Registers wordsOf(mlir::Value block);
  void setWords(mlir::Value block, mlir::ValueRange words);
  mlir::Value elementOf(mlir::Value vector, int64_t i);
  /// Two f32 rounded to a vector of bf16 or f16: one instruction and one
  /// register of a tensor-core operand.
  mlir::Value roundedPair(mlir::Type element, mlir::Value first,
                          mlir::Value second);
  /// The bits of `v` as a `type` of equal width.
  mlir::Value bitsAs(mlir::Type type, mlir::Value v);

  /// Inline PTX with side effects; `result` may be null.
  mlir::Value inlinePtx(mlir::Type result, llvm::StringRef text,
                        llvm::StringRef constraints, mlir::ValueRange operands);

  /// Builds `body` for one thread of the role.
  void once(llvm::function_ref<void()> body);
  /// Builds `body` for one lane of each warp, behind all that its lanes have
  /// done.
  void onceInWarp(llvm::function_ref<void()> body);
  /// While it is set, all code is for that thread.
  bool isOneThread = false;
  /// Builds `body` under a condition.
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  mlir::Value isZero(mlir::Value number);

  /// Code that is computed once, before the first op of the kernel.
  mlir::OpBuilder atEntry() const;

  mlir::Location loc;

private:
  mlir::gpu::GPUFuncOp kernel;
  mlir::Operation *entryEnd = nullptr;
  llvm::DenseMap<mlir::Value, Registers> blocks;
  std::map<const void *, layout::Distributed> layouts;
  std::map<std::pair<const void *, unsigned>, mlir::Value> bases;
  llvm::SmallVector<TensorMapAttr> maps;
  llvm::SmallVector<mlir::Value> mapAddresses;
  std::map<std::tuple<const void *, int64_t, int64_t>, mlir::Value> digits;
  mlir::Value sharedBase, groupNumber;
  bool scratchUsed = false;
  int64_t barrierId = 0;
};

class ThreadBuilder::Role {
public:
  Role(ThreadBuilder &t, int64_t first, int64_t warps, int64_t barrierId);
  ~Role();

private:
  ThreadBuilder &t;
  mlir::Value warp;
  int64_t warps;
  std::map<std::pair<const void *, unsigned>, mlir::Value> bases;
};

/// Emits one thread's part of `op` at the builder's position. One function per
/// family, each in the file of its name.
mlir::LogicalResult lowerOp(mlir::Operation *op, ThreadBuilder &t);
/// The parts of `ops`, one after the other.
using Ops = llvm::iterator_range<mlir::Block::iterator>;
mlir::LogicalResult lowerOps(Ops ops, ThreadBuilder &t);
mlir::LogicalResult lowerElementwise(mlir::Operation *op, ThreadBuilder &t);
mlir::LogicalResult lowerControl(mlir::Operation *op, ThreadBuilder &t);
mlir::LogicalResult lowerMemory(mlir::Operation *op, ThreadBuilder &t);
mlir::LogicalResult lowerShape(mlir::Operation *op, ThreadBuilder &t);
mlir::LogicalResult lowerReduce(mlir::Operation *op, ThreadBuilder &t);
mlir::LogicalResult lowerDot(mlir::Operation *op, ThreadBuilder &t);
void lowerMmaSync(DotOp op, ThreadBuilder &t); // a dot with that instruction
void lowerAsyncDot(mlir::Operation *op, ThreadBuilder &t);
mlir::LogicalResult lowerTensorCopy(CopyTensorOp op, ThreadBuilder &t);
mlir::LogicalResult lowerTensorStore(StoreTensorOp op, ThreadBuilder &t);
mlir::LogicalResult lowerReduceBulk(ReduceBulkOp op, ThreadBuilder &t);
void lowerWaitStores(WaitStoresOp op, ThreadBuilder &t);
mlir::LogicalResult lowerDebug(mlir::Operation *op, ThreadBuilder &t);
mlir::LogicalResult lowerShared(mlir::Operation *op, ThreadBuilder &t);
mlir::LogicalResult lowerTurn(mlir::Operation *op, ThreadBuilder &t);
mlir::LogicalResult lowerRoles(mlir::Operation *op, ThreadBuilder &t);

/// Elementwise `op` on the scalars of register `r`.
llvm::SmallVector<mlir::Value> onScalars(mlir::Operation *op, ThreadBuilder &t,
                                         int64_t r);

/// The longest prefix of `ops` that can be done register by register; empty
/// where they do not begin with integers.
Ops registerByRegister(Ops ops);
mlir::LogicalResult lowerByRegister(Ops ops, ThreadBuilder &t);
/// Whether they contain a round of Philox: those are better done register by
/// register.
bool drawNumbers(Ops ops);
/// Moves such ops to the first use of their numbers.
void sinkRandomNumbers(mlir::Operation *kernel);
/// Moves loads from shared memory (except ldmatrix) to the first use of their
/// results, but not past a possible write. `kernel` is lowered to threads
/// already.
void sinkSharedLoads(mlir::Operation *kernel);
/// Reloads values from shared memory inside a branch if the memory cannot have
/// been written since: this shortens their live ranges.
class LoadsAgain {
public:
  /// For the code that `t` has emitted in its current block.
  explicit LoadsAgain(ThreadBuilder &t);
  /// `v`, reloaded at the builder if it was loaded; once until forget().
  mlir::Value of(mlir::Value v);
  void forget() { known.clear(); }

private:
  ThreadBuilder &t;
  mlir::Block *block;
  mlir::Operation *fence = nullptr; // the last op that may write
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

/// Registers of a block of type `from` as the layout of `to` wants them, by
/// shuffles or by way of shared memory where other threads have them.
mlir::FailureOr<Registers> converted(mlir::Operation *op, const Registers &in,
                                     mlir::RankedTensorType from,
                                     mlir::RankedTensorType to,
                                     ThreadBuilder &t);

} // namespace act::tile
#endif
