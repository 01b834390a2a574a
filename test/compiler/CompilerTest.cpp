// SPDX-License-Identifier: Apache-2.0
//
// The compiler's C interface: what it makes is what the tools make, and bad
// input is an error of the call.
#include "act-c/Compiler.h"
#include "act-c/Runtime.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sstream>
#include <thread>

namespace {

const char small[] = R"(
func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = act.softmax %x axis 1 : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
})";

std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

/// What a call put out, released.
struct Files {
  std::vector<std::pair<std::string, std::string>> all;
  explicit Files(actc_output output) {
    size_t count = 0;
    EXPECT_EQ(actc_output_count(output, &count), ACTC_SUCCESS);
    for (size_t i = 0; i < count; ++i) {
      const char *name;
      const void *data;
      size_t size;
      EXPECT_EQ(actc_output_get(output, i, &name, &data, &size), ACTC_SUCCESS);
      EXPECT_EQ(static_cast<const char *>(data)[size], 0);
      all.push_back({name, {static_cast<const char *>(data), size}});
    }
    EXPECT_EQ(actc_output_release(output), ACTC_SUCCESS);
  }
  std::string one() const {
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? "" : all[0].second;
  }
};

using Making = actc_status (*)(actc_module, const char *, actc_output *);

class Compiler : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(actc_context_create(&context), ACTC_SUCCESS);
    folder = std::filesystem::temp_directory_path() /
             ("act-compiler-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override {
    EXPECT_EQ(actc_context_release(context), ACTC_SUCCESS);
    std::filesystem::remove_all(folder);
  }
  actc_module parse(const std::string &text, const char *name = "a.mlir") {
    actc_module module = nullptr;
    EXPECT_EQ(
        actc_module_parse(context, name, text.data(), text.size(), &module),
        ACTC_SUCCESS)
        << actc_last_error();
    return module;
  }
  actc_module import(std::vector<const char *> options = {}) {
    const std::string config = read(CONFIG);
    actc_module module = nullptr;
    EXPECT_EQ(actc_module_import(context, config.data(), config.size(),
                                 options.data(), options.size(), &module),
              ACTC_SUCCESS)
        << actc_last_error();
    return module;
  }
  actc_status run(actc_module module, std::vector<const char *> flags) {
    return actc_module_run(module, flags.data(), flags.size());
  }
  std::string print(actc_module module, actc_form form = ACTC_TEXT) {
    actc_output output = nullptr;
    EXPECT_EQ(actc_module_print(module, form, &output), ACTC_SUCCESS);
    return Files(output).one();
  }
  Files make(Making making, actc_module module, const char *options) {
    actc_output output = nullptr;
    EXPECT_EQ(making(module, options, &output), ACTC_SUCCESS)
        << actc_last_error();
    return Files(output);
  }
  /// A tool's output to this file of the folder.
  void tool(const std::string &command) {
    ASSERT_EQ(std::system(("cd " + folder.string() + " && " + command).c_str()),
              0);
  }
  std::string file(const std::string &name) {
    return read((folder / name).string());
  }

  actc_context context = nullptr;
  std::filesystem::path folder;
};

TEST_F(Compiler, MakesWhatTheToolsMake) {
  tool(ACT_IMPORT " " CONFIG " --batch 2 --seq=32 -o model.mlir && " ACT_OPT
                  " model.mlir --remat=selective --fuse-attention "
                  "--optimizer=adamw -o after.mlir --emit=step.act "
                  "--memory-report='format=json file=report.json'");
  tool(ACT_OPT " model.mlir --fuse-attention --emit-ptx='dir=ptx "
               "target=sm_80' -o /dev/null");
  actc_module imported = import({"--batch=2", "--seq=32"});
  actc_module module = parse(file("model.mlir"), "model.mlir");
  EXPECT_EQ(print(imported), print(module));
  ASSERT_EQ(run(module,
                {"--remat=selective", "--fuse-attention", "--optimizer=adamw"}),
            ACTC_SUCCESS)
      << actc_last_error();
  actc_module again = parse(file("after.mlir"));
  EXPECT_EQ(print(module), print(again));
  EXPECT_EQ(make(actc_module_report, module, "format=json").one(),
            file("report.json"));
  EXPECT_EQ(make(actc_module_emit, module, nullptr).one(), file("step.act"));

  ASSERT_EQ(run(imported, {"--fuse-attention"}), ACTC_SUCCESS);
  Files kernels = make(actc_module_emit_ptx, imported, "target=sm_80");
  size_t found = 0;
  for (auto &entry : std::filesystem::directory_iterator(folder / "ptx"))
    found += entry.is_regular_file();
  EXPECT_EQ(kernels.all.size(), found);
  EXPECT_EQ(kernels.all.back().first, "index.json");
  for (auto &[name, bytes] : kernels.all)
    EXPECT_EQ(bytes, file("ptx/" + name)) << name;
  for (actc_module m : {module, again, imported})
    EXPECT_EQ(actc_module_release(m), ACTC_SUCCESS);
}

