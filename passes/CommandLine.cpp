// SPDX-License-Identifier: Apache-2.0
#include "passes/CommandLine.h"
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

/// An argument; of a flag `--name=value` the parts.
struct Word {
  std::string text, name, value;
  bool assigns = false; // has a value

  explicit Word(std::string argument) : text(std::move(argument)) {
    size_t dashes = text.find_first_not_of('-'), equals = text.find('=');
    if (dashes != 1 && dashes != 2)
      return;
    name = text.substr(dashes,
                       equals == std::string::npos ? equals : equals - dashes);
    assigns = equals != std::string::npos;
    if (assigns)
      value = text.substr(equals + 1);
  }
  Word(const std::string &name, const std::string &value)
      : Word("--" + name + "=" + value) {}

  bool is(std::string_view flag) const { return name == flag && assigns; }
  bool isOneOf(std::initializer_list<std::string_view> flags) const {
    return assigns &&
           std::find(flags.begin(), flags.end(), name) != flags.end();
  }
  bool keepsBudget() const {
    return is("remat") && value.rfind("policy=budget=", 0) == 0;
  }
  /// A report of a step that is not act's.
  bool ofAnotherView() const {
    return value.find("view=torch") != std::string::npos ||
           value.find("view=paper") != std::string::npos;
  }
  /// One more option of a pass.
  void add(const std::string &option) {
    *this = Word(name, assigns ? value + " " + option : option);
  }
};

/// A rule of CommandLine.h is a function here.
class Words {
public:
  explicit Words(const std::vector<std::string> &flags)
      : words(flags.begin(), flags.end()) {}

  void nameFirstOptions();
  void spreadTarget();
  void spreadAllocator();
  void placeDeviceMemory();
  void gatherStep();
  void orderPasses();
  std::vector<std::string> texts() const;

private:
  template <typename Is> auto find(Is is) {
    return std::find_if(words.begin(), words.end(), is);
  }
  template <typename Is> bool any(Is is) { return find(is) != words.end(); }
  /// The words that are, taken out of the line.
  template <typename Is> std::vector<Word> take(Is is) {
    std::vector<Word> taken, rest;
    for (Word &w : words)
      (is(w) ? taken : rest).push_back(std::move(w));
    words = std::move(rest);
    return taken;
  }

  std::vector<Word> words;
  bool replays = false; // the reports ask an allocator
};

// What follows a flag of a pass at once has a name, too, unless the options are
// named already.
void Words::nameFirstOptions() {
  auto named = [](const std::string &value,
                  std::initializer_list<std::string_view> options) {
    return std::any_of(options.begin(), options.end(),
                       [&](std::string_view option) {
                         return value.rfind(std::string(option) + "=", 0) == 0;
                       });
  };
  for (Word &w : words) {
    if (w.is("remat") && !named(w.value, {"policy"}))
      w = Word(w.name, "policy=" + w.value);
    else if (w.is("emit") &&
             !named(w.value, {"file", "target", "mode", "cache-dir", "cpu",
                              "kernels", "f32-products"}))
      w = Word(w.name, "file=" + w.value);
    else if (w.is("emit-ptx") &&
             !named(w.value, {"dir", "target", "mode", "cache-dir", "cubin",
                              "f32-products"}))
      w = Word(w.name, "dir=" + w.value);
  }
}

// Alone a target is left to the parser, which knows no such flag.
void Words::spreadTarget() {
  auto emits = [](const Word &w) {
    return w.isOneOf({"emit", "emit-ptx"}) ||
           (w.name == "memory-report" && !w.ofAnotherView());
  };
  if (!any(emits))
    return;
  std::vector<Word> targets =
      take([](const Word &w) { return w.is("target"); });
  for (Word &w : words)
    if (emits(w) && !targets.empty())
      w.add("target=" + targets.back().value);
}

// For every report, and for a budget, which is kept to in what the allocator
// reserves. Fixed policies ask no allocator.
void Words::spreadAllocator() {
  auto report = [](const Word &w) { return w.name == "memory-report"; };
  auto keepsBudget = [](const Word &w) { return w.keepsBudget(); };
  bool reports = any(report), budgets = any(keepsBudget);
  for (const Word &w : take([&](const Word &w) {
         return w.isOneOf({"allocator", "allocator-conf"}) ? reports || budgets
                : w.isOneOf({"cublas-workspace", "cublaslt-workspace"})
                    ? reports
                    : false;
       })) {
    replays |= reports;
    for (Word &pass : words)
      if (report(pass) ||
          (keepsBudget(pass) && w.name.rfind("allocator", 0) == 0))
        pass.add(w.name + "=" + w.value);
  }
}

