// SPDX-License-Identifier: Apache-2.0
//
// Modules and launches: from PTX text to a program with its variables, and from
// a request to a grid. Grid.cpp runs the launch.
#include "runtime/sim/Simulator.h"
#include "runtime/sim/execute/Machine.h"
#include "runtime/sim/execute/Mbarrier.h"
#include "runtime/sim/execute/Underway.h"
#include "runtime/sim/instructions/Families.h"
#include "runtime/sim/program/Program.h"
#include "runtime/sim/ptx/Parser.h"
#include <algorithm>
#include <cstring>

namespace act::runtime::sim {

using ptx::Space;

namespace {

// Allocates the module's variables, before decoding, which needs the addresses,
// and initialises them, patches included.
Status placeVariables(Program &program, Memory &memory) {
  const ptx::Module &tree = *program.tree;
  program.variables.assign(tree.variables.size(), nullptr);
  for (size_t i = 0; i < tree.variables.size(); ++i) {
    const ptx::Variable &v = tree.variables[i];
    if (v.space == Space::Shared)
      continue;
    if (v.isExtern)
      return Error{"'" + v.name + "' is declared but never defined",
                   program.name + ":" + std::to_string(v.location.line)};
    if (v.space != Space::Global && v.space != Space::Const)
      return Error{"'" + v.name +
                       "': a module declares only .global, .const and .shared "
                       "variables",
                   program.name + ":" + std::to_string(v.location.line)};
    auto address =
        memory.allocate(std::max<uint64_t>(v.bytes, 1), "'" + v.name + "'");
    if (!address)
      return address.error();
    program.variables[i] = *address;
    if (!v.initial.empty())
      std::memcpy(*address, v.initial.data(),
                  std::min<uint64_t>(v.initial.size(), v.bytes));
    memory.markInitialised(*address, v.bytes);
  }
  for (size_t i = 0; i < tree.variables.size(); ++i)
    for (const ptx::Variable::Patch &patch : tree.variables[i].patches) {
      uint64_t value = 0;
      bool found = false;
      for (size_t k = 0; k < tree.variables.size() && !found; ++k)
        if (tree.variables[k].name == patch.symbol) {
          value = reinterpret_cast<uint64_t>(program.variables[k]);
          found = true;
        }
      for (size_t k = 0; k < tree.functions.size() && !found; ++k)
        if (tree.functions[k].name == patch.symbol) {
          value = functionWindow + 16 * (tree.meantBy(uint32_t(k)) + 1);
          found = true;
        }
      if (!found || patch.at + patch.width > tree.variables[i].bytes)
        return Error{"the initial value of '" + tree.variables[i].name +
                         "' names '" + patch.symbol + "', which has no address",
                     program.name};
      value += uint64_t(patch.addend);
      std::memcpy(static_cast<std::byte *>(program.variables[i]) + patch.at,
                  &value, std::min<unsigned>(patch.width, 8));
    }
  return ok();
}

Status checkTarget(const Program &program) {
  const ptx::Module &m = *program.tree;
  const Target &t = program.target;
  if (!runs(t, m.sm, m.suffix))
    return Error{"the module is for " + m.target + " and cannot run on " +
                     t.name,
                 program.name};
  return ok();
}

} // namespace

LoadedModule::LoadedModule(std::unique_ptr<Program> program, Memory &memory)
    : decoded(std::move(program)), memory(memory) {}

LoadedModule::~LoadedModule() {
  for (void *address : decoded->variables)
    if (address)
      (void)memory.free(address);
}

Result<KernelInfo> LoadedModule::kernel(const std::string &name) const {
  for (const FunctionCode &f : decoded->functions)
    if (f.isEntry && f.name == name)
      return f.kernel;
  return Error{"no kernel '" + name + "' in " + decoded->name, ""};
}

std::vector<std::string> LoadedModule::kernels() const {
  std::vector<std::string> names;
  for (const FunctionCode &f : decoded->functions)
    if (f.isEntry)
      names.push_back(f.name);
  return names;
}

Result<LoadedModule::Symbol>
LoadedModule::symbol(const std::string &name) const {
  const ptx::Module &tree = *decoded->tree;
  for (size_t i = 0; i < tree.variables.size(); ++i)
    if (tree.variables[i].name == name && decoded->variables[i])
      return Symbol{decoded->variables[i], tree.variables[i].bytes};
  return Error{"no variable '" + name + "' in " + decoded->name, ""};
}

Simulator::Simulator(const Target &target, Options options)
    : machine(target), options(std::move(options)), space(this->options.checks),
      underway(std::make_unique<Underway>()) {}
Simulator::~Simulator() = default;

Result<std::unique_ptr<LoadedModule>> Simulator::load(std::string_view text,
                                                      const std::string &name) {
  auto tree = ptx::parse(text, name);
  if (!tree)
    return tree.error();
  auto program = std::make_unique<Program>();
  program->tree = std::move(*tree);
  program->target = machine;
  program->name = name;
  if (Status s = checkTarget(*program); !s)
    return s.error();
  Status placed = placeVariables(*program, space);
  auto module = std::make_unique<LoadedModule>(std::move(program), space);
  if (!placed)
    return placed.error();
  // The module owns its variables by now, so a failure frees them.
  if (Status s = decodeModule(*module->program()); !s)
    return s.error();
  return module;
}

// The memory in which a cooperative grid synchronises; cooperative_groups.h
// uses a few words of it.
constexpr uint64_t workspaceBytes = 4096;

/// An upper bound on the resident CTAs. It ignores registers, since only an
/// estimate of these is known. The system reserves 1 KiB of shared memory per
/// CTA.
static uint64_t residentCtas(const Target &t, uint64_t threads,
                             uint64_t sharedBytes) {
  uint64_t shared = (sharedBytes + 127) / 128 * 128 + 1024;
  return t.processors *
         std::min({t.warpsPerSm / ((threads + 31) / 32),
                   uint64_t(t.blocksPerSm), t.sharedBytesPerSm / shared});
}

/// Refuses what a driver refuses at a launch, and sets the grid up. Nothing
/// runs before advance().
Result<std::shared_ptr<Launch>> Simulator::begin(const LoadedModule &module,
                                                 const std::string &kernel,
                                                 const LaunchRequest &request) {
  const Program &program = *module.program();
  auto info = module.kernel(kernel);
  if (!info)
    return info.error();
  auto bad = [&](const std::string &what) {
    return Error{"kernel '" + kernel + "': " + what, ""};
  };
  auto owned = std::make_shared<Grid>();
  Grid &grid = *owned;
  uint64_t threads = 1, ctas = 1, clusterSize = 1;
  bool required = info->requiredCluster[0] != 0;
  for (unsigned i = 0; i < 3; ++i) {
    grid.gridDim[i] = request.grid[i];
    grid.blockDim[i] = request.block[i];
    uint32_t want = request.cluster[0] ? std::max(1u, request.cluster[i]) : 0;
    uint32_t own = required ? std::max(1u, info->requiredCluster[i]) : 0;
    if (want && own && want != own)
      return bad(
          "the launch has another cluster size than the kernel requires");
    grid.clusterDim[i] = want ? want : own ? own : 1;
    if (!request.grid[i] || !request.block[i])
      return bad("the grid or the block is empty");
    if (request.grid[i] > (i == 0 ? 0x7fffffffu : 65535u))
      return bad("a grid of " + std::to_string(request.grid[i]) +
                 " exceeds the limit in dimension " + std::to_string(i));
    if (request.grid[i] % grid.clusterDim[i])
      return bad("the grid is not a multiple of the cluster in dimension " +
                 std::to_string(i));
    if (info->requiredBlock[0] &&
        std::max(1u, info->requiredBlock[i]) != request.block[i])
      return bad("a block of " + std::to_string(request.block[i]) +
                 " in dimension " + std::to_string(i) + ", expected " +
                 std::to_string(std::max(1u, info->requiredBlock[i])));
    threads *= request.block[i];
    ctas *= request.grid[i];
    clusterSize *= grid.clusterDim[i];
  }
  if (threads > info->maxThreads)
    return bad("a block of " + std::to_string(threads) +
               " threads, expected at most " +
               std::to_string(info->maxThreads));
  if (ctas >= uint64_t(1) << ctaBits)
    return bad(std::to_string(ctas) + " CTAs, but the simulator runs at most " +
               std::to_string((1 << ctaBits) - 1));
  if (clusterSize > 16 || (clusterSize > 1 && machine.sm < 90))
    return bad("a cluster of " + std::to_string(clusterSize) +
               " CTAs is not supported on " + machine.name);
  const FunctionCode *code = nullptr;
  for (const FunctionCode &f : program.functions)
    if (f.isEntry && f.name == kernel)
      code = &f;
  uint64_t shared = code->dynamicSharedOffset + request.dynamicSharedBytes;
  if (!request.dynamicSharedBytes)
    shared = info->sharedBytes;
  if (shared > machine.sharedBytesPerBlock)
    return bad(std::to_string(shared) + " bytes of shared memory, but " +
               machine.name + " has only " +
               std::to_string(machine.sharedBytesPerBlock));
  if (request.parameters.size() != info->parameterBytes)
    return bad(std::to_string(request.parameters.size()) +
               " bytes of parameters, expected " +
               std::to_string(info->parameterBytes));

  uint64_t resident = residentCtas(machine, threads, shared);
  if (request.cooperative && ctas > resident)
    return bad("a cooperative grid of " + std::to_string(ctas) + " CTAs, but " +
               machine.name + " holds only " + std::to_string(resident) +
               " at a time");

  if (request.atOnce > std::min(resident, ctas))
    return bad(std::to_string(request.atOnce) +
               " CTAs that wait for each other, but " + machine.name +
               " holds only " + std::to_string(resident) +
               " at a time, of a grid of " + std::to_string(ctas));

  grid.program = module.program();
  grid.kernel = code;
  grid.request = request;
  grid.options = &options;
  grid.underway = underway.get();
  grid.globalEvents = &underway->events;
  grid.memory = &space;
  grid.target = &machine;
  grid.warpsPerCta = uint32_t((threads + 31) / 32);
  grid.ctasPerCluster = uint32_t(clusterSize);
  grid.ctaCount = uint32_t(ctas);
  grid.explicitCluster = request.cluster[0] || required;
  grid.sharedBytes = shared;
  grid.checks = options.checks;
  grid.passesUndefined = !options.strict;
  grid.orderedSums = options.orderedSums;
  // Parameters are aligned as tensor maps require.
  std::vector<std::byte> &block = grid.parameterBlock;
  block.resize(request.parameters.size() + 128);
  auto base = reinterpret_cast<uintptr_t>(block.data());
  grid.parameters.data = block.data() + (128 - base % 128) % 128;
  grid.parameters.bytes = request.parameters.size();
  std::copy(request.parameters.begin(), request.parameters.end(),
            reinterpret_cast<uint8_t *>(grid.parameters.data));
  std::lock_guard lock(launching);
  if (options.checks && underway->empty())
    space.beginLaunch();
  if (!underway->add(owned))
    return bad("its " + std::to_string(ctas) +
               " CTAs and those of running kernels exceed the limit of " +
               std::to_string((1 << ctaBits) - 1));
  if (request.cooperative) {
    auto workspace = space.allocate(workspaceBytes,
                                    "the workspace of the cooperative launch");
    if (!workspace) {
      underway->end(grid);
      return workspace.error();
    }
    markInitialised(*workspace, workspaceBytes);
    grid.workspace = reinterpret_cast<uint64_t>(*workspace);
  }
  grid.prepare();
  auto launch = std::make_shared<Launch>();
  launch->grid = std::move(owned);
  launches.push_back(launch);
  return launch;
}

// Underway keeps the grid while other launches may refer to its accesses.
void Simulator::end(Launch &launch) {
  Grid &grid = *launch.grid;
  launch.outcome.emplace(grid.finish());
  if (grid.workspace)
    if (auto s = space.free(reinterpret_cast<void *>(grid.workspace)); !s)
      launch.outcome.emplace(s.error());
  underway->end(grid);
  // While other launches may still write, the host does not read yet.
  if (*launch.outcome && underway->empty())
    for (Finding &f : space.takenByHost())
      (*launch.outcome)->findings.push_back(std::move(f));
  launch.grid = nullptr;
  launch.has = true;
}

/// Each launch runs for a while in turn. One that could only wait is left out
/// until memory has changed, or if `look` says that the host may have changed
/// it.
bool Simulator::advance(uint64_t instructions, bool look) {
  std::lock_guard lock(launching);
  bool moved = false;
  for (auto &launch : launches) {
    if (!look && launch->waitedAt == underway->events)
      continue;
    Grid::Outcome outcome = launch->grid->resume(instructions);
    moved |= launch->grid->moved;
    launch->waitedAt = outcome == Grid::Outcome::Waiting
                           ? underway->events.load()
                           : ~uint64_t(0);
    moved |= outcome != Grid::Outcome::Waiting;
    if (outcome == Grid::Outcome::Finished)
      end(*launch);
  }
  launches.erase(std::remove_if(launches.begin(), launches.end(),
                                [](auto &launch) { return launch->ended(); }),
                 launches.end());
  return moved;
}

void Simulator::giveUp(Launch &launch) {
  std::lock_guard lock(launching);
  if (launch.ended())
    return;
  launch.grid->giveUp();
  end(launch);
  launches.erase(std::remove_if(launches.begin(), launches.end(),
                                [&](auto &l) { return l.get() == &launch; }),
                 launches.end());
}

void Simulator::changed() { ++underway->events; }

/// Alone, a launch that does not move never will: that is a deadlock.
Result<LaunchReport> Simulator::launch(const LoadedModule &module,
                                       const std::string &kernel,
                                       const LaunchRequest &request) {
  auto launch = begin(module, kernel, request);
  if (!launch)
    return launch.error();
  while (!(*launch)->ended())
    if (!advance(0, /*look=*/false))
      giveUp(**launch);
  return (*launch)->report();
}

Result<void *> Simulator::allocate(uint64_t bytes, const std::string &name) {
  return space.allocate(bytes, name);
}
Status Simulator::free(void *address) { return space.free(address); }
void Simulator::registerHost(void *address, uint64_t bytes,
                             const std::string &name) {
  space.registerHost(address, bytes, name);
}
void Simulator::unregisterHost(void *address) { space.unregisterHost(address); }
void Simulator::markInitialised(const void *address, uint64_t bytes) {
  space.markInitialised(address, bytes);
}

Error stopped(const std::string &kernel, uint64_t warpInstructions) {
  return {"kernel '" + kernel + "' was stopped after " +
              std::to_string(warpInstructions) + " warp instructions",
          ""};
}

} // namespace act::runtime::sim