TEST_F(Compiler, TheRuntimeRunsWhatItMakes) {
  actc_module module = parse(small);
  const std::string step = make(actc_module_emit, module, "").one();
  EXPECT_EQ(actc_module_release(module), ACTC_SUCCESS);
  actrt_device device;
  actrt_step loaded;
  ASSERT_EQ(actrt_device_open("host", nullptr, &device), ACTRT_SUCCESS);
  ASSERT_EQ(actrt_step_load_memory(device, step.data(), step.size(),
                                   ACTRT_ALLOW_NATIVE, &loaded),
            ACTRT_SUCCESS)
      << actrt_last_error();
  EXPECT_EQ(actrt_step_release(loaded), ACTRT_SUCCESS);
  EXPECT_EQ(actrt_device_release(device), ACTRT_SUCCESS);
}

TEST_F(Compiler, BytecodeIsTheSameModule) {
  actc_module module = import(), again = parse(print(module, ACTC_BYTECODE));
  EXPECT_EQ(print(module), print(again));
  actc_module clone;
  ASSERT_EQ(actc_module_clone(again, &clone), ACTC_SUCCESS);
  ASSERT_EQ(run(clone, {"--autodiff"}), ACTC_SUCCESS) << actc_last_error();
  EXPECT_EQ(print(module), print(again));
  EXPECT_NE(print(clone), print(again));
  for (actc_module m : {module, again, clone})
    EXPECT_EQ(actc_module_release(m), ACTC_SUCCESS);
}

TEST_F(Compiler, RaisesDialectsThatMlirDoesNotHave) {
  actc_module module =
      parse("func.func @forward(%x: !torch.vtensor<[4],f32>) -> "
            "!torch.vtensor<[4],f32> {\n"
            "  %0 = \"torch.aten.tanh\"(%x) : (!torch.vtensor<[4],f32>) -> "
            "!torch.vtensor<[4],f32>\n"
            "  return %0 : !torch.vtensor<[4],f32>\n}\n");
  actc_module again = parse(print(module, ACTC_BYTECODE));
  for (actc_module m : {module, again}) {
    ASSERT_EQ(run(m, {"--raise-to-act"}), ACTC_SUCCESS) << actc_last_error();
    EXPECT_NE(print(m).find("act.tanh %arg0 : tensor<4xf32>"),
              std::string::npos);
    EXPECT_EQ(actc_module_release(m), ACTC_SUCCESS);
  }
  const std::string other = "\"other.op\"() : () -> ()";
  EXPECT_EQ(
      actc_module_parse(context, "o.mlir", other.data(), other.size(), &module),
      ACTC_FAILED);
  EXPECT_NE(std::string(actc_last_error()).find("'other.op' is of no known"),
            std::string::npos)
      << actc_last_error();
}

struct Heard {
  std::vector<std::string> all;
  static void tell(const actc_diagnostic *d, void *user) {
    static_cast<Heard *>(user)->all.push_back(
        std::string(d->file) + ":" + std::to_string(d->line) + ":" +
        std::to_string(d->column) + ": " + std::to_string(d->severity) + ": " +
        d->message);
  }
};

TEST_F(Compiler, SaysWhereAnErrorIs) {
  Heard heard;
  ASSERT_EQ(actc_context_set_diagnostics(context, Heard::tell, &heard),
            ACTC_SUCCESS);
  actc_module module = reinterpret_cast<actc_module>(1);
  const std::string text = "func.func @f(%x: tensor<4xf32>) {\n  act.nothing "
                           "%x\n  return\n}\n";
  EXPECT_EQ(
      actc_module_parse(context, "b.mlir", text.data(), text.size(), &module),
      ACTC_FAILED);
  EXPECT_EQ(module, reinterpret_cast<actc_module>(1)); // untouched
  ASSERT_FALSE(heard.all.empty());
  EXPECT_EQ(heard.all[0].rfind("b.mlir:2:3: 2: ", 0), 0u) << heard.all[0];
  EXPECT_EQ(std::string(actc_last_error()).rfind("b.mlir:2:3: ", 0), 0u)
      << actc_last_error();
}

