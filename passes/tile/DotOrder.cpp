// SPDX-License-Identifier: Apache-2.0
#include "passes/tile/DotOrder.h"
#include "dialects/tile/Dialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include <set>

using namespace mlir;
using namespace act::tile;

namespace {

enum class Rank { Product, Needed, Other, LastProduct, Wait, LastWait };

/// Whether a sum is read in its block, not only handed on.
bool isRead(Value v) {
  return llvm::any_of(v.getUsers(), [](Operation *user) {
    if (isa<DotAsyncOp, DotResultOp>(user))
      return isRead(user->getResult(0));
    return !user->hasTrait<OpTrait::IsTerminator>();
  });
}

Rank rankOf(Operation *op) {
  if (auto dot = dyn_cast<DotAsyncOp>(op))
    return isRead(dot.getResult()) ? Rank::Product : Rank::LastProduct;
  if (auto result = dyn_cast<DotResultOp>(op))
    return isRead(result.getResult()) ? Rank::Wait : Rank::LastWait;
  return Rank::Other;
}

/// Whether the product reads memory that this kernel's threads store to.
bool readsStored(DotAsyncOp dot) {
  return llvm::any_of(ValueRange{dot.getA(), dot.getB()}, [](Value v) {
    while (auto view = v.getDefiningOp<SharedViewOp>())
      v = view.getShared();
    return v.getDefiningOp<AllocSharedOp>() != nullptr;
  });
}

class Order {
public:
  explicit Order(Block &block);
  void apply();

private:
  struct Node {
    Operation *op;
    Rank rank;
    unsigned missing = 0; // ops before it that are not placed yet
    SmallVector<unsigned> before = {}, after = {};
  };
  void add(unsigned before, unsigned after) {
    nodes[before].after.push_back(after);
    nodes[after].before.push_back(before);
    ++nodes[after].missing;
  }

  /// What is placed before a node, directly or not.
  llvm::BitVector behind(unsigned of) const;

  Block &block;
  std::vector<Node> nodes;
};

llvm::BitVector Order::behind(unsigned of) const {
  llvm::BitVector found(nodes.size());
  SmallVector<unsigned> work{of};
  while (!work.empty())
    for (unsigned b : nodes[work.pop_back_val()].before)
      if (!found.test(b)) {
        found.set(b);
        work.push_back(b);
      }
  return found;
}

Order::Order(Block &block) : block(block) {
  llvm::DenseMap<Operation *, unsigned> numbers;
  for (Operation &op : block.without_terminator()) {
    numbers[&op] = nodes.size();
    nodes.push_back({&op, rankOf(&op)});
  }
  SmallVector<unsigned> readers; // since the last op that writes
  std::optional<unsigned> writer;
  for (unsigned i = 0; i < nodes.size(); ++i) {
    Operation *op = nodes[i].op;
    llvm::SmallSetVector<unsigned, 8> before;
    op->walk([&](Operation *inner) {
      for (Value v : inner->getOperands())
        if (Operation *def = v.getDefiningOp())
          if (Operation *own = block.findAncestorOpInBlock(*def);
              own && own != op)
            before.insert(numbers.lookup(own));
    });
    auto dot = dyn_cast<DotAsyncOp>(op);
    const bool reads = dot ? readsStored(dot) : isa<LoadOp>(op);
    const bool writes = !reads && !dot && !isMemoryEffectFree(op) &&
                        !isa<AllocSharedOp, DotResultOp>(op);
    if ((reads || writes) && writer)
      before.insert(*writer);
    if (reads)
      readers.push_back(i);
    if (writes) {
      before.insert(readers.begin(), readers.end());
      readers.clear();
      writer = i;
    }
    for (unsigned b : before)
      add(b, i);
  }
  // What sums begin with is put into their registers before any product runs:
  // ptxas lets no other instruction touch accumulators meanwhile.
  for (unsigned begin = 0; begin < nodes.size(); ++begin) {
    if (!isa<BeginDotOp>(nodes[begin].op))
      continue;
    const llvm::BitVector before = behind(begin);
    for (unsigned dot = 0; dot < nodes.size(); ++dot)
      if (nodes[dot].rank == Rank::Product && !before.test(dot))
        add(begin, dot);
  }
  // The first products wait for no other work than theirs.
  for (unsigned dot = 0; dot < nodes.size(); ++dot) {
    if (nodes[dot].rank != Rank::Product)
      continue;
    const llvm::BitVector before = behind(dot);
    auto is = [&](Rank rank) {
      return [&, rank](unsigned i) { return nodes[i].rank == rank; };
    };
    if (llvm::any_of(before.set_bits(), is(Rank::Wait)))
      continue;
    for (unsigned i : before.set_bits())
      if (nodes[i].rank == Rank::Other)
        nodes[i].rank = Rank::Needed;
  }
}

void Order::apply() {
  // By rank, then in their order.
  std::set<std::pair<Rank, unsigned>> ready;
  for (unsigned i = 0; i < nodes.size(); ++i)
    if (!nodes[i].missing)
      ready.insert({nodes[i].rank, i});
  while (!ready.empty()) {
    unsigned next = ready.begin()->second;
    ready.erase(ready.begin());
    nodes[next].op->moveBefore(block.getTerminator());
    for (unsigned i : nodes[next].after)
      if (--nodes[i].missing == 0)
        ready.insert({nodes[i].rank, i});
  }
}

} // namespace

void act::tile::orderDots(Block &block) { Order(block).apply(); }
