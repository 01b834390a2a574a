// SPDX-License-Identifier: Apache-2.0
#include "act/File/MappedFile.h"
#include "runtime/LaunchRules.h"
#include "runtime/PtxTarget.h"
#include "tools/actrt-sim/Arguments.h"
#include "tools/actrt-sim/CommandLine.h"
#include "tools/actrt-sim/Profile.h"
#include <cstdio>

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
  return Error{(o.kernel.empty() ? "expected --kernel, one of "
                                 : "no kernel '" + o.kernel + "', there is ") +
                   all,
               o.file};
}

Status simtool::checkCount(const std::string &kernel, size_t parameters,
                           const std::vector<Argument> &given) {
  if (given.size() == parameters)
    return ok();
  return Error{"kernel '" + kernel + "' has " + std::to_string(parameters) +
                   " parameters, given " + std::to_string(given.size()) +
                   " --arg",
               ""};
}

Status simtool::checkSize(const std::string &kernel, size_t number,
                          size_t bytes, const Argument &given) {
  if (given.value.size() == bytes)
    return ok();
  return Error{"--arg " + given.text + ": the value has " +
                   std::to_string(given.value.size()) + " bytes, parameter " +
                   std::to_string(number) + " of '" + kernel + "' has " +
                   std::to_string(bytes),
               ""};
}

// The values of the arguments behind one another, as the kernel declares them.
static Result<std::vector<uint8_t>>
parameterBlock(const KernelInfo &kernel, const std::vector<Argument> &given) {
  if (auto s =
          simtool::checkCount(kernel.name, kernel.parameters.size(), given);
      !s)
    return s.error();
  std::vector<uint8_t> block(kernel.parameterBytes);
  for (size_t i = 0; i < given.size(); ++i) {
    const auto &p = kernel.parameters[i];
    if (auto s = simtool::checkSize(kernel.name, i, p.bytes, given[i]); !s)
      return s.error();
    std::copy(given[i].value.begin(), given[i].value.end(),
              block.begin() + static_cast<ptrdiff_t>(p.offset));
  }
  return block;
}

Status simtool::checkExtents(const std::vector<Extent> &extents,
                             const std::vector<Argument> &given) {
  for (size_t i = 0; i < std::min(extents.size(), given.size()); ++i) {
    bool isArray = given[i].kind == Argument::In ||
                   given[i].kind == Argument::InOut ||
                   given[i].kind == Argument::Out;
    if (!isArray)
      continue;
    const std::string &dtype = given[i].array.dtype; // "f4"
    bool floats = dtype[0] == 'f';
    if (extents[i].bytes &&
        (npy::elementBytes(dtype) != extents[i].elementBytes ||
         (extents[i].elements == Extent::Floats && !floats) ||
         (extents[i].elements == Extent::Integers && floats)))
      return Error{"--arg " + given[i].text + ": the array's elements are " +
                       dtype + ", which are not those of " + extents[i].type,
                   ""};
    if (given[i].array.bytes.size() < extents[i].bytes)
      return Error{"--arg " + given[i].text + ": the array has " +
                       std::to_string(given[i].array.bytes.size()) +
                       " bytes, expected at least " +
                       std::to_string(extents[i].bytes) + " for " +
                       extents[i].type,
                   ""};
  }
  return ok();
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
  }
  r.dynamicSharedBytes = o.sharedBytes;
  r.cooperative = o.cooperative;

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

int simtool::run(const CommandLine &o) {
  auto file = file::MappedFile::open(o.file);
  if (!file)
    return fail(o, file.error());
  return run(o, file->text());
}

int simtool::run(const CommandLine &o, std::string_view ptx,
                 const std::vector<Extent> &extents) {
  std::vector<Argument> arguments;
  for (const std::string &text : o.arguments) {
    auto a = parseArgument(text);
    if (!a)
      return fail(o, a.error());
    arguments.push_back(std::move(*a));
  }
  auto target = chooseTarget(o, ptx);
  if (!target)
    return fail(o, target.error());

  Options options;
  options.checks = o.checks != "none";
  options.seed = o.seed;
  options.maximumInstructions = o.maximumInstructions;
  options.threads = o.threads;
  if (o.json) // what kernels print would break it
    options.print = [](std::string_view text) {
      fwrite(text.data(), 1, text.size(), stderr);
    };
  Simulator simulator(*target, options);
  auto module = simulator.load(ptx, o.file);
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
  if (auto s = checkExtents(extents, arguments); !s)
    return fail(o, s.error());
  auto parameters = parameterBlock(*kernel, arguments);
  if (!parameters)
    return fail(o, parameters.error());
  request->parameters = std::move(*parameters);

  auto report = simulator.launch(**module, kernel->name, *request);
  if (!report)
    return fail(o, report.error());
  auto tellFindings = [&] {
    for (const Finding &f : report->findings)
      fprintf(stderr, "%s\n", f.str().c_str());
    return report->findings.empty() ? 0 : 2;
  };
  if (report->stoppedAfter) { // results are not written
    int found = tellFindings();
    int failed = fail(o, stopped(kernel->name, report->stoppedAfter));
    return found ? found : failed;
  }
  if (auto s = writeBack(arguments); !s)
    return fail(o, s.error());
  Profile profile{*target, *kernel, *request, *report};
  std::string text = o.json ? json(profile) : table(profile);
  fflush(stdout);
  fputs(text.c_str(), stdout);
  return tellFindings();
}
