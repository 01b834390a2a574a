// SPDX-License-Identifier: Apache-2.0
//
// Valid files to start the fuzzers from: write-fuzz-seeds FOLDER [FILE.ptx...]
#include "act/Artifact/Format.h"
#include "act/File/MappedFile.h"
#include "act/Npy/Npy.h"
#include "act/Safetensors/Safetensors.h"
#include "test/runtime/HandMadeSteps.h"
#include <fstream>

// A launch of a PTX file, for LaunchFuzzer: a header of zeros and the text.
static bool writeLaunch(const std::string &folder, const std::string &file) {
  auto text = act::file::MappedFile::open(file);
  if (!text)
    return false;
  std::string name = file.substr(file.rfind('/') + 1);
  std::ofstream out(folder + "Launch/" + name, std::ios::binary);
  out << std::string(16, '\0') << text->text();
  return static_cast<bool>(out.flush());
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  std::string folder = std::string(argv[1]) + "/";
  act::artifact::Step step = act::test::bigramStep();
  step.code = {1, 2, 3};
  float values[6] = {};
  for (int i = 2; i < argc; ++i)
    if (!writeLaunch(folder, argv[i]))
      return 1;
  act::artifact::Step withImages = act::test::arithmeticStepOfPtx(4, "ptx");
  act::test::addImage(withImages, 0, "first");
  act::test::addImage(withImages, 2, "second");
  return act::artifact::writeFile(folder + "Artifact/seed", step) &&
                 act::artifact::writeFile(folder + "Artifact/images",
                                          withImages) &&
                 act::safetensors::write(
                     folder + "Safetensors/seed",
                     {{"x", "F32", {2, 3}, values}, {"y", "BF16", {2}, values}},
                     {{"format", "pt"}}) &&
                 act::npy::write(folder + "Npy/seed", "i4", {2, 3}, values)
             ? 0
             : 1;
}
