// SPDX-License-Identifier: Apache-2.0
#include "act/Artifact/Format.h"
#include "act/File/AtomicFile.h"
#include "test/runtime/HandMadeSteps.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <functional>
#include <gtest/gtest.h>

using namespace act;
using namespace act::artifact;

namespace {

// A step that uses every field, with little code, so that each byte can be
// tried.
Step smallStep() {
  Step s = test::bigramStep();
  s.code = {0x7f, 'E', 'L', 'F', 1, 2, 3};
  s.report = "{}";
  s.target = "x86-64";
  s.microBatches = 2;
  s.maxPositions = 7;
  s.predictsNext = false;
  return s;
}

// The images have 69 and 70 bytes, the second at offset 80.
Step stepWithImages() {
  Step s = test::arithmeticStepOfPtx(4, "ptx");
  test::addImage(s, 0, "first");
  test::addImage(s, 2, "second");
  return s;
}

std::string problem(const std::function<void(Step &)> &breakIt) {
  Step s = smallStep();
  breakIt(s);
  auto status = validate(s);
  return status ? "" : status.error().message;
}

} // namespace

TEST(Artifact, RoundTrips) {
  Step s = smallStep();
  auto bytes = write(s);
  ASSERT_TRUE(bytes) << bytes.error().str();
  auto again = read(bytes->data(), bytes->size());
  ASSERT_TRUE(again) << again.error().str();
  auto twice = write(*again);
  ASSERT_TRUE(twice);
  EXPECT_EQ(*bytes, *twice);
  EXPECT_EQ(again->model, "bigram");
  EXPECT_EQ(again->code, s.code);
  EXPECT_EQ(again->functions[0].launches[2].args[6].index, 2u);
  EXPECT_EQ(again->functions[0].plan[1].offset, s.functions[0].plan[1].offset);
  EXPECT_EQ(again->states[1].role, Role::Momentum);
  EXPECT_EQ(again->parameters[0].tied, s.parameters[0].tied);
  EXPECT_EQ(again->vocabulary, s.vocabulary);
  EXPECT_EQ(again->maxPositions, 7u);
  EXPECT_FALSE(again->predictsNext);
  EXPECT_EQ(again->lossAverage, LossAverage::Labels);
  // An odd address is no obstacle.
  std::vector<uint8_t> shifted(bytes->size() + 1);
  std::copy(bytes->begin(), bytes->end(), shifted.begin() + 1);
  EXPECT_TRUE(read(shifted.data() + 1, bytes->size()));
}

TEST(Artifact, OtherFormatsAreRefusedByNumber) {
  auto bytes = write(smallStep());
  ASSERT_TRUE(bytes);
  // `format` is the only u32 field of value 1 before its neighbour
  // micro_batches = 2; find it through the reader's own message.
  size_t hits = 0;
  for (size_t i = 0; i + 4 <= bytes->size(); i += 4) {
    std::vector<uint8_t> b = *bytes;
    if (b[i] != 1 || b[i + 1] || b[i + 2] || b[i + 3])
      continue;
    b[i] = 77;
    auto r = read(b.data(), b.size());
    hits +=
        !r &&
        r.error().message ==
            "the artifact has format 77, but this reader supports formats 1 "
            "to 2";
  }
  EXPECT_EQ(hits, 1u);
}

TEST(Artifact, TensorMapsNeedAFormatOfTheirOwn) {
  Step s = test::tileStep("ptx");
  s.kernels[0].persistent = true;
  s.kernels[0].grid = 4;
  s.kernels[0].cluster = 2;
  s.kernels[0].atOnce = 3;
  auto bytes = write(s);
  ASSERT_TRUE(bytes) << bytes.error().str();
  auto again = read(bytes->data(), bytes->size());
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(*bytes, *write(*again));
  EXPECT_TRUE(again->kernels[0].persistent);
  EXPECT_EQ(again->kernels[0].cluster, 2u);
  EXPECT_EQ(again->kernels[0].atOnce, 3u);
  ASSERT_EQ(again->kernels[0].tensorMaps.size(), 1u);
  const TensorMap &map = again->kernels[0].tensorMaps[0];
  EXPECT_EQ(map.argument, 0u);
  EXPECT_EQ(map.type, 9u);
  EXPECT_EQ(map.sizes, (std::vector<int64_t>{64, 16}));
  EXPECT_EQ(map.strides, (std::vector<int64_t>{2, 128}));
  EXPECT_EQ(map.box, (std::vector<int64_t>{64, 8}));
  EXPECT_EQ(map.swizzle, 0u);
  // An older reader would launch the kernel without them.
  s.kernels[0].tensorMaps.clear();
  auto older = write(s);
  ASSERT_TRUE(older);
  auto format = [](const std::vector<uint8_t> &file) {
    return std::count(file.begin(), file.begin() + 64, 2);
  };
  EXPECT_GT(format(*bytes), format(*older));
}

