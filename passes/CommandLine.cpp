// SPDX-License-Identifier: Apache-2.0
#include "passes/CommandLine.h"
#include <algorithm>
#include <memory>
#include <string>

std::vector<char *> act::expandOptPassFlags(int argc, char **argv) {
  // MLIR's parser keeps pointers into the arguments.
  static std::vector<std::unique_ptr<std::string>> strings;
  std::vector<char *> out;
  auto keep = [&](std::string s) {
    strings.push_back(std::make_unique<std::string>(std::move(s)));
    return strings.back()->data();
  };
  static const char *stepOptions[] = {
      "optimizer", "master", "grad-dtype", "micro-batches", "clip",
      "beta1",     "beta2",  "eps",        "weight-decay"};
  static const char *ptxOptions[] = {"dir", "target", "mode", "cache-dir", "cubin"};
  static const char *emitOptions[] = {"file", "target", "mode", "cache-dir", "cpu", "kernels"};
  static const char *allocatorOptions[] = {"allocator", "allocator-conf", "cublas-workspace",
                                           "cublaslt-workspace"};
  auto isNamed = [](const auto &options, const std::string &value) {
    return std::any_of(std::begin(options), std::end(options), [&](auto *option) {
      return value.rfind(std::string(option) + "=", 0) == 0;
    });
  };
  std::string step, target, allocator, deviceMemory;
  size_t stepAt = 0, rematAt = 0, deviceAt = 0;
  std::vector<std::string> allocatorOfBudget;
  std::vector<size_t> emitAt, reportAt; // in out
  bool reports = std::any_of(argv, argv + argc, [](const char *arg) {
    size_t at = std::string(arg).find("-memory-report");
    return at <= 1;
  });
  // Fixed policies ask no allocator.
  bool budgets = std::any_of(argv, argv + argc, [](const char *arg) {
    std::string s = arg;
    size_t at = s.find("-remat=");
    return at <= 1 && (s.find("=budget=") != std::string::npos);
  });
  bool emits = std::any_of(argv, argv + argc, [](const char *arg) {
    std::string s = arg;
    return s.find("-emit-ptx=") <= 1 || s.find("-emit=") <= 1;
  });
  for (int i = 0; i < argc; ++i) {
    std::string arg = argv[i];
    size_t dashes = arg.find_first_not_of('-');
    size_t eq = arg.find('=');
    if (i && (dashes == 1 || dashes == 2) && eq != std::string::npos) {
      std::string name = arg.substr(dashes, eq - dashes),
                  value = arg.substr(eq + 1);
      if (name == "remat") {
        out.push_back(nullptr); // room for --write-step
        rematAt = out.size();
        out.push_back(keep("--remat=" + std::string(value.rfind("policy=", 0) ? "policy=" : "") + value));
        continue;
      }
      if (name == "device-memory") {
        deviceMemory = value;
        out.push_back(nullptr);
        deviceAt = out.size();
        out.push_back(nullptr);
        continue;
      }
      if (name == "emit") {
        emitAt.push_back(out.size());
        out.push_back(keep("--emit=" + (isNamed(emitOptions, value) ? value : "file=" + value)));
        continue;
      }
      if (name == "emit-ptx") {
        emitAt.push_back(out.size());
        out.push_back(keep("--emit-ptx=" + (isNamed(ptxOptions, value) ? value : "dir=" + value)));
        continue;
      }
      // Alone it is left to the parser, which knows no such flag.
      if (name == "target" && emits) {
        target = value;
        continue;
      }
      if (name == "allocator" || name == "allocator-conf") {
        allocatorOfBudget.push_back(name + "=" + value);
        if (!reports && budgets)
          continue;
      }
      if (reports && std::find(std::begin(allocatorOptions), std::end(allocatorOptions), name) !=
                         std::end(allocatorOptions)) {
        allocator += " " + name + "=" + value;
        continue;
      }
      if (std::find(std::begin(stepOptions), std::end(stepOptions), name) !=
          std::end(stepOptions)) {
        if (step.empty()) {
          stepAt = out.size();
          out.push_back(nullptr);
        }
        step += (step.empty() ? "" : " ") + name + "=" + value;
        continue;
      }
    }
    if (arg == "-memory-report" || arg == "--memory-report" ||
        arg.rfind("-memory-report=", 0) == 0 || arg.rfind("--memory-report=", 0) == 0)
      reportAt.push_back(out.size());
    out.push_back(argv[i]);
  }
  if (!step.empty())
    out[stepAt] = keep("--write-step=" + step);
  auto isBudget = [&] {
    return rematAt && std::string(out[rematAt]).find("policy=budget=") != std::string::npos;
  };
  // A budget is kept to in what the allocator reserves.
  if (rematAt && isBudget())
    for (const std::string &setting : allocatorOfBudget)
      out[rematAt] = keep(std::string(out[rematAt]) + " " + setting);
  // With an allocator the card is the report's, too, and alone its.
  if (deviceAt && !allocator.empty()) {
    allocator += " device-memory=" + deviceMemory;
    if (!isBudget())
      deviceAt = 0;
  }
  if (deviceAt && !rematAt) {
    rematAt = deviceAt;
    deviceAt = 0;
    out[rematAt] = keep("--remat=policy=budget=fit device-memory=" + deviceMemory);
  } else if (deviceAt) {
    out[rematAt] = keep(std::string(out[rematAt]) + " device-memory=" + deviceMemory);
  }
  // What a step needs is known once it is written.
  if (stepAt && isBudget() && rematAt < stepAt)
    std::swap(out[rematAt - 1], out[stepAt]);
  if (!target.empty())
    for (size_t at : emitAt)
      out[at] = keep(std::string(out[at]) + " target=" + target);
  if (!allocator.empty())
    for (size_t at : reportAt) {
      std::string report = out[at];
      bool bare = report.find('=') == std::string::npos;
      out[at] = keep(report + (bare ? "=" + allocator.substr(1) : allocator));
    }
  out.erase(std::remove(out.begin(), out.end(), nullptr), out.end());
  return out;
}