TEST_F(Compiler, AFailedRunChangesNothing) {
  actc_module module = import();
  const std::string before = print(module);
  for (std::vector<const char *> flags :
       {std::vector<const char *>{"--fuse-attention", "--remat=nonsense"},
        {"--fuse-attention", "--remat=budget=1"},
        {"--canonicalize", "--optimizer=nonsense"}}) {
    EXPECT_EQ(run(module, flags), ACTC_FAILED);
    EXPECT_STRNE(actc_last_error(), "");
    EXPECT_EQ(print(module), before);
  }
  EXPECT_EQ(run(module, {}), ACTC_SUCCESS);
  EXPECT_EQ(print(module), before);
  EXPECT_EQ(actc_module_release(module), ACTC_SUCCESS);
}

TEST_F(Compiler, RefusesWhatItDoesNotKnow) {
  actc_module module = parse(small);
  const auto refuses = [&](std::vector<const char *> flags,
                           const std::string &why) {
    EXPECT_EQ(run(module, flags), ACTC_INVALID_ARGUMENT);
    EXPECT_NE(std::string(actc_last_error()).find(why), std::string::npos)
        << actc_last_error();
  };
  refuses({"--optimzer=adamw"}, "optimzer");
  refuses({"model.mlir"}, "expected a flag");
  refuses({nullptr}, "flag 0 is null");
  refuses({"--memory-report"}, "actc_module_report");
  refuses({"--remat={"}, "");
  actc_output output;
  EXPECT_EQ(actc_module_report(module, "format=json file=x", &output),
            ACTC_INVALID_ARGUMENT);
  EXPECT_EQ(actc_module_report(module, "colour=red", &output),
            ACTC_INVALID_ARGUMENT);
  EXPECT_NE(std::string(actc_last_error()).find("colour"), std::string::npos)
      << actc_last_error();
  EXPECT_EQ(actc_module_report(module, "format=red", &output), ACTC_FAILED);
  EXPECT_EQ(actc_module_emit(module, "target=sm_1", &output), ACTC_FAILED);
  EXPECT_EQ(actc_module_print(module, static_cast<actc_form>(7), &output),
            ACTC_INVALID_ARGUMENT);
  EXPECT_EQ(actc_module_print(module, ACTC_TEXT, nullptr),
            ACTC_INVALID_ARGUMENT);
  for (const char *option : {"--seqq=4", "-o=x", "--help", "x.json", "--seq"})
    EXPECT_EQ(actc_module_import(context, "{}", 2, &option, 1, &module),
              ACTC_INVALID_ARGUMENT)
        << option;
  EXPECT_EQ(actc_module_import(context, "{}", 2, nullptr, 0, &module),
            ACTC_FAILED);
  EXPECT_EQ(actc_module_import(context, nullptr, 2, nullptr, 0, &module),
            ACTC_INVALID_ARGUMENT);
  EXPECT_EQ(actc_module_parse(context, "x", nullptr, 2, &module),
            ACTC_INVALID_ARGUMENT);
  EXPECT_EQ(actc_context_create(nullptr), ACTC_INVALID_ARGUMENT);
  EXPECT_EQ(actc_module_release(module), ACTC_SUCCESS);
}

TEST_F(Compiler, StaleHandlesAreErrors) {
  actc_module module = parse(small), stale = module;
  EXPECT_EQ(actc_module_release(reinterpret_cast<actc_module>(context)),
            ACTC_INVALID_HANDLE);
  EXPECT_STREQ(actc_last_error(), "the handle is not a live module");
  actc_output output;
  ASSERT_EQ(actc_module_print(module, ACTC_TEXT, &output), ACTC_SUCCESS);
  EXPECT_EQ(actc_module_release(module), ACTC_SUCCESS);
  EXPECT_EQ(actc_module_release(stale), ACTC_INVALID_HANDLE);
  EXPECT_EQ(run(stale, {"--cse"}), ACTC_INVALID_HANDLE);
  EXPECT_EQ(actc_output_get(output, 1, nullptr, nullptr, nullptr),
            ACTC_INVALID_ARGUMENT);
  EXPECT_EQ(actc_output_count(output, nullptr), ACTC_INVALID_ARGUMENT);
  EXPECT_EQ(actc_output_release(output), ACTC_SUCCESS);
  EXPECT_EQ(actc_output_get(output, 0, nullptr, nullptr, nullptr),
            ACTC_INVALID_HANDLE);
  EXPECT_EQ(actc_context_release(nullptr), ACTC_INVALID_HANDLE);
  EXPECT_STREQ(actc_last_error(), "the handle is not a live context (it is "
                                  "null)");
}

