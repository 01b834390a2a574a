// SPDX-License-Identifier: Apache-2.0
//
// safetensors, npy and atomic files: what is written reads back, and what lies
// is refused.
#include "act/File/AtomicFile.h"
#include "act/File/MappedFile.h"
#include "act/Npy/Npy.h"
#include "act/Safetensors/Safetensors.h"
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace act;

static std::string path(const std::string &name) {
  return testing::TempDir() + "/act-files-" + std::to_string(getpid()) + "-" +
         name;
}

static std::vector<uint8_t> safetensorsBytes(const std::string &header,
                                             size_t dataBytes,
                                             uint64_t length = UINT64_MAX) {
  if (length == UINT64_MAX)
    length = header.size();
  std::vector<uint8_t> out;
  for (int i = 0; i < 8; ++i)
    out.push_back(static_cast<uint8_t>(length >> (8 * i)));
  out.insert(out.end(), header.begin(), header.end());
  out.resize(out.size() + dataBytes);
  return out;
}

static std::string refused(const std::string &header, size_t dataBytes,
                           uint64_t length = UINT64_MAX) {
  auto b = safetensorsBytes(header, dataBytes, length);
  auto r = safetensors::parse(b.data(), b.size());
  return r ? "" : r.error().message;
}

TEST(Safetensors, RoundTrips) {
  float f[6] = {1, 2, 3, 4, 5, 6};
  uint16_t h[3] = {7, 8, 9};
  int64_t i = -1;
  ASSERT_TRUE(safetensors::write(path("a"),
                                 {{"b.weight", "BF16", {3}, h},
                                  {"a \"quoted\" é", "F32", {2, 3}, f},
                                  {"scalar", "I64", {}, &i},
                                  {"empty", "F32", {0, 4}, nullptr}},
                                 {{"vocab", "[\"\\n\"]"}, {"k", "v"}}));
  auto r = safetensors::File::open(path("a"));
  ASSERT_TRUE(r) << r.error().str();
  ASSERT_EQ(r->tensors().size(), 4u);
  const auto *t = r->find("a \"quoted\" é");
  ASSERT_TRUE(t);
  EXPECT_EQ(t->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(r->data(*t), f, sizeof f), 0);
  EXPECT_EQ(std::memcmp(r->data(*r->find("b.weight")), h, sizeof h), 0);
  EXPECT_EQ(r->metadata().at("vocab"), "[\"\\n\"]");
  EXPECT_FALSE(safetensors::write(
      path("b"), {{"x", "F32", {1}, f}, {"x", "F32", {1}, f}}));
  EXPECT_FALSE(safetensors::write(path("b"), {{"x", "F31", {1}, f}}));
}

