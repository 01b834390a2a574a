// SPDX-License-Identifier: Apache-2.0
//
// bra, brx.idx, call, ret, exit, trap, brkpt, nanosleep.
//
// A call makes a frame for the lanes that take it. Arguments and results live
// in the caller's and callee's local memory (.param variables are locals) and
// are copied lane by lane. Functions without a body are those that the CUDA
// runtime provides; see Builtins.h.
#include "runtime/sim/execute/Builtins.h"
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/instructions/Families.h"
#include <cstring>

namespace act::runtime::sim {

using ptx::Operand;
using ptx::Symbol;
using ptx::Type;

namespace {

// ---- branches

/// The lanes whose guard is true go to the target; the others go on.
Step branch(Context &c, const Instruction &i) {
  c.warp.jump(c.fragment, c.mask, uint32_t(i.immediate));
  return Step::Jumped;
}

Step branchIndexed(Context &c, const Instruction &i) {
  const auto &targets = c.frame.function->branchTargets[i.options];
  const uint32_t *index = c.lanes<uint32_t>(i.slots[0]);
  // Lanes with the same target split off together. The current fragment keeps
  // the last set, unless a guard holds lanes back here.
  uint32_t left = c.mask;
  while (left) {
    uint32_t first = index[__builtin_ctz(left)], same = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
      if (left >> lane & 1 && index[lane] == first)
        same |= 1u << lane;
    if (first >= targets.size()) {
      c.report(FindingKind::InvalidOperation, i, __builtin_ctz(same),
               "branches to target " + std::to_string(first) +
                   ", expected 0 to " + std::to_string(targets.size() - 1));
      first = 0;
    }
    left &= ~same;
    if (c.fragment.mask == same) {
      c.fragment.pc = targets[first];
      break;
    }
    Fragment other = c.fragment;
    other.mask = same;
    other.pc = targets[first];
    c.fragment.mask &= ~same;
    c.warp.fragments.push_back(std::move(other));
    if (!left)
      ++c.fragment.pc; // lanes whose guard is false
  }
  return Step::Jumped;
}

void decodeBranch(Decoder &d) {
  bool uniform = d.take("uni");
  (void)uniform; // a hint that the simulator does not need
  const Operand &o = d.operand(0);
  if (o.kind != Operand::SymbolRef || o.symbol.kind != Symbol::Label)
    return d.fail("'" + d.tree().spelling() + "' expects a label");
  d.begin(branch, Class::Control);
  d.current().immediate = o.symbol.index;
}

void decodeBranchIndexed(Decoder &d) {
  d.take("uni");
  if (!d.take("idx"))
    return d.fail("'brx' needs .idx");
  d.begin(branchIndexed, Class::Control, flagStrictReads);
  d.source(0, Type::U32);
  const Operand &o = d.operand(1);
  if (o.kind != Operand::SymbolRef || o.symbol.kind != Symbol::BranchTargets ||
      d.function().branchTargets[o.symbol.index].empty())
    return d.fail("'brx.idx' expects the name of a .branchtargets list");
  d.current().options = o.symbol.index;
}

// ---- ends

Step exitLanes(Context &, const Instruction &) { return Step::Exited; }

/// A card aborts the grid. Here the finding fails the launch, and the other
/// lanes run on and may report more.
Step trap(Context &c, const Instruction &i) {
  c.report(FindingKind::InvalidOperation, i, __builtin_ctz(c.mask),
           "executes a trap");
  return Step::Exited;
}

Step nothing(Context &, const Instruction &) { return Step::Next; }

// ---- calls

struct Argument { // placed in the caller's local memory
  uint64_t offset, bytes;
};
struct Call {
  std::vector<Argument> arguments, results;
  int64_t callee = -1; // -1: by the address in slot 0
  Builtin builtin = nullptr;
};

/// Makes the callee's frame and copies the arguments into it, undefined bytes
/// included. After an error the lanes exit: going on without the call would
/// only report more.
Step enter(Context &c, const Instruction &i, uint32_t lanes, uint64_t callee) {
  const Call &call = *static_cast<const Call *>(i.data);
  const Program &program = *c.grid.program;
  auto bad = [&](const std::string &what) {
    c.report(FindingKind::InvalidOperation, i, __builtin_ctz(lanes), what);
    c.mask = lanes;
    return Step::Exited;
  };
  if (callee >= program.functions.size() ||
      program.functions[callee].code.empty())
    return bad("calls an address that is not a function");
  const FunctionCode &f = program.functions[callee];
  if (f.parameters.size() != call.arguments.size() ||
      f.results.size() != call.results.size())
    return bad("calls '" + f.name +
               "' with the wrong number of arguments or results");
  FrameRef frame = c.warp.newFrame(f, c.fragment.frame);
  if (!frame)
    return bad("nests calls too deeply: local memory is exhausted");
  frame->returnPc = c.fragment.pc + 1;
  frame->call = &i;
  for (uint32_t left = lanes; left; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctz(left));
    const uint64_t first = lane * localLimit;
    if (!c.warp.undefinedLocals.empty())
      c.warp.forgetLocals(lane, frame->localBase,
                          frame->localBase + f.localBytes);
    for (size_t k = 0; k < call.arguments.size(); ++k)
      c.warp.copyLocals(
          first + frame->localBase + f.parameters[k].offset,
          first + c.frame.localBase + call.arguments[k].offset,
          std::min(call.arguments[k].bytes, f.parameters[k].bytes));
  }
  if (lanes == c.fragment.mask) {
    c.fragment.frame = std::move(frame);
    c.fragment.pc = 0;
  } else {
    Fragment other = c.fragment;
    other.mask = lanes;
    other.frame = std::move(frame);
    other.pc = 0;
    c.fragment.mask &= ~lanes;
    c.warp.fragments.push_back(std::move(other));
  }
  return Step::Jumped;
}

/// Reports undefined arguments of a builtin; its results become defined.
void giveToSystem(const Context &c, const Instruction &i, const Call &call,
                  const std::vector<uint64_t> &places) {
  for (uint32_t left = c.mask; left; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctz(left));
    const uint64_t first = lane * localLimit;
    for (size_t k = 0; k < call.arguments.size(); ++k)
      for (uint64_t b = 0; b < call.arguments[k].bytes; ++b) {
        Context::Target byte;
        byte.data = c.warp.local + first + places[k] + b;
        if (!c.undefinedLocals(byte, 1))
          continue;
        c.report(FindingKind::Uninitialised, i, lane,
                 "is given " + c.nameOfOrigin(c.originAt(i, byte, 0)));
        break;
      }
    for (const Argument &r : call.results)
      c.warp.forgetLocals(lane, c.frame.localBase + r.offset,
                          c.frame.localBase + r.offset + r.bytes);
  }
}

