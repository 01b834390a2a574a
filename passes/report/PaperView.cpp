// SPDX-License-Identifier: Apache-2.0
//
// Applies a selection file's counting rules to the ops of one layer in the
// forward pass, before kernels are formed.
#include "passes/report/PaperView.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/Dialect.h"
#include "dialects/act/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/autodiff/Autodiff.h"
#include "passes/module/Entries.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace act;
using report::CountedFigure;
using report::CountRule;
using symbolic::Polynomial;

namespace {

/// The value behind views and act.kept.
Value rootOf(Value v) {
  while (Operation *def = v.getDefiningOp()) {
    if (!isa<ReshapeOp, TransposeOp, KeptOp>(def))
      break;
    v = def->getOperand(0);
  }
  return v;
}

StringRef opName(Operation *op) { return op->getName().stripDialect(); }

/// The first parameter that an op reads, or "".
StringRef parameterOf(Operation *op) {
  for (Value v : op->getOperands())
    if (auto param = v.getDefiningOp<ParamOp>())
      return param.getName();
  return "";
}

/// The name that the memory report gives to the value's buffer, so that the two
/// can be compared.
std::string nameOf(Value root) {
  Operation *def = root.getDefiningOp();
  if (!def)
    return "input";
  StringRef parameter = parameterOf(def);
  std::string name = isa<LinearOp>(def) && !parameter.empty()
                         ? parameter.str()
                         : opName(def).str();
  unsigned result = cast<OpResult>(root).getResultNumber();
  if (isa<SplitOp>(def))
    return nameOf(rootOf(def->getOperand(0))) + "." + std::to_string(result);
  return result ? name + ".statistic" : name;
}

/// Elements in letters, without bytes: a publication counts its own bytes per
/// element.
Polynomial elements(RankedTensorType type) {
  Polynomial product = Polynomial::constant(1);
  for (const std::string &name : dimNames(type))
    if (auto dim = Polynomial::parse(name))
      product *= *dim;
  return product;
}

/// A value that may be counted. `mask`: a dropout's mask, which is not a value
/// in the IR.
struct Item {
  Value root;
  bool mask = false;
  RankedTensorType type;
  std::string name;
  bool operator==(const Item &o) const {
    return root == o.root && mask == o.mask;
  }
};

/// The ops of one layer, and the values that it saves: the results of
/// @layer.fwd after those of the layer itself.
class Layer {
public:
  explicit Layer(func::FuncOp f, unsigned results) : body(f.getBody().front()) {
    for (Operation &op : body)
      ops.push_back(&op);
    ValueRange returned = body.getTerminator()->getOperands();
    for (Value v :
         returned.drop_front(std::min<size_t>(results, returned.size())))
      if (isa<RankedTensorType>(v.getType()))
        saved.insert(rootOf(v));
  }

  bool has(StringRef op) const {
    return llvm::any_of(ops, [&](Operation *o) { return opName(o) == op; });
  }
  bool hasAll(ArrayRef<std::string> list) const {
    return llvm::all_of(list, [&](auto &op) { return has(op); });
  }
  bool fits(const report::PublishedFigure &f) const {
    return hasAll(f.needs) &&
           llvm::none_of(f.lacks, [&](auto &op) { return has(op); });
  }
  CountedFigure count(const report::Selection &selection,
                      const report::PublishedFigure &f) const;
  bool savesAnything() const { return !saved.empty(); }

private:
  SmallVector<Item> itemsOf(const CountRule &rule) const;
  void add(SmallVectorImpl<Item> &items, const CountRule &rule,
           Item item) const;
  /// Saved, or a part of a saved value.
  bool isSaved(Value root) const {
    auto split = root.getDefiningOp<SplitOp>();
    return saved.contains(root) ||
           (split && saved.contains(rootOf(split.getInput())));
  }

  Block &body;
  SmallVector<Operation *> ops;
  llvm::SetVector<Value> saved;
};

/// Adds an item unless the rule asks for another maker. For a dropout's mask,
/// the maker is that of the value that it is applied to.
void Layer::add(SmallVectorImpl<Item> &items, const CountRule &rule,
                Item item) const {
  if (!rule.madeBy.empty()) {
    Value of = item.mask ? rootOf(item.root.getDefiningOp()->getOperand(0))
                         : item.root;
    Operation *maker = of.getDefiningOp();
    if (!maker || !llvm::is_contained(rule.madeBy, opName(maker)))
      return;
  }
  items.push_back(std::move(item));
}

/// The items that a rule is about. Values are taken behind views, since a
/// publication counts a tensor once under whatever shape it is read.
SmallVector<Item> Layer::itemsOf(const CountRule &rule) const {
  SmallVector<Item> items;
  auto value = [&](Value v) {
    Value root = rootOf(v);
    if (auto type = dyn_cast<RankedTensorType>(root.getType()))
      add(items, rule, {root, false, type, nameOf(root)});
  };
  using What = CountRule::What;
  if (rule.what == What::Input || rule.what == What::Output) {
    if (rule.what == What::Output)
      value(body.getTerminator()->getOperand(0));
    else // after the layer's number
      for (Value argument : body.getArguments().take_front(2))
        if (isa<RankedTensorType>(argument.getType())) {
          value(argument);
          break;
        }
    return items;
  }
  for (Operation *op : ops) {
    if (opName(op) != rule.op ||
        (!rule.parameter.empty() && parameterOf(op) != rule.parameter))
      continue;
    switch (rule.what) {
    case What::Operand:
      if (rule.index < op->getNumOperands() &&
          !op->getOperand(rule.index).getDefiningOp<ParamOp>())
        value(op->getOperand(rule.index));
      break;
    case What::Result:
      if (rule.index < op->getNumResults())
        value(op->getResult(rule.index));
      break;
    case What::Mask:
      if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType()))
        add(items, rule,
            {op->getResult(0), true, type, opName(op).str() + ".mask"});
      break;
    case What::Rows:
      if (op->getNumResults() > 1)
        value(op->getResult(1));
      else if (auto type =
                   dyn_cast<RankedTensorType>(op->getResult(0).getType()))
        add(items, rule,
            {op->getResult(0), true, dropBack(type, 1),
             opName(op).str() + ".rows"});
      break;
    default:
      break;
    }
  }
  return items;
}

