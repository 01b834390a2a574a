// SPDX-License-Identifier: Apache-2.0
//
// Turns a tree into a Program: places the variables of functions, then finds
// the handler of each instruction.
#include "runtime/sim/decode/Decoder.h"
#include "runtime/sim/decode/FrameLayout.h"
#include "runtime/sim/decode/Guesses.h"
#include "runtime/sim/decode/PollingLoops.h"
#include "runtime/sim/decode/RegisterPressure.h"
#include "runtime/sim/decode/SharedLayout.h"
#include <algorithm>

namespace act::runtime::sim {

using ptx::Space;
using ptx::Type;

namespace {

/// The class of the first type in the spelling. A spelling without one is
/// looked up as an integer.
const char *typeClass(const ptx::Instruction &instruction) {
  for (const std::string &word : instruction.modifiers)
    switch (ptx::typeNamed(word)) {
    case Type::F16:
    case Type::BF16:
    case Type::F16x2:
    case Type::BF16x2:
      return "/half";
    case Type::F32:
    case Type::F64:
      return "/float";
    case Type::None:
      break;
    default:
      return "/int";
    }
  return "/int";
}

/// The PTX version, times ten, that introduced a target (PTX ISA 11.1.2).
uint32_t firstVersion(uint32_t sm, char suffix) {
  static constexpr struct {
    uint32_t sm, version, withSuffix;
  } known[] = {{75, 63, 0}, {80, 70, 0}, {86, 71, 0}, {87, 74, 0},
               {88, 90, 0}, {89, 78, 0}, {90, 78, 80}};
  for (const auto &k : known)
    if (k.sm == sm)
      return suffix ? k.withSuffix : k.version;
  return 0;
}

} // namespace

struct ProgramDecoder {
  Program &program;
  const Families &families;

  Decode familyOf(const ptx::Instruction &instruction) const {
    auto it = families.find(instruction.root);
    if (it == families.end())
      it = families.find(instruction.root + typeClass(instruction));
    return it == families.end() ? nullptr : it->second;
  }

  Error at(const ptx::Location &where, const std::string &message) const {
    return {message, program.name + ":" + std::to_string(where.line)};
  }

  // Offsets follow later: layOut() for .local, SharedLayout.h for .shared.
  void placeVariables() {
    auto placed = [](const std::vector<ptx::Variable> &variables) {
      std::vector<Placement> all;
      for (const ptx::Variable &v : variables)
        all.push_back({v.space, 0, v.bytes});
      return all;
    };
    program.placements = placed(program.tree->variables);
    for (size_t i = 0; i < program.tree->functions.size(); ++i) {
      const ptx::Function &f = program.tree->functions[i];
      program.functions[i].name = f.name;
      program.functions[i].isEntry = f.isEntry && f.hasBody;
      program.functions[i].variables = placed(f.variables);
    }
  }

  // Gives a function's own variables, parameters and results their offsets. The
  // parameters of a kernel have a space of their own. Those of other functions
  // are in the frame, next to the .local variables.
  Status layOut(const ptx::Function &f, FunctionCode &code) {
    auto local = [&](uint64_t bytes, uint64_t align) {
      code.localBytes = alignTo(code.localBytes, std::max<uint64_t>(align, 1));
      uint64_t offset = code.localBytes;
      code.localBytes += bytes;
      return offset;
    };
    for (size_t v = 0; v < f.variables.size(); ++v) {
      Placement &p = code.variables[v];
      // A .param variable of a body is a call's argument or result. It is
      // private to the thread, so it is a local.
      if (p.space == Space::Local || p.space == Space::Param) {
        p.space = Space::Local;
        p.offset = local(p.bytes, f.variables[v].align);
      } else if (p.space == Space::Shared) {
        if (f.variables[v].isUnsized)
          p.offset = code.dynamicSharedOffset;
      } else {
        return at(f.variables[v].location,
                  "'" + f.variables[v].name +
                      "': a function declares only .local, .shared and .param "
                      "variables");
      }
    }
    uint64_t offset = 0;
    for (const ptx::Variable &v : f.parameters) {
      if (v.space == Space::Reg)
        return at(v.location, "parameters in .reg need the ABI of PTX before "
                              "2.0, which is not simulated");
      if (f.isEntry) {
        offset = alignTo(offset, v.align);
        code.parameters.push_back({Space::Param, offset, v.bytes});
        code.kernel.parameters.push_back({offset, v.bytes, v.align});
        offset += v.bytes;
      } else {
        code.parameters.push_back(
            {Space::Local, local(v.bytes, v.align), v.bytes});
      }
    }
    // The limits of the constant bank that holds kernel parameters.
    const ptx::Module &m = *program.tree;
    bool large = m.sm >= 70 && m.versionMajor * 10 + m.versionMinor >= 81;
    if (uint64_t most = large ? 32764 : 4352; f.isEntry && offset > most)
      return at(f.location, "'" + f.name + "' has " + std::to_string(offset) +
                                " bytes of parameters, at most " +
                                std::to_string(most) + " are possible");
    for (const ptx::Variable &v : f.results)
      code.results.push_back({Space::Local, local(v.bytes, v.align), v.bytes});
    code.localBytes = alignTo(code.localBytes, 16);
    KernelInfo &k = code.kernel;
    k.name = f.name;
    k.parameterBytes = offset;
    k.localBytes = code.localBytes;
    const ptx::Performance &p = f.performance;
    for (unsigned i = 0; i < 3; ++i) {
      k.requiredBlock[i] = p.requiredThreads[i];
      k.requiredCluster[i] = p.requiredCluster[i];
    }
    uint64_t threads = 1;
    for (unsigned i = 0; i < 3; ++i)
      threads *= std::max(1u, std::max(p.maxThreads[i], p.requiredThreads[i]));
    k.boundsBlock = p.maxThreads[0] && !p.requiredThreads[0];
    if (p.maxThreads[0] || p.requiredThreads[0])
      k.maxThreads = uint32_t(std::min<uint64_t>(threads, 1024));
    code.branchTargets = f.branchTargets;
    return ok();
  }