Step callDirect(Context &c, const Instruction &i) {
  const Call &call = *static_cast<const Call *>(i.data);
  uint32_t all = c.fragment.mask;
  if (call.builtin) {
    std::vector<uint64_t> arguments, results;
    for (const Argument &a : call.arguments)
      arguments.push_back(c.frame.localBase + a.offset);
    for (const Argument &r : call.results)
      results.push_back(c.frame.localBase + r.offset);
    if (!c.warp.undefinedLocals.empty())
      giveToSystem(c, i, call, arguments);
    return call.builtin(c, i, arguments, results);
  }
  uint32_t lanes = c.mask;
  Step step = enter(c, i, lanes, uint64_t(call.callee));
  // Lanes whose guard is false continue after the call.
  if (step == Step::Jumped && lanes != all)
    ++c.fragment.pc;
  return step;
}

Step callIndirect(Context &c, const Instruction &i) {
  // One callee at a time; lanes with other callees stay at this instruction.
  const uint64_t *target = c.lanes<uint64_t>(i.slots[0]);
  uint64_t address = target[__builtin_ctz(c.mask)];
  uint32_t same = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane) && target[lane] == address)
      same |= 1u << lane;
  bool rest = c.mask != same, guarded = c.fragment.mask != c.mask;
  if (rest || guarded) {
    // Split off the lanes that call now.
    Fragment other = c.fragment;
    other.mask = same;
    c.fragment.mask &= ~same;
    if (!rest)
      ++c.fragment.pc;
    c.warp.fragments.push_back(std::move(other));
    Fragment &f = c.warp.fragments.back();
    Context sub{c.warp, c.cta, c.grid, f, *f.frame, same, c.checks};
    uint64_t index = (address - functionWindow) / 16 - 1;
    if (enter(sub, i, same, index) == Step::Exited) {
      c.warp.liveLanes &= ~same;
      c.warp.fragments.pop_back();
    }
    return Step::Jumped;
  }
  return enter(c, i, same, (address - functionWindow) / 16 - 1);
}