/// Applies the rules in order. The first rule that is about an item decides on
/// it, so a special rule stands before a general one, and a rule of 0 bytes
/// leaves an item out. `adds` and `omits` are the differences from what act
/// saves.
CountedFigure Layer::count(const report::Selection &selection,
                           const report::PublishedFigure &f) const {
  CountedFigure out;
  out.figure = f;
  SmallVector<Item> decided;
  llvm::DenseSet<Value> counted;
  std::map<const void *, std::string> leftOut; // why
  for (const CountRule &rule : f.counts)
    for (Item &item : itemsOf(rule)) {
      if (llvm::is_contained(decided, item))
        continue;
      decided.push_back(item);
      if (rule.bytes == 0) {
        leftOut[item.root.getAsOpaquePointer()] = rule.why;
        continue;
      }
      Polynomial bytes = rule.bytes * elements(item.type);
      for (auto &[letter, other] : rule.letters)
        if (auto value = Polynomial::parse(other))
          bytes = bytes.substitute(letter, *value);
      out.counted += bytes;
      out.parts.push_back({item.name, rule.why, bytes});
      if (!item.mask)
        counted.insert(item.root);
      if (item.mask || !isSaved(item.root))
        out.adds.push_back(out.parts.back());
    }
  if (f.plus) {
    out.counted += Polynomial::constant(f.plus);
    out.parts.push_back({"", "of no value", Polynomial::constant(f.plus)});
  }
  out.counted = selection.inItsLetters(out.counted);
  // What act saves and the publication does not count. Of a value that was
  // split, the parts may be counted in its place.
  for (Value root : saved) {
    bool part = llvm::any_of(counted, [&](Value v) {
      auto split = v.getDefiningOp<SplitOp>();
      return split && rootOf(split.getInput()) == root;
    });
    if (part || counted.contains(root))
      continue;
    auto type = cast<RankedTensorType>(root.getType());
    int64_t each = byteSize(type) / std::max<int64_t>(1, elementCount(type));
    out.omits.push_back({nameOf(root), leftOut[root.getAsOpaquePointer()],
                         each * elements(type)});
  }
  return out;
}

FailureOr<std::vector<report::Selection>> chosen(ModuleOp module,
                                                 StringRef selection) {
  if (selection.empty())
    return report::knownSelections();
  std::string known;
  for (const report::Selection &s : report::knownSelections()) {
    if (selection == s.name)
      return std::vector{s};
    known += (known.empty() ? "" : ", ") + s.name;
  }
  auto file = llvm::MemoryBuffer::getFile(selection);
  if (!file)
    return emitError(module.getLoc())
           << "selection '" << selection << "' is none of " << known
           << ", and no file: " << file.getError().message();
  auto parsed =
      report::parseSelection((*file)->getBuffer().str(), selection.str());
  if (!parsed)
    return emitError(module.getLoc()) << parsed.error().str();
  return std::vector{*parsed};
}

} // namespace

FailureOr<report::PaperReport> act::describePaper(ModuleOp module,
                                                  StringRef selection,
                                                  report::MemoryReport right) {
  auto selections = chosen(module, selection);
  if (failed(selections))
    return failure();
  auto forward = module.lookupSymbol<func::FuncOp>(forwardName);
  if (!forward || kernelsFormed(module))
    return emitError(module.getLoc())
           << "view paper counts ops of @forward before kernels are formed";
  if (returnsLoss(module) && !module.lookupSymbol(gradName) &&
      failed(differentiate(module)))
    return failure();
  // A figure is about one layer: the first that @forward repeats. In
  // @layer.fwd the values that act saves are results.
  func::FuncOp layer = forward;
  forward.walk([&](RepeatOp op) {
    if (auto f = module.lookupSymbol<func::FuncOp>(op.getCallee());
        f && layer == forward)
      layer = f;
  });
  unsigned results = layer.getNumResults();
  if (auto f =
          module.lookupSymbol<func::FuncOp>((layer.getName() + ".fwd").str()))
    layer = f;
  Layer counted(layer, results);

  report::PaperReport out;
  out.omitsKnown = counted.savesAnything();
  if (auto policy = module->getAttrOfType<StringAttr>(rematAttr))
    out.policy = policy.getValue().str();
  for (report::Selection &s : *selections) {
    report::PaperReport::Publication p;
    for (const report::PublishedFigure &f : s.figures)
      if (counted.fits(f))
        p.figures.push_back(counted.count(s, f));
    llvm::erase_if(s.readings, [&](const report::Reading &r) {
      return !counted.hasAll(r.needs);
    });
    p.selection = std::move(s);
    if (!p.figures.empty())
      out.publications.push_back(std::move(p));
  }
  if (out.publications.empty())
    return emitError(module.getLoc())
           << "the module has no layer that a figure of "
           << (selection.empty() ? "a known publication" : selection)
           << " describes";
  out.right = std::move(right);
  return out;
}
