// SPDX-License-Identifier: Apache-2.0
//
// One run of the tool: reads, checks, launches, prints, writes results. act-run
// kernel calls it too, with parameters that it knows from the IR.
#include "act/File/MappedFile.h"
#include "runtime/FatBinary.h"
#include "runtime/LaunchRules.h"
#include "tools/actrt-sim/Arguments.h"
#include "tools/actrt-sim/CommandLine.h"
#include "tools/actrt-sim/Profile.h"
#include "tools/arguments/FileKind.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace act;
using namespace act::simtool;
using namespace act::runtime::sim;

static int fail(const CommandLine &o, const Error &error) {
  fprintf(stderr, "%s: error: %s\n", o.tool.c_str(), error.str().c_str());
  return 1;
}

static Result<Target> chooseTarget(const CommandLine &o,
                                   std::string_view text) {
  if (!o.target.empty())
    return targetNamed(o.target);
  auto name = runtime::simulatorFor(text); // "sim:sm_90a"
  if (!name)
    return Error{name.error().message, o.file};
  return targetNamed(name->substr(4));
}

static Result<KernelInfo> chooseKernel(const CommandLine &o,
                                       const LoadedModule &module) {
  std::vector<std::string> names = module.kernels();
  std::string all;
  for (const std::string &n : names)
    all += (all.empty() ? "" : ", ") + n;
  for (const std::string &n : names)
    if (n == o.kernel || (o.kernel.empty() && names.size() == 1)) {
      auto info = module.kernel(n);
      if (info)
        info->name = n;
      return info;
    }
  if (names.empty())
    return Error{"the file has no kernel", o.file};
  return Error{(o.kernel.empty()
                    ? "expected --kernel, one of "
                    : "no kernel '" + o.kernel + "'; the file has ") +
                   all,
               o.file};
}

/// The kind of argument that a parameter expects; empty if `given` fits.
static std::string expected(const Parameter &p, const Argument &given) {
  bool number = given.kind == Argument::Scalar, isFloat = given.text[0] == 'f';
  switch (p.kind) {
  case Parameter::Array:
    return given.isArray() ? "" : "an array";
  case Parameter::Pointer:
    return given.isArray() || (number && !isFloat) ? ""
                                                   : "an array or a pointer";
  case Parameter::Float:
    return number && isFloat ? "" : "a float";
  case Parameter::Integer:
    return number && !isFloat ? "" : "an integer";
  case Parameter::Map:
  case Parameter::Unknown:
    break;
  }
  return "";
}

static std::string wrongElements(const Parameter &p, const npy::Array &array) {
  bool floats = array.dtype[0] == 'f'; // "f4"
  if (npy::elementBytes(array.dtype) != p.elementBytes ||
      (p.elements == Parameter::Floats && !floats) ||
      (p.elements == Parameter::Integers && floats))
    return "the array's elements are " + array.dtype + ", which do not match " +
           p.type;
  if (array.bytes.size() < p.arrayBytes)
    return "the array has " + std::to_string(array.bytes.size()) +
           " bytes, expected at least " + std::to_string(p.arrayBytes) +
           " for " + p.type;
  // More rows only add memory after the view; a different row length changes
  // the layout.
  if (array.shape.size() == p.shape.size())
    for (size_t d = 1; d < p.shape.size(); ++d)
      if (array.shape[d] != p.shape[d])
        return "the array has " + std::to_string(array.shape[d]) +
               " elements along dimension " + std::to_string(d) +
               ", expected " + std::to_string(p.shape[d]) + " as in " + p.type;
  return "";
}

Status simtool::checkArguments(const std::string &kernel,
                               const std::vector<Parameter> &parameters,
                               const std::vector<Argument> &given) {
  if (given.size() != parameters.size())
    return Error{"kernel '" + kernel + "' has " +
                     std::to_string(parameters.size()) + " parameters, but " +
                     std::to_string(given.size()) + " --arg are given",
                 ""};
  for (size_t i = 0; i < given.size(); ++i) {
    const Parameter &p = parameters[i];
    std::string parameter =
                    "parameter " + std::to_string(i) + " of '" + kernel + "'",
                wrong;
    if (std::string kind = expected(p, given[i]); !kind.empty())
      wrong = "expected " + kind + " for " + parameter;
    else if (given[i].value.size() != p.bytes)
      wrong = "the value has " + std::to_string(given[i].value.size()) +
              " bytes, " + parameter + " has " + std::to_string(p.bytes);
    else if (p.elementBytes && given[i].isArray())
      wrong = wrongElements(p, given[i].array);
    if (!wrong.empty())
      return Error{"--arg " + given[i].text + ": " + wrong, ""};
  }
  return ok();
}

