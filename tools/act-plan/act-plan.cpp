// SPDX-License-Identifier: Apache-2.0
//
// act-plan: places buffers with known lifetimes in one arena.
#include "tools/Numbers.h"
#include "tools/act-plan/CommandLine.h"
#include "tools/arguments/ParseArguments.h"

int main(int argc, char **argv) {
  CLI::App app("Finds offsets in one arena for buffers with known lifetimes.",
               "act-plan");
  act::plantool::CommandLine o;
  app.add_option("FILE", o.file,
                 "CSV with the columns id, lower, upper, size and optionally "
                 "alignment, hint, gaps, offset (a fixed offset); - reads "
                 "standard input")
      ->required();
  app.add_option("--capacity", o.capacity, "largest arena allowed, in bytes")
      ->transform(act::tools::whole(0, uint64_t(1) << 62));
  app.add_flag("--minimize", o.minimize,
               "find the smallest arena; says whether that is proven");
  app.add_flag("--validate", o.validate,
               "check the offsets in FILE, or those that were found");
  app.add_flag("--json", o.json, "print a JSON object instead of CSV");
  app.add_option("--nodes", o.nodes,
                 "limit of search nodes (default: 100000000; with --minimize "
                 "1000000)")
      ->transform(act::tools::whole(1));
  app.add_option("--seed", o.seed,
                 "seed of the buffer orders that the search tries")
      ->transform(act::tools::whole(0))
      ->capture_default_str();
  if (auto status = act::tools::parseArguments(app, argc, argv))
    return *status;
  return act::plantool::run(o);
}