TEST_F(Compiler, ModulesOutliveTheirContextsHandle) {
  actc_context other;
  actc_module module;
  ASSERT_EQ(actc_context_create(&other), ACTC_SUCCESS);
  ASSERT_EQ(actc_module_parse(other, "a", small, sizeof small - 1, &module),
            ACTC_SUCCESS);
  EXPECT_EQ(actc_context_release(other), ACTC_SUCCESS);
  EXPECT_EQ(run(module, {"--form-kernels"}), ACTC_SUCCESS) << actc_last_error();
  EXPECT_EQ(actc_module_release(module), ACTC_SUCCESS);
}

TEST_F(Compiler, ThreadsShareAContextAndHaveTheirOwn) {
  const std::string config = read(CONFIG);
  std::vector<std::string> reports(6);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < reports.size(); ++i)
    threads.emplace_back([&, i] {
      actc_context own = context;
      if (i % 2)
        EXPECT_EQ(actc_context_create(&own), ACTC_SUCCESS);
      actc_module module;
      actc_output output;
      ASSERT_EQ(actc_module_import(own, config.data(), config.size(), nullptr,
                                   0, &module),
                ACTC_SUCCESS);
      const char *flags[] = {"--fuse-attention", "--remat=layer"};
      EXPECT_EQ(actc_module_run(module, flags, 2), ACTC_SUCCESS);
      ASSERT_EQ(actc_module_report(module, "format=json", &output),
                ACTC_SUCCESS);
      reports[i] = Files(output).one();
      EXPECT_EQ(actc_module_release(module), ACTC_SUCCESS);
      if (i % 2)
        EXPECT_EQ(actc_context_release(own), ACTC_SUCCESS);
    });
  for (std::thread &t : threads)
    t.join();
  for (const std::string &report : reports)
    EXPECT_EQ(report, reports[0]);
  EXPECT_NE(reports[0], "");
}

// Bytes changed, cut and doubled: each call returns, and the next one works.
TEST_F(Compiler, DamagedModulesAreErrors) {
  actc_module whole = parse(small);
  std::mt19937 random(7);
  for (const std::string &text :
       {std::string(small), print(whole, ACTC_BYTECODE), read(CONFIG)})
    for (int i = 0; i < 40; ++i) {
      std::string bytes = text;
      const size_t at = random() % bytes.size();
      switch (i % 4) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes[at] = char(random());
        break;
      case 2:
        bytes.insert(at, bytes.substr(at / 2, 40));
        break;
      default:
        bytes.erase(at, 1 + random() % 9);
      }
      actc_module module;
      if (!actc_module_parse(context, "damaged", bytes.data(), bytes.size(),
                             &module)) {
        actc_output output;
        if (!actc_module_report(module, nullptr, &output)) {
          EXPECT_EQ(actc_output_release(output), ACTC_SUCCESS);
        }
        EXPECT_EQ(actc_module_release(module), ACTC_SUCCESS);
      } else {
        EXPECT_STRNE(actc_last_error(), "");
      }
      if (!actc_module_import(context, bytes.data(), bytes.size(), nullptr, 0,
                              &module)) {
        EXPECT_EQ(actc_module_release(module), ACTC_SUCCESS);
      } else {
        EXPECT_STRNE(actc_last_error(), "");
      }
    }
  EXPECT_EQ(print(parse(small)), print(whole));
}

TEST(CompilerLibrary, ExportsItsInterfaceAlone) {
  FILE *nm = popen(NM " -D --defined-only " LIBRARY, "r");
  ASSERT_TRUE(nm);
  char address[64], type[8], name[512];
  int symbols = 0;
  while (fscanf(nm, "%63s %7s %511s", address, type, name) == 3) {
    ++symbols;
    EXPECT_EQ(std::string(name).rfind("actc_", 0), 0u) << name;
  }
  EXPECT_EQ(pclose(nm), 0);
  EXPECT_EQ(symbols, 17);
}

} // namespace