// With an allocator the card is the report's, too, and alone its.
void Words::placeDeviceMemory() {
  auto isDevice = [](const Word &w) { return w.is("device-memory"); };
  auto isRemat = [](const Word &w) { return w.is("remat"); };
  size_t at = find(isDevice) - words.begin();
  std::vector<Word> sizes = take(isDevice);
  if (sizes.empty())
    return;
  std::string option = "device-memory=" + sizes.back().value;
  // Other views' steps are not the one that a budget is about: they say that
  // they need an allocator.
  bool others = std::any_of(words.begin(), words.end(), [](const Word &w) {
    return w.name == "memory-report" && w.ofAnotherView();
  });
  if (others && !replays &&
      std::none_of(words.begin(), words.end(),
                   [](const Word &w) { return w.keepsBudget(); })) {
    for (Word &w : words)
      if (w.name == "memory-report")
        w.add(option);
    return;
  }
  auto remat = std::find_if(words.rbegin(), words.rend(), isRemat);
  bool fixed = remat == words.rend() || !remat->keepsBudget();
  if (replays)
    for (Word &w : words)
      if (w.name == "memory-report")
        w.add(option);
  if (replays && fixed)
    return;
  if (remat != words.rend())
    remat->add(option);
  else
    words.insert(words.begin() + at,
                 Word("remat", "policy=budget=fit " + option));
}

// One pass for all of them. A budget has to know what the step needs.
void Words::gatherStep() {
  for (Word &w : words)
    for (const act::OptPassFlag &flag : act::optPassFlags())
      if (!w.assigns && flag.alone && w.name == flag.name)
        w = Word(w.name, flag.alone);
  auto isStep = [](const Word &w) {
    return w.assigns &&
           std::any_of(act::optPassFlags().begin(), act::optPassFlags().end(),
                       [&](const act::OptPassFlag &flag) {
                         return w.name == flag.name &&
                                flag.of == std::string_view("--write-step");
                       });
  };
  auto stepOrBudget = [&](const Word &w) {
    return isStep(w) || w.keepsBudget();
  };
  size_t at = find(stepOrBudget) - words.begin();
  std::string options;
  for (const Word &w : take(isStep))
    options += (options.empty() ? "" : " ") + w.name + "=" + w.value;
  if (!options.empty())
    words.insert(words.begin() + at, Word("write-step", options));
}

// A pass goes before the first that cannot come before it; what else stands
// between them stays where it is.
void Words::orderPasses() {
  auto stage = [](const Word &w) {
    static const std::initializer_list<std::pair<std::string_view, int>>
        stages = {{"fuse-attention", 1}, {"autodiff", 2},
                  {"remat", 3},          {"write-step", 3},
                  {"fuse-prologues", 4}, {"form-kernels", 5}};
    for (auto [name, number] : stages)
      if (w.name == name)
        return number;
    return 0;
  };
  for (size_t i = 1; i < words.size(); ++i) {
    int mine = stage(words[i]);
    auto here = words.begin() + i;
    auto later = std::find_if(words.begin(), here, [&](const Word &w) {
      return mine && stage(w) > mine;
    });
    std::rotate(later, here, here + 1);
  }
}

std::vector<std::string> Words::texts() const {
  std::vector<std::string> out;
  for (const Word &w : words)
    out.push_back(w.text);
  return out;
}

} // namespace

const std::vector<act::OptPassFlag> &act::optPassFlags() {
  static const char step[] = "--write-step";
  static const std::vector<OptPassFlag> flags = {
      {"target", "--emit, --emit-ptx or --memory-report"},
      {"allocator", "--memory-report or a --remat with a budget"},
      {"allocator-conf", "--memory-report or a --remat with a budget"},
      {"cublas-workspace", "--memory-report"},
      {"cublaslt-workspace", "--memory-report"},
      {"device-memory", "--memory-report or --remat"},
      {"optimizer", step},
      {"master", step},
      {"grad-dtype", step},
      {"micro-batches", step},
      {"clip", step},
      {"state-dtype", step},
      {"grad-norm", step, "true"},
      {"loss-scale", step, "true"},
      {"momentum", step},
      {"decay-on", step},
      {"beta1", step},
      {"beta2", step},
      {"eps", step},
      {"loss-average", step},
      {"weight-decay", step}};
  return flags;
}

const char act::optPassFlagsHelp[] = R"(
Shorthands for the options above:
  --remat=POLICY                      none, selective, attention-core, attention,
                                      layer, sqrt, segments=N or budget=24GB
  --emit=FILE                         --emit="file=FILE"
  --emit-ptx=DIR                      --emit-ptx="dir=DIR"
  --optimizer=adamw --clip=1.0 ...    --write-step="optimizer=adamw clip=1.0 ..."
  --target=sm_80                      for every --emit, --emit-ptx and
                                      --memory-report
  --allocator=cuda-caching            for every --memory-report, and for --remat
                                      with a budget
  --device-memory=24GB                with --allocator: its card; otherwise
                                      --remat="policy=budget=fit device-memory=24GB"

Passes run in the order of the command line. Six always run in this order, however
they are typed: fuse-attention, autodiff, remat and write-step, fuse-prologues,
form-kernels.
)";

std::vector<std::string>
act::expandPassFlags(const std::vector<std::string> &flags) {
  Words words(flags);
  words.nameFirstOptions();
  words.spreadTarget();
  words.spreadAllocator();
  words.placeDeviceMemory();
  words.gatherStep();
  words.orderPasses();
  return words.texts();
}

std::vector<char *> act::expandOptPassFlags(int argc, char **argv) {
  // MLIR's parser keeps pointers into the arguments.
  static std::vector<std::unique_ptr<std::string>> strings;
  std::vector<char *> out{argv[0]};
  for (std::string &text : expandPassFlags({argv + 1, argv + argc}))
    out.push_back(
        strings.emplace_back(std::make_unique<std::string>(std::move(text)))
            ->data());
  return out;
}