  Status decodeFunction(const ptx::Function &f, FunctionCode &code) {
    // A recorded access has so many bits for the instruction that made it.
    constexpr size_t most = size_t(1) << siteBits;
    if (program.sites.size() + f.instructions.size() >= most)
      return at(f.location, "more than " + std::to_string(most - 1) +
                                " instructions in a module");
    FrameLayout layout(f);
    Decoder d;
    d.owner = &f;
    d.program = &program;
    d.functionCode = &code;
    d.layout = &layout;
    code.code.reserve(f.instructions.size() + 1);
    auto finish = [&] {
      Instruction &i = d.decoded;
      // Instructions point into the pools. A deque never moves its elements.
      program.slotPool.push_back(std::move(d.slots));
      i.slots = program.slotPool.back().data();
      i.slotCount = uint32_t(program.slotPool.back().size());
      program.usePool.push_back(std::move(d.readUses));
      i.reads = program.usePool.back().data();
      i.readCount = uint16_t(program.usePool.back().size());
      program.usePool.push_back(std::move(d.writeUses));
      i.writes = program.usePool.back().data();
      i.writeCount = uint16_t(program.usePool.back().size());
      i.site = uint32_t(program.sites.size());
      program.sites.push_back(d.instruction->location);
      program.spellings.push_back(d.instruction->spelling());
      program.atomics.push_back(atomicBytes(*d.instruction));
      program.guesses.push_back(0);
      code.code.push_back(i);
    };
    auto start = [&](const ptx::Instruction &tree) {
      d.instruction = &tree;
      d.decoded = Instruction();
      d.used.assign(tree.modifiers.size(), false);
      d.usedOperands.assign(tree.operands.size(), false);
      d.slots.clear();
      d.readUses.clear();
      d.writeUses.clear();
    };
    for (const ptx::Instruction &tree : f.instructions) {
      start(tree);
      if (tree.guard >= 0) {
        d.decoded.guard = layout.registerSlot(uint32_t(tree.guard));
        d.decoded.guardNegated = tree.guardNegated;
      }
      Decode decode = familyOf(tree);
      if (!decode)
        return at(tree.location,
                  "unknown instruction '" + tree.spelling() + "'");
      decode(d);
      d.finish();
      if (d.failed())
        return d.error;
      finish();
    }
    for (uint32_t look : looksOf(f))
      code.code[look].flags |= flagLooks;
    const std::vector<uint8_t> guesses = guessesOf(f);
    for (size_t k = 0; k < guesses.size(); ++k)
      program.guesses[code.code[k].site] = guesses[k];
    // Running off the end of a function returns.
    ptx::Instruction end;
    end.root = "ret";
    end.location =
        f.instructions.empty() ? f.location : f.instructions.back().location;
    start(end);
    families.at("ret")(d);
    finish();
    layout.finish(code);
    if (f.isEntry)
      code.kernel.registers = registerPressure(f, code);
    return ok();
  }
};

Status Decoder::decode(Program &program, const Families &families) {
  const ptx::Module &tree = *program.tree;
  uint32_t version = tree.versionMajor * 10 + tree.versionMinor;
  // Older versions have features that no supported target has any more.
  if (version < 30 || version > 94)
    return Error{"PTX " + std::to_string(tree.versionMajor) + "." +
                     std::to_string(tree.versionMinor) +
                     " is not known; expected 3.0 to 9.4",
                 program.name};
  if (uint32_t least = firstVersion(tree.sm, tree.suffix); version < least)
    return Error{
        "target '" + tree.target + "' needs PTX " + std::to_string(least / 10) +
            "." + std::to_string(least % 10) + " or higher; the module says " +
            std::to_string(tree.versionMajor) + "." +
            std::to_string(tree.versionMinor),
        program.name};
  ProgramDecoder decoder{program, families};
  for (const ptx::Function &f : tree.functions)
    if (f.isEntry && !f.hasBody && !f.isExtern)
      return decoder.at(f.location, "kernel '" + f.name + "' has no body");
  program.functions.resize(tree.functions.size());
  decoder.placeVariables();
  if (Status s = layOutShared(program); !s)
    return s;
  for (size_t i = 0; i < tree.functions.size(); ++i)
    if (Status s = decoder.layOut(tree.functions[i], program.functions[i]); !s)
      return s;
  for (size_t i = 0; i < tree.functions.size(); ++i)
    if (tree.functions[i].hasBody)
      if (Status s =
              decoder.decodeFunction(tree.functions[i], program.functions[i]);
          !s)
        return s;
  return ok();
}

} // namespace act::runtime::sim
