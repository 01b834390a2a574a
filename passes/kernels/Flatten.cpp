// SPDX-License-Identifier: Apache-2.0
//
// Writes a step out: repeats and calls become launches, values become places,
// and buffers get lifetimes. This is the only file that expands a repeat for
// memory. It gives no buffer an offset; lib/Plan does that.
#include "passes/kernels/Flatten.h"
#include "dialects/act/AttrNames.h"
#include "dialects/act/Flops.h"
#include "dialects/act/LayerName.h"
#include "dialects/act/Types.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace act;

unsigned Program::root(unsigned b) const {
  while (true) {
    if (buffers[b].parent)
      b = *buffers[b].parent;
    else if (buffers[b].reuses)
      b = *buffers[b].reuses;
    else
      return b;
  }
}

bool act::isSlice(Operation *op) {
  auto split = dyn_cast<SplitOp>(op);
  if (!split)
    return false;
  RankedTensorType input = split.getInput().getType();
  if (input.getRank() != 1 || !input.hasStaticShape() ||
      isa<NF4Type>(input.getElementType()))
    return false;
  int64_t offset = 0;
  for (Value part : split.getParts()) {
    if (offset % arenaAlignment)
      return false;
    offset += byteSize(cast<RankedTensorType>(part.getType()));
  }
  return true;
}

// A part lies in its parent, and a buffer that reuses memory in its owner, so
// only roots count. Adding up the changes at births and deaths takes time
// linear in buffers and launches, where a sum per launch would be quadratic.
std::vector<int64_t> Program::liveBytes(int64_t alignment, bool onHost) const {
  std::vector<int64_t> change(launches.size() + 1);
  for (const FlatBuffer &b : buffers) {
    if (b.parent || b.reuses || b.onHost != onHost)
      continue;
    int64_t bytes = llvm::alignTo(b.bytes, alignment);
    change[b.first] += bytes;
    change[b.last + 1] -= bytes;
  }
  std::vector<int64_t> live(launches.size());
  int64_t sum = 0;
  for (size_t t = 0; t < launches.size(); ++t)
    live[t] = sum += change[t];
  return live;
}

namespace {

// The written-out program must fit in memory: four million launches take a few
// gigabytes. Llama-3.1-405B with a hundred micro-batches has one million.
constexpr uint64_t launchLimit = 1 << 22;
// Bounds the time of functions whose ops make no launches.
constexpr uint64_t visitLimit = 1 << 26;
constexpr unsigned depthLimit = 256; // of nested repeats and calls

/// A value while flattening: a place, or the slices of a stack.
struct Slot {
  Place place;
  std::vector<Place> slices;
  bool stacked = false;
  int64_t from = 0; // the iteration of the first slice
};

/// Walks the function as the step runs it. `program` grows launch by launch; a
/// buffer is born with the launch that makes it, and `uses` collects who reads
/// it. Lifetimes and reuse need all uses, so `settle` derives them at the end.
class Flattener {
public:
  Flattener(ModuleOp module) : symbols(module) {}
  FailureOr<Program> run(StringRef name);

private:
  using Environment = DenseMap<Value, Slot>;

  LogicalResult body(func::FuncOp f, Environment &env, int layer,
                     bool recomputed, SmallVectorImpl<Slot> &results);
  LogicalResult group(GroupOp op, Environment &env, int layer, bool recomputed);
  LogicalResult repeat(RepeatOp op, Environment &env, int layer,
                       bool recomputed);
  FailureOr<unsigned> parameter(Operation *at, StringRef name, int layer);
  unsigned newBuffer(Value origin, StringRef name, int layer) {
    return newBuffer(origin, cast<RankedTensorType>(origin.getType()), name,
                     layer);
  }
  unsigned newBuffer(Value origin, RankedTensorType type, StringRef name,
                     int layer);
  void adoptNames(const Place &place, RankedTensorType type);
  void settle();

  void use(const Place &place) {
    if (place.kind == Place::Buffer)
      uses.push_back({place.index, unsigned(program.launches.size())});
  }