Status simtool::addMaps(const std::vector<Parameter> &parameters,
                        std::vector<Argument> &given, const EncodeMap &encode) {
  size_t own = 0;
  while (own < parameters.size() && parameters[own].kind != Parameter::Map)
    ++own;
  // Otherwise checkArguments tells how many are expected.
  for (size_t i = own; i < parameters.size() && given.size() == i; ++i) {
    const artifact::TensorMap &map = parameters[i].map;
    const Argument &of = given[map.argument];
    Argument a;
    a.kind = Argument::Map;
    a.text = "(tensor map of " + of.text + ")";
    uint64_t address = 0;
    std::memcpy(&address, of.value.data(),
                std::min<size_t>(8, of.value.size()));
    auto made = encode(runtime::tiledTensor(map, address));
    if (!made)
      return Error{"--arg " + of.text + ": " + made.error().str(), ""};
    a.value.assign(made->bytes, made->bytes + sizeof made->bytes);
    given.push_back(std::move(a));
  }
  return ok();
}

/// PTX declares only the sizes of parameters.
static std::vector<Parameter> parametersOf(const KernelInfo &kernel) {
  std::vector<Parameter> parameters;
  for (const auto &declared : kernel.parameters) {
    Parameter p;
    p.bytes = declared.bytes;
    parameters.push_back(p);
  }
  return parameters;
}

// The arguments' values, laid out as the kernel declares its parameters.
static std::vector<uint8_t> parameterBlock(const KernelInfo &kernel,
                                           const std::vector<Argument> &given) {
  std::vector<uint8_t> block(kernel.parameterBytes);
  for (size_t i = 0; i < given.size(); ++i)
    std::copy(given[i].value.begin(), given[i].value.end(),
              block.begin() +
                  static_cast<ptrdiff_t>(kernel.parameters[i].offset));
  return block;
}

static Result<LaunchRequest> makeRequest(const CommandLine &o,
                                         const Target &target,
                                         const KernelInfo &kernel) {
  LaunchRequest r;
  if (auto s = parseDimensions("--grid", o.grid, r.grid); !s)
    return s.error();
  if (!o.cluster.empty())
    if (auto s = parseDimensions("--cluster", o.cluster, r.cluster); !s)
      return s.error();
  if (!o.block.empty()) {
    if (auto s = parseDimensions("--block", o.block, r.block); !s)
      return s.error();
  } else if (kernel.requiredBlock[0]) {
    std::copy(kernel.requiredBlock, kernel.requiredBlock + 3, r.block);
  } else if (kernel.boundsBlock) {
    // The default block of one thread would hide all races.
    return Error{"--block: expected the block that '" + kernel.name +
                     "' is launched with; .maxntid (__launch_bounds__) only "
                     "limits it to " +
                     std::to_string(kernel.maxThreads) + " threads",
                 ""};
  }
  r.dynamicSharedBytes = o.sharedBytes;
  r.cooperative = o.cooperative;
  r.atOnce = o.atOnce;

  runtime::DeviceInfo device;
  device.name = "sim:" + target.name;
  device.target = target.name;
  device.sm = target.sm;
  device.sharedBytesPerBlock = target.sharedBytesPerBlock;
  runtime::KernelAttributes attributes;
  attributes.maxThreadsPerBlock = kernel.maxThreads;
  attributes.sharedBytes = kernel.sharedBytes;
  runtime::LaunchShape shape;
  for (int i = 0; i < 3; ++i) {
    attributes.requiredBlock[i] = kernel.requiredBlock[i];
    attributes.requiredCluster[i] = kernel.requiredCluster[i];
    shape.grid[i] = r.grid[i];
    shape.block[i] = r.block[i];
    shape.cluster[i] = r.cluster[i];
  }
  shape.sharedBytes = o.sharedBytes;
  if (auto s = checkLaunch(device, attributes, shape); !s)
    return s.error();
  return r;
}

/// Notes how many elements of a result were never written.
static void tellUnwritten(const CommandLine &o, const Argument &a,
                          const Memory &memory) {
  uint64_t bytes = a.array.bytes.size(),
           each = npy::elementBytes(a.array.dtype);
  if (uint64_t left = memory.uninitialised(a.address, bytes, each))
    fprintf(stderr,
            "%s: note: --arg %s: %llu of %llu elements were never "
            "written\n",
            o.tool.c_str(), a.text.c_str(), (unsigned long long)left,
            (unsigned long long)(bytes / each));
}