TEST(Artifact, TensorMapsAreChecked) {
  auto says = [](const char *part, const std::function<void(Step &)> &f) {
    Step s = test::tileStep("ptx");
    f(s);
    auto status = validate(s);
    std::string p = status ? "" : status.error().message;
    EXPECT_NE(p.find(part), std::string::npos) << part << " / " << p;
  };
  auto map = [](Step &s) -> TensorMap & { return s.kernels[0].tensorMaps[0]; };
  EXPECT_TRUE(validate(test::tileStep("ptx")));
  says("tensor map of argument 2 of 2", [&](Step &s) { map(s).argument = 2; });
  says("a tensor map of type 13", [&](Step &s) { map(s).type = 13; });
  says("and 0 dimensions", [&](Step &s) { map(s).sizes.clear(); });
  says("and 6 dimensions", [&](Step &s) {
    map(s).sizes = map(s).strides = map(s).box = std::vector<int64_t>(6, 1);
  });
  says("a tensor map of type 9", [&](Step &s) { map(s).box = {64}; });
  says("dimension 1 of size 0", [&](Step &s) { map(s).sizes[1] = 0; });
  says("stride 120", [&](Step &s) { map(s).strides[1] = 120; });
  says("stride 4", [&](Step &s) { map(s).strides[0] = 4; });
  says("box 257", [&](Step &s) { map(s).box[1] = 257; });
  says("a box of 130 bytes", [&](Step &s) { map(s).box[0] = 65; });
  says("a swizzle of 16", [&](Step &s) { map(s).swizzle = 16; });
  says("a box of 128 bytes and a swizzle of 64",
       [&](Step &s) { map(s).swizzle = 64; });
  says("reaches byte 2176 of argument 0, which has 2048",
       [&](Step &s) { map(s).sizes[1] = 17; });
  says("reaches byte 18446744073709551615", [&](Step &s) {
    map(s).sizes = {1, int64_t{1} << 32, int64_t{1} << 32};
    map(s).strides = {2, (int64_t{1} << 40) - 16, (int64_t{1} << 40) - 16};
    map(s).box = {8, 1, 1};
  });
  says("25 tensor maps, at most 24",
       [&](Step &s) { s.kernels[0].tensorMaps.resize(25, map(s)); });
  says("which the host does not have", [&](Step &s) {
    s.device = "host";
    s.kernels[0].threads = 0;
  });
}

// An older reader leaves them out and runs the PTX, so the format is the same.
TEST(Artifact, ImagesStandBesideThePtx) {
  Step s = stepWithImages();
  auto bytes = write(s);
  ASSERT_TRUE(bytes) << bytes.error().str();
  auto again = read(bytes->data(), bytes->size());
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(*bytes, *write(*again));
  EXPECT_EQ(again->code, s.code);
  EXPECT_EQ(again->images, s.images);
  EXPECT_EQ(again->kernels[1].imageBytes, 0u);
  EXPECT_EQ(again->kernels[2].imageOffset, s.kernels[2].imageOffset);
  EXPECT_EQ(again->kernels[2].imageBytes, s.kernels[2].imageBytes);
}

