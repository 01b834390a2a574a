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
  static const char *stepOptions[] = {"optimizer", "master", "grad-dtype",
                                      "micro-batches", "clip", "beta1", "beta2",
                                      "eps", "weight-decay"};
  std::string step;
  size_t stepAt = 0;
  for (int i = 0; i < argc; ++i) {
    std::string arg = argv[i];
    size_t dashes = arg.find_first_not_of('-');
    size_t eq = arg.find('=');
    if (i && (dashes == 1 || dashes == 2) && eq != std::string::npos) {
      std::string name = arg.substr(dashes, eq - dashes), value = arg.substr(eq + 1);
      if (name == "remat" && value.rfind("policy=", 0) != 0) {
        out.push_back(keep("--remat=policy=" + value));
        continue;
      }
      if (name == "emit" && value.rfind("file=", 0) != 0 && value.rfind("mode=", 0) != 0) {
        out.push_back(keep("--emit=file=" + value));
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
    out.push_back(argv[i]);
  }
  if (!step.empty())
    out[stepAt] = keep("--write-step=" + step);
  return out;
}