  SymbolTable symbols;
  Program program;
  SmallVector<func::FuncOp> callers; // of the current function
  unsigned depth = 0;                // of nested functions
  uint64_t visits = 0;               // ops so far
  int64_t microBatch = 0;            // the current one
  int currentRun = -1;               // into Program::runs
  int64_t currentSlice = 0;          // its current layer
  unsigned bodies = 0, currentBody = 0;
  std::map<std::pair<std::string, int64_t>, unsigned> parameterIndex;
  std::vector<std::pair<unsigned, unsigned>> uses; // buffer, launch
};

// The buffer dies with its own launch unless `uses` says otherwise: a result
// that nobody reads is still written.
unsigned Flattener::newBuffer(Value origin, RankedTensorType type,
                              StringRef name, int layer) {
  FlatBuffer b(origin);
  b.name = name.str();
  b.type = type;
  b.bytes = byteSize(type);
  b.first = b.last = program.launches.size();
  b.layer = layer;
  b.run = currentRun;
  b.slice = currentSlice;
  b.backward = program.backward.has_value();
  program.buffers.push_back(b);
  return program.buffers.size() - 1;
}

/// The product of the numbers in the dimension names: 12 for [3, 4*h], 1 for
/// [b, s].
static int64_t numberPart(RankedTensorType type) {
  int64_t product = 1;
  for (const std::string &name : dimNames(type)) {
    int64_t n;
    if (!StringRef(name).split('*').first.getAsInteger(10, n))
      product *= n;
  }
  return product;
}

// A buffer made in chunks has a number of chunks in its type. If it is then
// read as a tensor with only letters, formulas use that type: the bytes of
// tensor<4x1024x512> with the names [4, c, h] hold for four chunks alone, those
// of the same memory read as [b, s, h] for all sizes.
void Flattener::adoptNames(const Place &place, RankedTensorType type) {
  if (place.kind != Place::Buffer)
    return;
  FlatBuffer &b = program.buffers[place.index];
  if (!place.offset && b.bytes == byteSize(type) &&
      numberPart(type) < numberPart(b.type))
    b.type = type;
}

// The tensor of parameter `name` that layer `layer` reads. A parameter outside
// layers is one tensor wherever it is read, also inside a repeat.
FailureOr<unsigned> Flattener::parameter(Operation *at, StringRef name,
                                         int layer) {
  auto op = symbols.lookup<ParameterOp>(name);
  if (!op)
    return at->emitError() << "names no parameter: @" << name;
  bool layered = op.getLayers().has_value();
  if (layered && layer < 0)
    return at->emitError() << "reads @" << name
                           << ", a parameter of layers, outside a repeat";
  if (layered && uint64_t(layer) >= *op.getLayers())
    return at->emitError() << "reads @" << name << " of layer " << layer
                           << ", which has " << *op.getLayers() << " layers";
  auto [it, fresh] =
      parameterIndex.insert({{name.str(), layered ? layer : -1},
                             unsigned(program.parameters.size())});
  if (fresh) {
    FlatParameter p;
    p.op = op;
    p.layer = layered ? layer : -1;
    p.name = layered ? layerName(op.getHfName(), layer) : op.getHfName().str();
    program.parameters.push_back(p);
  }
  return it->second;
}

// Appends one launch. Its results and workspaces become buffers; its operands
// are the places that the environment has for them.
LogicalResult Flattener::group(GroupOp op, Environment &env, int layer,
                               bool recomputed) {
  if (program.launches.size() >= launchLimit)
    return op.emitOpError()
           << "is one kernel too many; an unrolled program has at most "
           << launchLimit;
  FlatLaunch launch;
  launch.group = op;
  launch.layer = layer;
  launch.run = currentRun;
  launch.slice = currentSlice;
  launch.recomputed = recomputed || op->hasAttr(recomputeAttr);
  for (Operation &inner : op.getBody().front())
    if (isa<OffloadOp, FetchOp>(inner))
      launch.copy = isa<OffloadOp>(inner) ? Copy::ToHost : Copy::FromHost;
  if (launch.copy != Copy::None &&
      (op.getInputs().size() != 1 || op.getResults().size() != 1 ||
       !llvm::all_of(op.getBody().front(), [](Operation &inner) {
         return isa<OffloadOp, FetchOp, ReshapeOp, YieldOp>(inner);
       })))
    return op.emitOpError("is a copy to or from the host and something else; a "
                          "copy must be a kernel of its own");
  // Inputs and parameters are not moved: the copy is a no-op. A layer's
  // function is written for all its calls, and in some of them the value that
  // it moves is the step's input.
  if (launch.copy != Copy::None)
    if (Slot slot = env[op.getInputs()[0]];
        !slot.stacked && slot.place.kind != Place::Buffer) {
      env[op.getResult(0)] = std::move(slot);
      return success();
    }
  launch.name = (layer >= 0 ? "layer." + std::to_string(layer) + "/" : "") +
                op.getName().str();
  for (Value v : op.getInputs()) {
    const Slot &slot = env[v];
    if (slot.stacked)
      return op.emitOpError("reads a stack of separate buffers as one tensor");
    // The kernel may read the buffer under a type with more letters.
    BlockArgument inside =
        op.getBody().front().getArgument(launch.inputs.size());
    for (Operation *user : inside.getUsers())
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        adoptNames(slot.place, reshape.getType());
    bool onHost = slot.place.kind == Place::Buffer &&
                  program.buffers[slot.place.index].onHost;
    if (onHost != (launch.copy == Copy::FromHost))
      return op.emitOpError()
             << (onHost ? "reads a value on the host; act.fetch brings it back"
                        : "fetches a value that no act.offload has moved");
    launch.inputs.push_back(slot.place);
    use(slot.place);
  }
  for (Value v : op.getResults()) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    if (!type || !type.hasStaticShape())
      return op.emitOpError(
          "has a result without a static shape; give its letters sizes");
    Operation *def = op.getBody()
                         .front()
                         .getTerminator()
                         ->getOperand(cast<OpResult>(v).getResultNumber())
                         .getDefiningOp();
    // The name in reports: the op behind the parameter that it reads
    // (norm.rms_norm); for a linear op the parameter alone (up).
    std::string name = def ? def->getName().stripDialect().str() : "value";
    if (def)
      for (Value o : def->getOperands())
        if (auto arg = dyn_cast<BlockArgument>(o);
            arg && arg.getOwner() == &op.getBody().front())
          if (auto param =
                  op.getInputs()[arg.getArgNumber()].getDefiningOp<ParamOp>()) {
            name =
                param.getName().str() + (isa<LinearOp>(def) ? "" : "." + name);
            break;
          }
    if (def && cast<OpResult>(op.getBody().front().getTerminator()->getOperand(
                                  cast<OpResult>(v).getResultNumber()))
                       .getResultNumber() > 0)
      name += ".statistic";
    unsigned b = newBuffer(v, name, layer);
    program.buffers[b].recomputed = launch.recomputed;
    program.buffers[b].onHost = launch.copy == Copy::ToHost;
    Place place{Place::Buffer, b, 0, program.buffers[b].bytes, 0};
    launch.results.push_back(place);
    env[v] = Slot{place, {}, false, 0};
  }
  for (auto [i, t] : llvm::enumerate(op.getWorkspaceTypes())) {
    auto type = cast<RankedTensorType>(t);
    if (!type.hasStaticShape())
      return op.emitOpError(
          "has a workspace without a static shape; give its letters sizes");
    unsigned b = newBuffer(Value(), type, "workspace", layer);
    program.buffers[b].recomputed = launch.recomputed;
    program.buffers[b].workspaceOf = op;
    program.buffers[b].workspace = i;
    launch.workspaces.push_back(
        {Place::Buffer, b, 0, program.buffers[b].bytes, 0});
  }
  // Effects have no operand in the group that names the parameter's buffers,
  // and are bound in the order of their ops.
  LogicalResult ok = success();
  op.getBody().walk([&](Operation *inner) {
    if (auto effect = dyn_cast<ParameterEffectOpInterface>(inner)) {
      auto p = parameter(inner, effect.getParameterName().getValue(), layer);
      if (failed(p))
        ok = failure();
      else
        launch.effects.push_back(*p);
    }
    if (auto costed = dyn_cast<CostOpInterface>(inner)) {
      int64_t flops = costed.getFlops();
      program.flops = flopsSum({program.flops, flops});
      if (launch.recomputed || inner->hasAttr(recomputeAttr))
        program.recomputedFlops = flopsSum({program.recomputedFlops, flops});
    }
  });
  program.launches.push_back(std::move(launch));
  return ok;
}