TEST(Safetensors, EveryLieIsAnError) {
  const std::string good =
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(refused(good, 8), "");
  EXPECT_EQ(refused("{}", 0), "");
  EXPECT_NE(refused(good, 8, 100), "");
  for (uint64_t n : {uint64_t{1} << 63, UINT64_MAX - 1, UINT64_MAX - 7,
                     uint64_t{100000001}, good.size() + 9})
    EXPECT_NE(refused(good, 8, n), "") << n;
  EXPECT_NE(refused(good, 9), "") << "bytes that no tensor has";
  EXPECT_NE(refused(good, 7), "");
  auto one = [](const std::string &dtype, const std::string &shape,
                const std::string &offsets) {
    return "{\"x\":{\"dtype\":" + dtype + ",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}}";
  };
  for (
      auto &[header, bytes] : std::vector<std::pair<std::string, size_t>>{
          {one("\"F31\"", "[2]", "[0,8]"), 8},
          {one("1", "[2]", "[0,8]"), 8},
          {one("\"F32\"", "[3]", "[0,8]"), 8},
          {one("\"F32\"", "[-2]", "[0,8]"), 8},
          {one("\"F32\"", "[2.0]", "[0,8]"), 8},
          {one("\"F32\"", "2", "[0,8]"), 8},
          {one("\"F32\"", "[[2]]", "[0,8]"), 8},
          {one("\"F32\"", "[null]", "[0,8]"), 8},
          {one("\"F32\"", "[4611686018427387904,4]", "[0,0]"), 0},
          {one("\"F32\"", "[9223372036854775807]", "[0,8]"), 8},
          {one("\"F32\"", "[18446744073709551615]", "[0,8]"), 8},
          {one("\"F32\"", "[99999999999999999999]", "[0,8]"), 8},
          {one("\"F32\"", "[2]", "[8,0]"), 8},
          {one("\"F32\"", "[2]", "[0,16]"), 8},
          {one("\"F32\"", "[2]", "[9223372036854775800,9223372036854775807]"),
           8},
          {one("\"F32\"", "[2]", "[0]"), 8},
          {one("\"F32\"", "[2]", "[0,8,8]"), 8},
          {one("\"F32\"", "[2]", "[4,12]"), 12},
          {one("\"F32\"", "[2]", "{}"), 8},
          {R"({"x":{"shape":[2],"data_offsets":[0,8]}})", 8},
          {R"({"x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
           8},
          {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":"x"}})",
           8},
          {R"({"x":8})", 8},
          {R"({"x":[8]})", 8},
          {R"([1])", 0},
          {R"("x")", 0},
          {R"(7)", 0},
          {R"()", 0},
          {R"({"__metadata__":{"a":1}})", 0},
          {R"({"__metadata__":{"a":{"b":"c"}}})", 0},
          {R"({"__metadata__":{"a":"b","a":"b"}})", 0},
          {R"({"__metadata__":{},"__metadata__":{}})", 0},
          {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"x":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
           16},
          {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
           12},
          {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
           8},
          {R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})",
           16},
          {good.substr(0, good.size() - 1), 8},
          {good + "}", 8},
          {"{\"\xff\":{}}", 0},
      })
    EXPECT_NE(refused(header, bytes), "") << header;
}

TEST(Safetensors, DeepNestingIsAnErrorNotACrash) {
  for (char c : {'[', '{'}) {
    std::string bomb(2000000, c);
    EXPECT_NE(refused(bomb, 0), "");
    EXPECT_NE(refused("{\"x\":" + bomb, 0), "");
    EXPECT_NE(refused("{\"x\":{\"shape\":" + bomb, 0), "");
  }
}

TEST(Safetensors, NoDamagedByteCrashes) {
  auto b = safetensorsBytes(
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  for (size_t i = 0; i < b.size(); ++i)
    for (int v : {0, 1, 34, 44, 57, 91, 93, 123, 125, 127, 128, 255}) {
      std::vector<uint8_t> d = b;
      d[i] = static_cast<uint8_t>(v);
      (void)safetensors::parse(d.data(), d.size());
      std::vector<uint8_t> cut(b.begin(), b.begin() + ptrdiff_t(i));
      EXPECT_FALSE(safetensors::parse(cut.data(), cut.size()));
    }
}

TEST(Npy, RoundTrips) {
  int32_t v[6] = {1, -2, 3, INT32_MIN, INT32_MAX, -100};
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{6}, {2, 3}, {1, 6, 1}, {0}}) {
    ASSERT_TRUE(npy::write(path("n"), "i4", shape, v));
    auto r = npy::read(path("n"));
    ASSERT_TRUE(r) << r.error().str();
    EXPECT_EQ(r->shape, shape);
    auto i = npy::integers(*r);
    ASSERT_TRUE(i);
    if (!i->empty())
      EXPECT_EQ(*i, (std::vector<int64_t>(v, v + 6)));
  }
  float one = 1.5f;
  ASSERT_TRUE(npy::write(path("n"), "f4", {}, &one));
  auto r = npy::read(path("n"));
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->shape.empty());
  EXPECT_FALSE(npy::integers(*r));
  EXPECT_FALSE(npy::write(path("n"), "c8", {1}, &one));
  uint16_t big = 65535;
  npy::Array a{"u2", {1}, {255, 255}};
  EXPECT_EQ((*npy::integers(a))[0], big);
}

