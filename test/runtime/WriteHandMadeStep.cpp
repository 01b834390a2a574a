// SPDX-License-Identifier: Apache-2.0
//
// Writes a step made by hand to a file, for tests of tools and of the C API:
//   write-hand-made-step arithmetic|bigram|bigram-packed|malloc OUT.act
#include "act/Artifact/Format.h"
#include "test/runtime/HandMadeSteps.h"
#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  std::string kind = argv[1];
  act::test::BigramOptions o;
  o.packed = kind == "bigram-packed";
  o.vocabulary = 70;
  act::artifact::Step step =
      kind == "arithmetic" ? act::test::arithmeticStep()
      : kind == "malloc"   ? act::test::arithmeticStep(4, "add_with_malloc")
                           : act::test::bigramStep(o);
  auto s = act::artifact::writeFile(argv[2], step);
  if (!s)
    fprintf(stderr, "%s\n", s.error().str().c_str());
  return s ? 0 : 1;
}