// Writes the calls of a repeat out, one after the other. The environment of the
// callee is new for each iteration, so every iteration makes its own buffers.
LogicalResult Flattener::repeat(RepeatOp op, Environment &env, int layer,
                                bool recomputed) {
  auto callee = symbols.lookup<func::FuncOp>(op.getCallee());
  if (!callee)
    return op.emitOpError()
           << "calls @" << op.getCallee() << ", which is not a function";
  recomputed |= op->hasAttr(recomputeAttr);
  unsigned carried = op.getCarried().size();
  bool indexed = callee.getNumArguments() == op.getNumOperands() + 1;
  // Only a repeat over per-layer parameters sets the layer; a loop over chunks
  // does not change it.
  bool layers = false;
  callee.walk([&](Operation *inner) {
    if (auto name = inner->getAttrOfType<FlatSymbolRefAttr>("name"))
      if (auto p = symbols.lookup<ParameterOp>(name.getValue()))
        layers |= p.getLayers().has_value();
  });
  layers |= indexed;

  std::vector<Slot> carry;
  for (Value v : op.getCarried())
    carry.push_back(env[v]);
  int64_t count = op.getCount();
  uint64_t launchesBefore = program.launches.size();
  if (uint64_t(count) > launchLimit)
    return op.emitOpError() << "runs @" << op.getCallee() << " " << count
                            << " times; an unrolled program has at most "
                            << launchLimit << " kernels";

  // If only repeats read a stack, and in slices, each slice is a buffer of its
  // own, which dies with the backward of its layer. Otherwise the whole stack
  // would be alive until the last layer's backward is done:
  //
  //   %y, %s = act.repeat @layer.fwd count(3)      s0, s1, s2: three buffers
  //   act.repeat @layer.bwd ... reverse stack(%s)  s2 dies first
  //
  // A stack with another reader is one tensor, with its slices made in place.
  std::vector<Slot> stacks(op.getStacks().size());
  std::vector<bool> whole;
  for (auto [i, v] : llvm::enumerate(op.getStacks())) {
    bool separate = llvm::all_of(v.getUses(), [](OpOperand &use) {
      auto r = dyn_cast<RepeatOp>(use.getOwner());
      return r && use.getOperandNumber() >=
                      r.getCarried().size() + r.getShared().size();
    });
    whole.push_back(!separate);
    if (separate) {
      stacks[i].stacked = true;
      stacks[i].from = op.getFrom();
      stacks[i].slices.resize(count);
    } else {
      unsigned b = newBuffer(v, "stack", layer);
      stacks[i].place = Place{Place::Buffer, b, 0, program.buffers[b].bytes, 0};
    }
  }

  int outerRun = currentRun;
  int64_t outerSlice = currentSlice;
  if (layers) {
    currentRun = program.runs.size();
    program.runs.push_back({op.getCallee().str(), op.getLetter().str(),
                            int64_t(op.getFrom()), count,
                            program.backward.has_value(), currentBody});
  }
  int64_t outerMicroBatch = microBatch;
  for (int64_t n = 0; n < count; ++n) {
    int64_t slice = op.getReverse() ? count - 1 - n : n;
    if (layers)
      currentSlice = slice;
    int64_t l = op.getFrom() + slice;
    if (op.getMicroBatches())
      microBatch = l;
    Environment inner;
    unsigned a = 0;
    auto bind = [&](const Slot &slot) {
      inner[callee.getArgument(a++)] = slot;
    };
    if (indexed)
      bind(Slot{Place{Place::Immediate, 0, 0, 8, l}, {}, false, 0});
    for (const Slot &slot : carry)
      bind(slot);
    for (Value v : op.getShared())
      bind(env[v]);
    for (Value v : op.getStacked()) {
      const Slot &slot = env[v];
      Place p;
      if (slot.stacked) {
        int64_t at = slice + op.getFrom() - slot.from;
        if (at < 0 || size_t(at) >= slot.slices.size())
          return op.emitOpError() << "reads slice " << at << " of a stack of "
                                  << slot.slices.size();
        p = slot.slices[at];
      } else {
        p = slot.place;
        p.bytes /= cast<RankedTensorType>(v.getType()).getDimSize(0);
        p.offset += slice * p.bytes;
      }
      bind(Slot{p, {}, false, 0});
    }
    SmallVector<Slot> results;
    if (failed(
            body(callee, inner, layers ? int(l) : layer, recomputed, results)))
      return failure();
    // Refuse after one iteration rather than after a few gigabytes.
    uint64_t each = program.launches.size() - launchesBefore;
    if (n == 0 && launchesBefore + each * count > launchLimit)
      return op.emitOpError()
             << "runs @" << op.getCallee() << " " << count << " times, each "
             << each << " kernels; an unrolled program has at most "
             << launchLimit;
    for (unsigned i = 0; i < carried; ++i)
      carry[i] = results[i];
    for (auto [i, stack] : llvm::enumerate(stacks)) {
      Place p = results[carried + i].place;
      if (!whole[i]) {
        stack.slices[slice] = p;
        continue;
      }
      FlatBuffer *made =
          p.kind == Place::Buffer ? &program.buffers[p.index] : nullptr;
      if (!made || made->parent || p.offset)
        return op.emitOpError(
            "stacks a value that its iteration did not compute");
      program.buffers[stack.place.index].onHost |= made->onHost;
      if (program.buffers[stack.place.index].name == "stack")
        program.buffers[stack.place.index].name = made->name;
      made->parent = stack.place.index;
      made->parentOffset = slice * made->bytes;
    }
  }
  currentRun = outerRun;
  currentSlice = outerSlice;
  microBatch = outerMicroBatch;
  for (unsigned i = 0; i < carried; ++i)
    env[op.getResult(i)] = carry[i];
  for (auto [i, stack] : llvm::enumerate(stacks))
    env[op.getResult(carried + i)] = stack;
  return success();
}

