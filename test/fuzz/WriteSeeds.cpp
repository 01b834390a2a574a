// SPDX-License-Identifier: Apache-2.0
//
// Valid files to start the fuzzers from: write-fuzz-seeds FOLDER
#include "act/Artifact/Format.h"
#include "act/Npy/Npy.h"
#include "act/Safetensors/Safetensors.h"
#include "test/runtime/HandMadeSteps.h"

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  std::string folder = std::string(argv[1]) + "/";
  act::artifact::Step step = act::test::bigramStep();
  step.code = {1, 2, 3};
  float values[6] = {};
  return act::artifact::writeFile(folder + "Artifact/seed", step) &&
                 act::safetensors::write(
                     folder + "Safetensors/seed",
                     {{"x", "F32", {2, 3}, values}, {"y", "BF16", {2}, values}},
                     {{"format", "pt"}}) &&
                 act::npy::write(folder + "Npy/seed", "i4", {2, 3}, values)
             ? 0
             : 1;
}