TEST(Artifact, ImagesAreChecked) {
  auto says = [](const char *part, const std::function<void(Step &)> &f) {
    Step s = stepWithImages();
    f(s);
    auto status = validate(s);
    std::string p = status ? "" : status.error().message;
    EXPECT_NE(p.find(part), std::string::npos) << part << " / " << p;
  };
  EXPECT_TRUE(validate(stepWithImages()));
  says("of a GPU, but the step is for device host", [](Step &s) {
    s.device = "host";
    for (Kernel &k : s.kernels)
      k.threads = 0;
  });
  says("without PTX beside it", [](Step &s) { s.code.clear(); });
  says("an image of 18446744073709551615 bytes at offset 80 of 150",
       [](Step &s) { s.kernels[2].imageBytes = UINT64_MAX; });
  says("an image of 70 bytes at offset 81 of 150",
       [](Step &s) { s.kernels[2].imageOffset = 81; });
  says("offset 18446744073709551614 of 150",
       [](Step &s) { s.kernels[2].imageOffset = UINT64_MAX - 1; });
  says("at offset 64, expected a multiple of 16 from 69 on",
       [](Step &s) { s.kernels[2].imageOffset = 64; });
  says("at offset 72, expected a multiple of 16",
       [](Step &s) { s.kernels[2].imageOffset = 72; });
  says("is not an ELF file", [](Step &s) { s.images[80] = 0; });
  says("is not an ELF file", [](Step &s) { s.kernels[2].imageBytes = 63; });
  says("is not code of a GPU", [](Step &s) { s.images[80 + 18] = 62; });
  says("is not code of a GPU", [](Step &s) { s.images[80 + 4] = 1; });
  auto header = [](Step &s, auto change) {
    Elf64_Ehdr h;
    std::memcpy(&h, s.images.data() + 80, sizeof h);
    change(h);
    std::memcpy(s.images.data() + 80, &h, sizeof h);
  };
  says("tables of unknown entries", [&](Step &s) {
    header(s, [](Elf64_Ehdr &h) { h.e_shnum = 1, h.e_shentsize = 63; });
  });
  says("tables of unknown entries",
       [&](Step &s) { header(s, [](Elf64_Ehdr &h) { h.e_phnum = 1; }); });
  says("a table outside itself", [&](Step &s) {
    header(s, [](Elf64_Ehdr &h) {
      h.e_shnum = 1, h.e_shentsize = 64, h.e_shoff = 7;
    });
  });
  says("a table outside itself", [&](Step &s) {
    header(s, [](Elf64_Ehdr &h) {
      h.e_phnum = 2, h.e_phentsize = 56, h.e_phoff = 0;
    });
  });
  says("a table outside itself", [&](Step &s) {
    header(s, [](Elf64_Ehdr &h) { h.e_phoff = UINT64_MAX; });
  });
  // The header read as a section: its entry and program table are the section's
  // offset and size.
  says("a section outside itself", [&](Step &s) {
    header(s, [](Elf64_Ehdr &h) {
      h.e_shnum = 1, h.e_shentsize = 64, h.e_shoff = 0;
      h.e_entry = 3, h.e_phoff = 68;
    });
  });
  // The same from its ninth byte on, as a segment: its type and machine are the
  // offset, the section table's place is the size.
  says("a segment outside itself", [&](Step &s) {
    header(s, [](Elf64_Ehdr &h) {
      h.e_phnum = 1, h.e_phentsize = 56, h.e_phoff = 8, h.e_shoff = 1;
    });
  });
}

TEST(Artifact, NoDamagedImageCrashes) {
  auto bytes = write(stepWithImages());
  ASSERT_TRUE(bytes);
  size_t refused = 0;
  for (size_t i = 0; i < bytes->size(); ++i)
    for (uint8_t value : {0x00, 0xff, int((*bytes)[i] + 1) & 255}) {
      std::vector<uint8_t> b = *bytes;
      b[i] = value;
      auto r = read(b.data(), b.size());
      refused += !r;
      if (r)
        EXPECT_TRUE(validate(*r));
    }
  EXPECT_GT(refused, bytes->size() / 2);
}

TEST(Artifact, TruncationIsAnError) {
  auto bytes = write(smallStep());
  ASSERT_TRUE(bytes);
  for (size_t n = 0; n < bytes->size(); ++n) {
    // A copy of exactly n bytes, so that a sanitizer sees each byte too many.
    std::vector<uint8_t> cut(bytes->begin(), bytes->begin() + ptrdiff_t(n));
    auto r = read(cut.data(), n);
    EXPECT_FALSE(r) << n;
  }
}

TEST(Artifact, NoDamagedByteCrashes) {
  auto bytes = write(smallStep());
  ASSERT_TRUE(bytes);
  size_t refused = 0;
  for (size_t i = 0; i < bytes->size(); ++i)
    for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff, int((*bytes)[i] ^ 0x10),
                          int((*bytes)[i] + 1) & 255}) {
      std::vector<uint8_t> b = *bytes;
      b[i] = value;
      auto r = read(b.data(), b.size());
      refused += !r;
      if (r)
        EXPECT_TRUE(validate(*r));
    }
  EXPECT_GT(refused, bytes->size() / 2);
}