/// Copies results back, lane by lane, and frees what alloca took in this frame.
Step returnFrom(Context &c, const Instruction &i) {
  Frame &frame = c.frame;
  if (!frame.caller)
    return Step::Exited;
  const Call &call = *static_cast<const Call *>(frame.call->data);
  const FunctionCode &f = *frame.function;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (c.active(lane))
      for (size_t k = 0; k < call.results.size(); ++k)
        c.warp.copyLocals(lane * localLimit + frame.caller->localBase +
                              call.results[k].offset,
                          lane * localLimit + frame.localBase +
                              f.results[k].offset,
                          std::min(call.results[k].bytes, f.results[k].bytes));
  for (uint32_t left = c.mask & frame.allocated; left; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctz(left));
    c.warp.stackTop[lane] = frame.stackAtEntry[lane];
  }
  FrameRef caller = frame.caller;
  uint32_t pc = frame.returnPc;
  if (c.mask == c.fragment.mask) {
    c.fragment.frame = std::move(caller);
    c.fragment.pc = pc;
    return Step::Jumped;
  }
  Fragment other = c.fragment;
  other.mask = c.mask;
  other.frame = std::move(caller);
  other.pc = pc;
  c.fragment.mask &= ~c.mask;
  ++c.fragment.pc;
  c.warp.fragments.push_back(std::move(other));
  return Step::Jumped;
}

// Operands of a call: {(results),} callee {, (arguments)} {, prototype}.
void decodeCall(Decoder &d) {
  d.take("uni");
  Call call;
  size_t k = 0, n = d.operandCount();
  auto places = [&](const Operand &list, std::vector<Argument> &out) {
    for (const Operand &o : list.elements) {
      if (o.kind != Operand::SymbolRef)
        return d.fail("a call passes .param variables, but '" + o.name +
                      "' is not one");
      const Placement *p =
          o.symbol.kind == Symbol::FunctionVariable
              ? &d.code().variables[o.symbol.index]
          : o.symbol.kind == Symbol::Parameter && !d.function().isEntry
              ? &d.code().parameters[o.symbol.index]
          : o.symbol.kind == Symbol::ReturnValue
              ? &d.code().results[o.symbol.index]
              : nullptr;
      if (!p || p->space != ptx::Space::Local)
        return d.fail("a call passes .param variables, but '" + o.name +
                      "' is not one");
      out.push_back({p->offset, p->bytes});
    }
  };
  if (k < n && d.tree().operands[k].kind == Operand::List)
    places(d.operand(k++), call.results);
  size_t target = k++;
  if (k < n && d.tree().operands[k].kind == Operand::List)
    places(d.operand(k++), call.arguments);
  if (k < n)
    d.operand(k++); // the prototype, ignored: the callee decides
  if (target >= n)
    return d.fail("'call' expects a function");
  const Operand &o = d.tree().operands[target];
  if (o.kind == Operand::SymbolRef && o.symbol.kind == Symbol::FunctionName) {
    d.operand(target);
    call.callee = d.module().meantBy(o.symbol.index);
    const ptx::Function &f = d.module().functions[call.callee];
    if (!f.hasBody) {
      call.builtin = builtinNamed(f.name);
      if (!call.builtin)
        return d.fail("'" + f.name + "' is declared but never defined");
    } else if (f.parameters.size() != call.arguments.size() ||
               f.results.size() != call.results.size()) {
      return d.fail("'" + f.name + "' takes " +
                    std::to_string(f.parameters.size()) +
                    " arguments and has " + std::to_string(f.results.size()) +
                    " results");
    }
    d.begin(callDirect, Class::Control);
  } else {
    d.begin(callIndirect, Class::Control, flagStrictReads);
    d.source(target, Type::B64);
  }
  d.current().data = d.keep(std::move(call));
}

void decodeExit(Decoder &d) { d.begin(exitLanes, Class::Control); }
void decodeReturn(Decoder &d) {
  d.take("uni");
  d.begin(returnFrom, Class::Control);
}
void decodeTrap(Decoder &d) { d.begin(trap, Class::Control); }
// pmevent n; pmevent.mask bits: triggers performance counters; there are none
void decodeEvent(Decoder &d) {
  int64_t limit = d.take("mask") ? 65535 : 15, event = d.immediate(0);
  if (event < 0 || event > limit)
    d.fail("'" + d.tree().spelling() + "' takes 0 to " + std::to_string(limit));
  d.begin(nothing, Class::Control);
}

void decodeBreakpoint(Decoder &d) { d.begin(nothing, Class::Control); }
void decodeNanosleep(Decoder &d) {
  d.require(70, 63);
  d.type({Type::U32});
  d.begin(nothing, Class::Control);
  d.source(0, Type::U32);
}

} // namespace

void registerControl(Families &f) {
  f["bra"] = decodeBranch;
  f["brx"] = decodeBranchIndexed;
  f["call"] = decodeCall;
  f["ret"] = decodeReturn;
  f["exit"] = decodeExit;
  f["trap"] = decodeTrap;
  f["brkpt"] = decodeBreakpoint;
  f["pmevent"] = decodeEvent;
  f["nanosleep"] = decodeNanosleep;
}

} // namespace act::runtime::sim