// Runs one function body. Groups and repeats make launches; all other ops only
// say where their results are.
LogicalResult Flattener::body(func::FuncOp f, Environment &env, int layer,
                              bool recomputed, SmallVectorImpl<Slot> &results) {
  if (++depth > depthLimit)
    return emitError(f.getLoc())
           << "@" << f.getName() << " is called through more than "
           << depthLimit << " other functions";
  llvm::scope_exit up([&, outer = currentBody] {
    --depth;
    currentBody = outer;
  });
  currentBody = bodies++;
  for (Operation &op : f.getBody().front()) {
    if (++visits > visitLimit)
      return op.emitOpError()
             << "is one op too many; an unrolled program has at most "
             << visitLimit;
    if (auto g = dyn_cast<GroupOp>(op)) {
      if (failed(group(g, env, layer, recomputed)))
        return failure();
    } else if (auto r = dyn_cast<RepeatOp>(op)) {
      if (failed(repeat(r, env, layer, recomputed)))
        return failure();
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!callee || callee.isExternal())
        return call.emitOpError()
               << "calls @" << call.getCallee() << ", which has no body";
      if (callee == f || llvm::is_contained(callers, callee))
        return call.emitOpError() << "calls @" << call.getCallee()
                                  << ", which leads back to this call";
      callers.push_back(f);
      llvm::scope_exit done([&] { callers.pop_back(); });
      Environment inner;
      for (auto [argument, v] :
           llvm::zip(callee.getArguments(), call.getOperands()))
        inner[argument] = env[v];
      SmallVector<Slot> values;
      if (failed(body(callee, inner, layer, recomputed, values)))
        return failure();
      for (auto [v, slot] : llvm::zip(call.getResults(), values))
        env[v] = slot;
    } else if (auto param = dyn_cast<ParamOp>(op)) {
      auto p = parameter(param, param.getName(), layer);
      if (failed(p))
        return failure();
      env[param.getResult()] =
          Slot{Place{Place::Parameter, *p, 0,
                     byteSize(cast<RankedTensorType>(param.getType())), 0},
               {},
               false,
               0};
    } else if (auto site = dyn_cast<SiteOp>(op)) {
      // Layer 0 is 1 here, or its draws would be those of a site outside layers
      // with the same id.
      int64_t l = site.getLayer() ? env[site.getLayer()].place.value + 1 : 0;
      env[site.getResult()] =
          Slot{Place{Place::Immediate, 0, 0, 8,
                     int64_t(site.getId()) + 65536 * l + (microBatch << 32)},
               {},
               false,
               0};
    } else if (auto phase = dyn_cast<PhaseOp>(op)) {
      // Each micro-batch has a backward phase. The first one counts.
      auto &mark =
          phase.getName() == "update" ? program.update : program.backward;
      if (!mark)
        mark = program.launches.size();
    } else if (isa<KeptOp, ReshapeOp>(op)) {
      // By value: inserting into the map invalidates references into it.
      Slot slot = env[op.getOperand(0)];
      if (isa<ReshapeOp>(op) && slot.stacked)
        return op.emitOpError("reshapes a stack of separate buffers");
      if (isa<ReshapeOp>(op))
        adoptNames(slot.place,
                   cast<RankedTensorType>(op.getResult(0).getType()));
      env[op.getResult(0)] = std::move(slot);
    } else if (auto split = dyn_cast<SplitOp>(op); split && isSlice(split)) {
      Slot slot = env[split.getInput()];
      if (slot.stacked)
        return op.emitOpError("cuts a stack of separate buffers");
      for (Value part : split.getParts()) {
        slot.place.bytes = byteSize(cast<RankedTensorType>(part.getType()));
        env[part] = slot;
        slot.place.offset += slot.place.bytes;
      }
    } else if (op.hasTrait<OpTrait::IsTerminator>()) {
      for (Value v : op.getOperands())
        results.push_back(env[v]);
    } else {
      return op.emitOpError("is in no kernel; form kernels first");
    }
  }
  return success();
}