TEST(Artifact, EveryFieldIsChecked) {
  EXPECT_EQ(problem([](Step &) {}), "");
  auto says = [&](const char *part, const std::function<void(Step &)> &f) {
    std::string p = problem(f);
    EXPECT_NE(p.find(part), std::string::npos) << part << " / " << p;
  };
  says("device 'tpu'", [](Step &s) { s.device = "tpu"; });
  says("optimizer is 'adam'", [](Step &s) { s.optimizer = "adam"; });
  says("0 micro-batches", [](Step &s) { s.microBatches = 0; });
  says("average of kind 2",
       [](Step &s) { s.lossAverage = static_cast<LossAverage>(2); });
  says("grid of 0", [](Step &s) { s.kernels[0].grid = 0; });
  says("grid of", [](Step &s) { s.kernels[0].grid = UINT64_MAX; });
  says("scratch", [](Step &s) { s.kernels[0].scratchBytes = UINT64_MAX; });
  says("which the host does not have",
       [](Step &s) { s.kernels[0].threads = 32; });
  says("blocks of 0 threads", [](Step &s) { s.device = "cuda"; });
  says("only the host provides", [](Step &s) {
    s.device = "cuda";
    s.kernels[0].scratchBytes = 64;
  });
  says("clusters of 17 blocks", [](Step &s) {
    s.device = "cuda";
    s.kernels[0].threads = 32;
    s.kernels[0].cluster = 17;
  });
  says("a multiple of its clusters' 2", [](Step &s) {
    s.device = "cuda";
    s.kernels[0].threads = 32;
    s.kernels[0].grid = 3;
    s.kernels[0].cluster = 2;
  });
  says("symbol", [](Step &s) { s.kernels[0].symbol = ""; });
  says("has no name", [](Step &s) { s.parameters[0].name = ""; });
  says("tied name: two parameters",
       [](Step &s) { s.parameters[0].tied = {s.parameters[0].name}; });
  says("NUL", [](Step &s) { s.parameters[0].name = std::string("a\0b", 3); });
  says("negative dimension",
       [](Step &s) { s.parameters[0].type.shape = {-1, 2}; });
  says("2^48", [](Step &s) {
    s.parameters[0].type.shape = {int64_t{1} << 62, int64_t{1} << 62};
  });
  says("2^48", [](Step &s) {
    s.parameters[0].type.shape = {0, int64_t{1} << 62, int64_t{1} << 62};
  });
  says("element type number",
       [](Step &s) { s.parameters[0].type.dtype = DType(200); });
  says("block size", [](Step &s) { s.parameters[0].type.dtype = DType::NF4; });
  says("rank", [](Step &s) {
    s.parameters[0].type.shape = std::vector<int64_t>(17, 1);
  });
  says("initialisation", [](Step &s) { s.parameters[0].init = Init(9); });
  says("deviation", [](Step &s) { s.parameters[0].initStd = -1; });
  says("two states", [](Step &s) { s.states[1].name = s.states[0].name; });
  says("role number", [](Step &s) { s.states[0].role = Role(99); });
  says("parameter 9 of 1", [](Step &s) { s.states[0].parameter = 9; });
  says("master copy", [](Step &s) {
    s.states[0].role = Role::Master;
    s.states[0].type.shape = {1};
  });
  says("scalar 'lr'", [](Step &s) { s.scalars[0].dtype = DType::BF16; });
  says("two functions", [](Step &s) { s.functions[1].name = "step"; });
  says("two inputs", [](Step &s) { s.functions[0].inputs[1].name = "tokens"; });
  says("arena of", [](Step &s) { s.functions[0].arenaBytes = UINT64_MAX; });
  says("kernel 99 of", [](Step &s) { s.functions[0].launches[0].kernel = 99; });
  says("arguments",
       [](Step &s) { s.functions[0].launches[0].args.resize(5000); });
  auto operand = [](Step &s, size_t launch, size_t arg) -> Operand & {
    return s.functions[0].launches[launch].args[arg];
  };
  says("space number", [&](Step &s) { operand(s, 0, 0).space = Space(8); });
  says("only copies may access",
       [&](Step &s) { operand(s, 0, 0).space = Space::Host; });
  says("of input 'tokens'", [&](Step &s) { operand(s, 0, 0).bytes = 1 << 20; });
  says("of input 'tokens'",
       [&](Step &s) { operand(s, 0, 0).offset = UINT64_MAX - 8; });
  says("input 7 of 2", [&](Step &s) { operand(s, 0, 0).index = 7; });
  says("an input is written",
       [&](Step &s) { operand(s, 0, 0).written = true; });
  says("of an arena", [&](Step &s) { operand(s, 0, 3).offset = 1 << 20; });
  says("of an arena", [&](Step &s) { operand(s, 0, 3).bytes = UINT64_MAX; });
  says("not a multiple of 64", [&](Step &s) { operand(s, 0, 3).offset = 4; });
  says("frozen", [](Step &s) { s.parameters[0].frozen = true; });
  says("scalar 5 of 3", [&](Step &s) { operand(s, 2, 6).index = 5; });
  says("immediate is written",
       [&](Step &s) { operand(s, 2, 4).written = true; });
  says("state 3 of 2", [&](Step &s) { operand(s, 2, 3).index = 3; });
  auto buffer = [](Step &s, size_t i) -> Buffer & {
    return s.functions[0].plan[i];
  };
  says("of an arena", [&](Step &s) { buffer(s, 0).bytes = UINT64_MAX; });
  says("not a multiple of 64", [&](Step &s) { buffer(s, 1).offset -= 4; });
  says("lives from", [&](Step &s) { buffer(s, 0).last = 99; });
  says("lives from", [&](Step &s) { buffer(s, 0).first = 3; });
  says("overlaps", [&](Step &s) { buffer(s, 1).offset -= 64; });
}

