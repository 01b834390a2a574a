// SPDX-License-Identifier: Apache-2.0
//
// safetensors, npy and atomic files: what is written reads back, and what lies
// is refused.
#include "act/File/AtomicFile.h"
#include "act/File/MappedFile.h"
#include "act/Npy/Npy.h"
#include "act/Safetensors/Set.h"
#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
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

namespace {

// A folder of its own, with sets of three tensors of 16, 40 and 8 bytes.
class SafetensorsSet : public testing::Test {
protected:
  std::string folder = path("set/");
  std::vector<float> values = std::vector<float>(16);
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::vector<safetensors::Source> tensors(float first) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = first + static_cast<float>(i);
    // The second one is made when it is written.
    auto made = [this]() -> Result<std::vector<uint8_t>> {
      auto *bytes = reinterpret_cast<uint8_t *>(&values[4]);
      return std::vector<uint8_t>(bytes, bytes + 40);
    };
    return {{"a", "F32", {4}, &values[0], {}},
            {"b", "F32", {5, 2}, nullptr, made},
            {"c", "F32", {2}, &values[14], {}}};
  }
  Status write(const std::string &name, float first, uint64_t most) {
    return safetensors::writeSet(folder + name, tensors(first), {{"k", "v"}},
                                 most);
  }
  void expectSet(const std::string &name, float first, size_t files) {
    auto set = safetensors::Set::open(folder + name);
    ASSERT_TRUE(set) << set.error().str();
    EXPECT_EQ(set->files(), files);
    EXPECT_EQ(set->metadata().at("k"), "v");
    ASSERT_EQ(set->tensors().size(), 3u);
    std::map<std::string, float> at{{"a", 0}, {"b", 4}, {"c", 14}};
    for (const auto &e : set->tensors()) {
      float v;
      std::memcpy(&v, e.data(), 4);
      EXPECT_EQ(v, first + at.at(e.tensor->name)) << e.tensor->name;
    }
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    for (auto &e : std::filesystem::directory_iterator(folder))
      out.push_back(e.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }
  std::string refused(const std::string &name) {
    auto set = safetensors::Set::open(folder + name);
    return set ? "" : set.error().str();
  }
};

} // namespace

TEST_F(SafetensorsSet, IsOneFileOrShardsWithAnIndex) {
  using Names = std::vector<std::string>;
  ASSERT_TRUE(write("model.safetensors", 1, 64));
  EXPECT_EQ(names(), (Names{"model.safetensors"}));
  expectSet("model.safetensors", 1, 1);
  expectSet("", 1, 1);
  ASSERT_TRUE(write("model.safetensors", 2, 48));
  EXPECT_EQ(names(), (Names{"model-00001-of-00002.safetensors",
                            "model-00002-of-00002.safetensors",
                            "model.safetensors.index.json"}));
  EXPECT_EQ(
      file::MappedFile::open(folder + "model.safetensors.index.json")->text(),
      R"({
  "metadata": {
    "k": "v",
    "total_size": 64
  },
  "weight_map": {
    "a": "model-00001-of-00002.safetensors",
    "b": "model-00002-of-00002.safetensors",
    "c": "model-00002-of-00002.safetensors"
  }
}
)");
  expectSet("model.safetensors", 2, 2);
  expectSet("model.safetensors.index.json", 2, 2);
  expectSet("", 2, 2);
  // While a set is there its shards are left alone, and go when it goes.
  ASSERT_TRUE(write("model.safetensors", 3, 48));
  EXPECT_EQ(names(), (Names{"model-b-00001-of-00002.safetensors",
                            "model-b-00002-of-00002.safetensors",
                            "model.safetensors.index.json"}));
  expectSet("", 3, 2);
  // A tensor larger than a shard has one of its own.
  ASSERT_TRUE(write("model.safetensors", 4, 8));
  EXPECT_EQ(names().size(), 4u);
  expectSet("", 4, 3);
  ASSERT_TRUE(write("model.safetensors", 5, 1000));
  EXPECT_EQ(names(), (Names{"model.safetensors"}));
  expectSet("", 5, 1);
  EXPECT_TRUE(safetensors::writeSet("/dev/null", tensors(1), {}, 1));
}

TEST_F(SafetensorsSet, LiesAreErrors) {
  auto index = [&](const std::string &text) {
    ASSERT_TRUE(file::writeFile(folder + "i.index.json", text));
  };
  EXPECT_NE(refused("").find("holds no .safetensors file"), std::string::npos);
  ASSERT_TRUE(write("one.safetensors", 1, 1000));
  expectSet("", 1, 1);
  ASSERT_TRUE(write("two.safetensors", 1, 1000));
  EXPECT_NE(refused("").find("holds 2 .safetensors files and 0 indexes"),
            std::string::npos);
  for (auto [text, message] :
       {std::pair("[]", "expected the index of a sharded model"),
        {"{\"weight_map\":1}", "expected the index of a sharded model"},
        {"{\"weight_map\":{\"a\":1}}", "names no file for 'a'"},
        {"{\"weight_map\":{\"a\":\"../x\"}}", "beside the index"},
        {"{\"weight_map\":{\"a\":\"/x\"}}", "beside the index"},
        {"{\"weight_map\":{\"a\":\"none\"}}", "shard none, which is not there"},
        {"{\"weight_map\":{\"d\":\"one.safetensors\"}}",
         "puts 'd' in one.safetensors, which does not hold it"}}) {
    index(text);
    EXPECT_NE(refused("i.index.json").find(message), std::string::npos)
        << refused("i.index.json");
  }
  // Of two files with one name the index says which.
  index("{\"weight_map\":{\"a\":\"two.safetensors\"}}");
  auto set = safetensors::Set::open(folder + "i.index.json");
  ASSERT_TRUE(set);
  EXPECT_EQ(set->tensors().size(), 1u);
  // Nothing is left of a set that could not be written.
  auto before = names();
  auto failing = tensors(1);
  failing[2].data = nullptr;
  failing[2].fetch = []() -> Result<std::vector<uint8_t>> {
    return Error{"gone", ""};
  };
  auto s = safetensors::writeSet(folder + "w.safetensors", failing, {}, 16);
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().message, "gone");
  EXPECT_EQ(names(), before);
}

// Whoever dies while a set replaces another leaves one of them, whole.
TEST_F(SafetensorsSet, SurvivesAKillAtAnyInstant) {
  ASSERT_TRUE(write("model.safetensors", 0, 48));
  for (int round = 0; round < 20; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (float v = 1;; v += 1)
        // Shards, and now and then one file.
        if (!write("model.safetensors", v, int(v) % 5 ? 48 : 1000))
          _exit(1);
    }
    usleep(static_cast<useconds_t>(2000 + 1900 * round));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    auto set = safetensors::Set::open(folder);
    ASSERT_TRUE(set) << round << " " << set.error().str();
    ASSERT_EQ(set->tensors().size(), 3u);
    std::map<std::string, float> at{{"a", 0}, {"b", 4}, {"c", 14}};
    std::set<float> sets;
    for (const auto &e : set->tensors()) {
      float v;
      std::memcpy(&v, e.data(), 4);
      sets.insert(v - at.at(e.tensor->name));
    }
    EXPECT_EQ(sets.size(), 1u) << round;
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