/// Derives lifetimes from uses, then reuses memory in place where an operand
/// dies. A group's `inplace` is a permission, given by what one function body
/// shows (FormKernels.cpp). Here all uses are known: the operand may be an
/// input of the step, a slice of a larger buffer, or a value that a caller
/// reads later.
void Flattener::settle() {
  auto &buffers = program.buffers;
  auto extend = [&](unsigned b, unsigned from, unsigned to) {
    while (true) {
      buffers[b].first = std::min(buffers[b].first, from);
      buffers[b].last = std::max(buffers[b].last, to);
      if (!buffers[b].parent)
        return;
      b = *buffers[b].parent;
    }
  };
  for (unsigned b = 0; b < buffers.size(); ++b)
    extend(b, buffers[b].first, buffers[b].last);
  for (auto [b, t] : uses)
    extend(b, buffers[b].first, t);
  // Parents and parts are left out of reuse: the memory of a part has other
  // users, and a parent's slices are made one by one.
  DenseSet<unsigned> parents;
  for (const FlatBuffer &b : buffers)
    if (b.parent)
      parents.insert(*b.parent);
  for (unsigned t = 0; t < program.launches.size(); ++t) {
    FlatLaunch &launch = program.launches[t];
    // Launches go in order, so a chain a -> b -> c ends up in one root whose
    // lifetime has been extended by the time c asks for it.
    ArrayRef<int64_t> inplace = launch.group.getInplace();
    for (unsigned r = 0; r < inplace.size(); ++r) {
      if (inplace[r] < 0 || launch.results[r].kind != Place::Buffer)
        continue;
      const Place &in = launch.inputs[inplace[r]];
      unsigned made = launch.results[r].index;
      if (in.kind != Place::Buffer || in.offset || buffers[made].parent ||
          parents.contains(made) || buffers[in.index].parent ||
          parents.contains(in.index))
        continue;
      unsigned owner = program.root(in.index);
      // The operand's memory must have no other user and must die here.
      if (buffers[owner].last != t ||
          buffers[owner].bytes != buffers[made].bytes || owner == made)
        continue;
      bool other = false;
      for (unsigned i = 0; i < launch.inputs.size(); ++i)
        other |= int64_t(i) != inplace[r] &&
                 launch.inputs[i].kind == Place::Buffer &&
                 program.root(launch.inputs[i].index) == owner;
      if (other)
        continue;
      buffers[made].reuses = owner;
      buffers[owner].last = std::max(buffers[owner].last, buffers[made].last);
    }
  }
}