TEST(Artifact, BuffersMayShareBytesAtDifferentTimes) {
  auto check = [](std::vector<Buffer> plan) {
    Step s = smallStep();
    s.functions[0].arenaBytes = 1024;
    s.functions[0].plan = std::move(plan);
    for (Launch &l : s.functions[0].launches)
      l.args.clear();
    return bool(validate(s));
  };
  EXPECT_TRUE(check({{"a", 0, 128, 0, 1}, {"b", 0, 128, 2, 3}}));
  EXPECT_FALSE(check({{"a", 0, 128, 0, 2}, {"b", 0, 128, 2, 3}}));
  EXPECT_FALSE(check({{"b", 0, 128, 2, 3}, {"a", 64, 64, 0, 2}}));
  EXPECT_FALSE(check({{"a", 0, 1024, 0, 3}, {"b", 512, 64, 1, 1}}));
  EXPECT_TRUE(check({{"a", 0, 100, 0, 3}, {"b", 128, 64, 0, 3}}));
  EXPECT_TRUE(check({{"a", 0, 0, 0, 3}, {"b", 0, 64, 0, 3}}));
}

// The sweep against the definition, on random small plans.
TEST(Artifact, OverlapAgreesWithBruteForce) {
  uint32_t state = 1;
  auto random = [&](uint32_t n) {
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % n;
  };
  int bad = 0;
  for (int round = 0; round < 3000; ++round) {
    Step s = smallStep();
    Function &f = s.functions[0];
    f.arenaBytes = 1024;
    f.plan.clear();
    for (Launch &l : f.launches)
      l.args.clear();
    for (uint32_t i = 0, n = 2 + random(4); i < n; ++i) {
      uint32_t first = random(4), last = first + random(4 - first);
      f.plan.push_back({"b" + std::to_string(i), 64 * random(12),
                        1 + random(200), first, last});
    }
    bool overlap = false;
    for (auto &a : f.plan)
      for (auto &b : f.plan)
        overlap |= &a != &b && a.first <= b.last && b.first <= a.last &&
                   a.offset < b.offset + b.bytes &&
                   b.offset < a.offset + a.bytes;
    ASSERT_EQ(bool(validate(s)), !overlap) << round;
    bad += overlap;
  }
  EXPECT_GT(bad, 300);
  EXPECT_LT(bad, 2700);
}

TEST(Artifact, FilesAreNamedInErrors) {
  std::string path = testing::TempDir() + "/act-artifact-test.act";
  ASSERT_TRUE(artifact::writeFile(path, smallStep()));
  EXPECT_TRUE(artifact::readFile(path));
  ASSERT_TRUE(file::writeFile(path, "not an artifact"));
  auto r = artifact::readFile(path);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().where, path);
  EXPECT_TRUE(artifact::writeFile("/dev/null", smallStep()));
  EXPECT_FALSE(artifact::writeFile("/no/such/folder/x.act", smallStep()));
}
