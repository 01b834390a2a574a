// SPDX-License-Identifier: Apache-2.0
//
// act-plan: places buffers with known lifetimes in one arena.
#include "tools/Numbers.h"
#include "tools/act-plan/CommandLine.h"
#include "tools/arguments/ParseArguments.h"

int main(int argc, char **argv) {
  CLI::App app("gives buffers with known lifetimes offsets in one arena",
               "act-plan");
  act::plantool::CommandLine o;
  app.add_option("FILE", o.file,
                 "CSV: id,lower,upper,size and, if wanted, alignment, hint, "
                 "gaps, offset (fixed, where there is one); - is standard "
                 "input")
      ->required();
  app.add_option("--capacity", o.capacity, "bytes of the arena, at most")
      ->transform(act::tools::whole(0, uint64_t(1) << 62));
  app.add_flag("--minimize", o.minimize,
               "the lowest arena, and whether it is proven to be");
  app.add_flag("--validate", o.validate,
               "checks the offsets of FILE, or those found for it");
  app.add_flag("--json", o.json, "an object in place of the CSV");
  app.add_option("--nodes", o.nodes,
                 "of the search, at most (default: 100000000, with --minimize "
                 "1000000)")
      ->transform(act::tools::whole(1));
  app.add_option("--seed", o.seed, "of the orders that are tried")
      ->transform(act::tools::whole(0))
      ->capture_default_str();
  if (auto status = act::tools::parseArguments(app, argc, argv))
    return *status;
  return act::plantool::run(o);
}