/// Easily forgotten, and the kernel runs all the same: results that nobody
/// keeps.
void simtool::tellDropped(const std::string &tool, const std::string &kernel,
                          const std::vector<Parameter> &parameters,
                          const std::vector<Argument> &given) {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].isWritten && given[i].kind == Argument::In)
      fprintf(stderr,
              "%s: note: --arg %s: kernel '%s' writes to it, but the file is "
              "not changed; use inout: to write it back\n",
              tool.c_str(), given[i].text.c_str(), kernel.c_str());
}

int simtool::run(const CommandLine &o) {
  auto file = file::MappedFile::open(o.file);
  if (!file)
    return fail(o, file.error());
  if (auto foreign =
          tools::ifForeign(o.file, file->text(), tools::FileKind::Ptx);
      !foreign.empty())
    return fail(o, {foreign, o.file});
  return run(o, file->text());
}

int simtool::run(const CommandLine &o, std::string_view ptx,
                 const std::vector<Parameter> *parameters) {
  auto parsed = parseArguments(o.arguments);
  if (!parsed)
    return fail(o, parsed.error());
  std::vector<Argument> &arguments = *parsed;
  auto target = chooseTarget(o, ptx);
  if (!target)
    return fail(o, target.error());

  Options options;
  options.checks = o.checks != "none";
  options.strict = o.strict;
  options.orderedSums = o.orderedSums;
  options.seed = o.seed;
  options.drawsRounding = o.draw == "all";
  options.maximumInstructions = o.maximumInstructions;
  options.threads = o.threads;
  if (o.json) // output of the kernel's prints would break it
    options.print = [](std::string_view text) {
      fwrite(text.data(), 1, text.size(), stderr);
    };
  auto code = runtime::ptxOf(ptx, [&](const runtime::PtxTarget &t) {
    return runs(*target, t.sm, t.suffix);
  });
  if (!code)
    return fail(o, {code.error().message, o.file});
  Simulator simulator(*target, options);
  auto module = simulator.load(*code, o.file);
  if (!module)
    return fail(o, module.error());
  auto kernel = chooseKernel(o, **module);
  if (!kernel)
    return fail(o, kernel.error());
  auto request = makeRequest(o, *target, *kernel);
  if (!request)
    return fail(o, request.error());
  if (auto s = place(arguments, simulator); !s)
    return fail(o, s.error());
  if (parameters)
    if (auto s = addMaps(*parameters, arguments,
                         [](const runtime::TiledTensor &tensor) {
                           return encodeTensorMap(tensor);
                         });
        !s)
      return fail(o, s.error());
  // Known parameters are checked first: their errors say more.
  if (parameters)
    if (auto s = checkArguments(kernel->name, *parameters, arguments); !s)
      return fail(o, s.error());
  if (auto s = checkArguments(kernel->name, parametersOf(*kernel), arguments);
      !s)
    return fail(o, s.error());
  request->parameters = parameterBlock(*kernel, arguments);

  auto report = simulator.launch(**module, kernel->name, *request);
  if (!report)
    return fail(o, report.error());
  auto tellFindings = [&] {
    int status = 0;
    for (const Finding &f : report->findings) {
      fprintf(stderr, "%s\n", f.str().c_str());
      if (!isTolerated(f.kind) || o.benign == "error")
        status = 2;
    }
    return status;
  };
  if (report->stoppedAfter) { // results are not written
    int found = tellFindings();
    int failed = fail(o, stopped(kernel->name, report->stoppedAfter));
    return found ? found : failed;
  }
  if (auto s = writeBack(arguments); !s)
    return fail(o, s.error());
  for (const Argument &a : arguments)
    if (a.isWritten())
      for (Finding &f : simulator.takenByHost(a.address, a.array.bytes.size()))
        report->findings.push_back(std::move(f));
  Profile profile{*target, *kernel, *request, *report};
  std::string text = o.json ? json(profile) : table(profile);
  fflush(stdout);
  fputs(text.c_str(), stdout);
  int found = tellFindings();
  for (const Argument &a : arguments)
    if (a.kind == Argument::Out)
      tellUnwritten(o, a, simulator.memory());
  if (parameters)
    tellDropped(o.tool, kernel->name, *parameters, arguments);
  return found;
}