static std::string npyProblem(std::string header, size_t data,
                              int version = 1) {
  std::string s = "\x93NUMPY";
  s += static_cast<char>(version);
  s += '\0';
  s += static_cast<char>(header.size() & 255);
  s += static_cast<char>(header.size() >> 8);
  if (version > 1)
    s += std::string(2, '\0');
  s += header + std::string(data, '\0');
  std::vector<uint8_t> b(s.begin(), s.end());
  auto r = npy::parse(b.data(), b.size());
  return r ? "" : r.error().message;
}

TEST(Npy, BadFilesAreErrors) {
  const std::string good =
      "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_EQ(npyProblem(good, 8), "");
  EXPECT_EQ(npyProblem(good, 8, 2), "");
  EXPECT_NE(npyProblem(good, 8, 4), "");
  EXPECT_NE(npyProblem(good, 7), "");
  EXPECT_NE(npyProblem(good, 9), "");
  for (const char *h :
       {"", "{", "{}",
        "{'descr': '>i4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<i4', 'fortran_order': True, 'shape': (2,1)}",
        "{'descr': '<i4', 'fortran_order': Maybe, 'shape': (2,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': "
        "(4294967296,4294967296,8)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': "
        "(99999999999999999999,)}",
        "{'descr': '<i4', 'descr': '<i4', 'fortran_order': False, 'shape': "
        "(2,)}",
        "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<i4, 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)} x",
        "{'descr': '', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<i4', 'fortran_order': False}"})
    EXPECT_NE(npyProblem(h, 8), "") << h;
}

TEST(AtomicFile, ReplacesWholeOrNotAtAll) {
  std::string p = path("atomic");
  ASSERT_TRUE(file::writeFile(p, "first"));
  {
    auto f = file::AtomicFile::create(p);
    ASSERT_TRUE(f);
    ASSERT_TRUE(f->write("half of the sec"));
  } // abandoned
  EXPECT_EQ(file::MappedFile::open(p)->text(), "first");
  chmod(p.c_str(), 0640);
  ASSERT_TRUE(file::writeFile(p, "second"));
  EXPECT_EQ(file::MappedFile::open(p)->text(), "second");
  struct stat info;
  stat(p.c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_FALSE(file::writeFile(testing::TempDir(), "x")) << "a folder";
  EXPECT_FALSE(file::writeFile("", "x"));
  EXPECT_TRUE(file::writeFile("/dev/null", "x"));
  stat("/dev/null", &info);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
}

// A link keeps pointing to the same file, which gets the new content.
TEST(AtomicFile, FollowsLinks) {
  std::string p = path("target"), link = path("link");
  unlink(link.c_str());
  ASSERT_TRUE(file::writeFile(p, "old"));
  ASSERT_EQ(symlink(p.c_str(), link.c_str()), 0);
  ASSERT_TRUE(file::writeFile(link, "new"));
  EXPECT_EQ(file::MappedFile::open(p)->text(), "new");
  struct stat info;
  lstat(link.c_str(), &info);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
}

TEST(AtomicFile, SurvivesAKillAtAnyInstant) {
  std::string p = path("killed");
  const std::string big(1 << 20, 'x');
  ASSERT_TRUE(file::writeFile(p, big));
  for (int round = 0; round < 20; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      for (char c = 'a';; c = c == 'z' ? 'a' : static_cast<char>(c + 1))
        (void)file::writeFile(p, std::string(big.size(), c));
    usleep(static_cast<useconds_t>(1000 + 1700 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    auto f = file::MappedFile::open(p);
    ASSERT_TRUE(f);
    ASSERT_EQ(f->size(), big.size());
    ASSERT_EQ(f->text().find_first_not_of(f->text()[0]), std::string::npos);
  }
}
