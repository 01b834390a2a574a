// SPDX-License-Identifier: Apache-2.0
//
// A folder with steps made by hand and a text, in which tests run act-run.
#ifndef ACT_TEST_RUNTIME_RUNACTRUN_H
#define ACT_TEST_RUNTIME_RUNACTRUN_H
#include "act/Artifact/Format.h"
#include "act/File/AtomicFile.h"
#include "act/File/MappedFile.h"
#include "test/runtime/HandMadeSteps.h"
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace act::run {

class ActRun : public testing::Test {
protected:
  std::string folder;

  void SetUp() override {
    std::string pattern = testing::TempDir() + "/act-run-XXXXXX";
    ASSERT_TRUE(mkdtemp(pattern.data()));
    folder = pattern + "/";
    test::BigramOptions o;
    o.vocabulary = 30;
    ASSERT_TRUE(artifact::writeFile(folder + "m.act", test::bigramStep(o)));
    o.packed = true;
    ASSERT_TRUE(artifact::writeFile(folder + "p.act", test::bigramStep(o)));
    std::string text;
    for (int i = 0; i < 40; ++i)
      text += "the quick brown fox jumps over a lazy dog; ";
    ASSERT_TRUE(file::writeFile(folder + "text", text));
  }
  void TearDown() override {
    std::string command = "rm -rf '" + folder + "'";
    EXPECT_EQ(system(command.c_str()), 0);
  }

  struct Outcome {
    int code;
    std::string out, err;
  };
  /// Runs in the folder; single quotes protect nothing here but spaces.
  Outcome run(const std::string &arguments) {
    std::string command =
        "cd '" + folder + "' && " + ACT_RUN + " " + arguments + " >out 2>err";
    int status = system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status,
            content("out"), content("err")};
  }
  std::string content(const std::string &name) {
    auto f = file::MappedFile::open(folder + name);
    return f ? std::string(f->text()) : "(missing)";
  }
  bool exists(const std::string &name) {
    return access((folder + name).c_str(), F_OK) == 0;
  }
  std::ptrdiff_t entries() {
    run("--help"); // the outputs of a run are there, too
    return std::distance(std::filesystem::directory_iterator(folder), {});
  }
  void expectError(const std::string &arguments, const std::string &message) {
    Outcome o = run(arguments);
    EXPECT_EQ(o.code, 1) << arguments << o.err;
    EXPECT_NE(o.err.find(message), std::string::npos) << arguments << "\n"
                                                      << o.err;
  }
  const std::string train = "train m.act --allow-native --lr 5 ";
};

} // namespace act::run
#endif