// Flattens the entry. Its tensors are inputs, its numbers scalars, and its
// results get memory of the caller's.
FailureOr<Program> Flattener::run(StringRef name) {
  auto f = symbols.lookup<func::FuncOp>(name);
  if (!f || f.getBody().empty())
    return emitError(symbols.getOp()->getLoc())
           << "the module has no function @" << name;
  program.function = name.str();
  Environment env;
  for (auto [i, v] : llvm::enumerate(f.getArguments())) {
    auto attr = f.getArgAttrOfType<StringAttr>(i, nameAttr);
    std::string label =
        attr ? attr.getValue().str() : "arg" + std::to_string(i);
    if (auto tensor = dyn_cast<RankedTensorType>(v.getType())) {
      if (!tensor.hasStaticShape())
        return emitError(f.getLoc())
               << "argument " << i
               << " has no static shape; give its letters sizes";
      env[v] = Slot{Place{Place::Input, unsigned(program.inputs.size()), 0,
                          byteSize(tensor), 0},
                    {},
                    false,
                    0};
      program.inputs.push_back({label, tensor, ""});
    } else {
      env[v] =
          Slot{Place{Place::Scalar, unsigned(program.scalars.size()), 0, 8, 0},
               {},
               false,
               0};
      program.scalars.push_back({label, v.getType(), ""});
    }
  }
  SmallVector<Slot> results;
  if (failed(body(f, env, -1, false, results)))
    return failure();
  // Results are written to output ports instead of the arena: the caller owns
  // that memory. Every place in such a buffer, or in a part of it, is
  // redirected. The buffer stays in the list, so that indices hold, and takes
  // no bytes.
  for (auto [i, slot] : llvm::enumerate(results)) {
    auto attr = f.getResultAttrOfType<StringAttr>(i, nameAttr);
    std::string label =
        attr ? attr.getValue().str() : "result" + std::to_string(i);
    auto updates = f.getResultAttrOfType<StringAttr>(i, updatesAttr);
    program.outputs.push_back({label, f.getResultTypes()[i],
                               updates ? updates.getValue().str() : ""});
    if (slot.stacked || slot.place.kind != Place::Buffer || slot.place.offset ||
        program.buffers[slot.place.index].parent)
      return emitError(f.getLoc())
             << "result " << i << " is not computed by a kernel of its own";
    // The offset of buffer b in the result: itself, or a slice of a stack.
    auto offsetIn =
        [&, root = slot.place.index](unsigned b) -> std::optional<int64_t> {
      int64_t offset = 0;
      for (; b != root; b = *program.buffers[b].parent) {
        if (!program.buffers[b].parent)
          return std::nullopt;
        offset += program.buffers[b].parentOffset;
      }
      return offset;
    };
    for (FlatLaunch &launch : program.launches)
      for (auto *places : {&launch.inputs, &launch.results})
        for (Place &p : *places)
          if (p.kind == Place::Buffer)
            if (auto offset = offsetIn(p.index))
              p = Place{Place::Output, unsigned(i), *offset + p.offset, p.bytes,
                        0};
    llvm::erase_if(uses,
                   [&](auto &u) { return offsetIn(u.first).has_value(); });
    for (auto [b, buffer] : llvm::enumerate(program.buffers))
      if (offsetIn(b))
        buffer.bytes = 0;
  }
  for (const FlatLaunch &launch : program.launches)
    if (launch.copy != Copy::None && (launch.results[0].kind != Place::Buffer ||
                                      launch.inputs[0].kind != Place::Buffer))
      return launch.group.emitOpError(
          "its result leaves the function; a copy stays in an arena");
  settle();
  return std::move(program);
}

} // namespace

FailureOr<Program> act::flatten(ModuleOp module, StringRef function) {
  return Flattener(module).run(function);
}
