// SPDX-License-Identifier: Apache-2.0
//
// PTX in fat binaries: containers made by hand, damaged ones, and those that
// NVIDIA's fatbinary makes where it is there.
#include "runtime/FatBinary.h"
#include "runtime/PtxTarget.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace act;
using namespace act::runtime;

namespace {

template <typename T> std::string bytes(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

std::string ptxFor(const std::string &target) {
  return "//\n.version 8.0\n.target " + target +
         "\n.address_size 64\n.visible .entry k() { ret; }\n" +
         std::string(300, '\n');
}

// Literals alone: a block that saves nothing.
std::string lz4(const std::string &text) {
  std::string out = "\xf0";
  size_t more = text.size() - 15;
  for (; more >= 255; more -= 255)
    out += '\xff';
  return out + char(more) + text;
}

// A frame of one raw block, with the size of its content.
std::string zstd(const std::string &text) {
  return bytes(uint32_t(0xfd2fb528)) + '\xa0' + bytes(uint32_t(text.size())) +
         bytes(uint32_t(text.size() << 3 | 1)).substr(0, 3) + text;
}

enum { Ptx = 1, Elf = 2, Lz4 = 0x2000, Zstd = 0x8000 };

std::string entry(uint16_t kind, uint32_t sm, std::string payload,
                  uint64_t flags = 0, uint64_t plain = 0,
                  uint32_t headerBytes = 64) {
  uint32_t compressed = flags ? uint32_t(payload.size()) : 0;
  payload.resize((payload.size() + 7) / 8 * 8);
  std::string h = bytes(kind) + bytes(uint16_t(0x101)) + bytes(headerBytes) +
                  bytes(uint64_t(payload.size())) + bytes(compressed) +
                  bytes(uint32_t(0)) + bytes(uint32_t(8)) + bytes(sm) +
                  bytes(uint64_t(0)) + bytes(flags | 0x11) +
                  bytes(uint64_t(0)) + bytes(plain);
  h.resize(headerBytes);
  return h + payload;
}

std::string container(const std::string &entries) {
  return bytes(uint32_t(0xba55ed50)) + bytes(uint16_t(1)) +
         bytes(uint16_t(16)) + bytes(uint64_t(entries.size())) + entries;
}

Result<std::string> onSm(const std::string &image, uint32_t sm,
                         char suffix = 0) {
  return ptxOf(image, [&](const PtxTarget &t) {
    return t.suffix ? t.sm == sm && t.suffix == suffix : t.sm <= sm;
  });
}

std::string errorOf(const std::string &image, uint32_t sm = 90) {
  auto text = onSm(image, sm);
  return text ? "" : text.error().str();
}

} // namespace

TEST(FatBinary, CarriesPtx) {
  const std::string a = ptxFor("sm_50"), b = ptxFor("sm_80"),
                    c = ptxFor("sm_90a");
  EXPECT_EQ(*onSm(a + '\0', 80), a);
  EXPECT_EQ(*onSm(container(entry(Ptx, 50, a)), 80), a);
  EXPECT_EQ(*onSm(container(entry(Ptx, 50, lz4(a), Lz4, a.size())), 80), a);
  EXPECT_EQ(*onSm(container(entry(Ptx, 50, zstd(a), Zstd, a.size(), 80)), 80),
            a);
  // The highest that runs, whatever the order, in one container or several.
  const std::string all = container(entry(Elf, 90,
                                          "\x7f"
                                          "ELF") +
                                    entry(Ptx, 90, c) + entry(Ptx, 50, a)) +
                          container(entry(Ptx, 80, zstd(b), Zstd, b.size()));
  EXPECT_EQ(*onSm(all, 90, 'a'), c);
  EXPECT_EQ(*onSm(all, 90), b);
  EXPECT_EQ(*onSm(all, 80), b);
  EXPECT_EQ(*onSm(all, 70), a);
  EXPECT_EQ(*simulatorFor(all), "sim:sm_90a");
  EXPECT_EQ(*simulatorFor(container(entry(Ptx, 50, a))), "sim:sm_80");
  EXPECT_EQ(errorOf(container(entry(Elf, 80,
                                    "\x7f"
                                    "ELF") +
                              entry(Elf, 90,
                                    "\x7f"
                                    "ELF"))),
            "the fat binary has no PTX that this device runs; it has none at "
            "all, and machine code for sm_80, sm_90");
  EXPECT_EQ(errorOf(container(entry(Ptx, 90, c)), 80),
            "the fat binary has no PTX that this device runs; it has PTX for "
            "sm_90a");
  EXPECT_NE(errorOf("\x7f"
                    "ELF")
                .find("machine code"),
            std::string::npos);
}

// Whatever the bytes claim, it is an error or a text, and nothing else.
TEST(FatBinary, DamageIsAnError) {
  const std::string text = ptxFor("sm_80");
  const std::string whole = container(
      entry(Ptx, 80, lz4(text), Lz4, text.size()) +
      entry(Ptx, 80, zstd(text), Zstd, text.size()) + entry(Ptx, 80, text));
  ASSERT_TRUE(onSm(whole, 80));
  for (size_t n = 4; n < whole.size(); ++n)
    EXPECT_FALSE(onSm(whole.substr(0, n), 80)) << n;
  for (size_t i = 4; i < whole.size(); ++i)
    for (int bit : {0x01, 0x80, 0xff}) {
      std::string other = whole;
      other[i] = char(other[i] ^ bit);
      (void)onSm(other, 80);
    }
  for (uint64_t claim : {~uint64_t(0), uint64_t(1) << 40, uint64_t(0)}) {
    EXPECT_NE(errorOf(container(entry(Ptx, 80, lz4(text), Lz4, claim))), "");
    EXPECT_NE(errorOf(container(entry(Ptx, 80, zstd(text), Zstd, claim))), "");
    std::string header = container(entry(Ptx, 80, text));
    header.replace(24, 8, bytes(claim));
    EXPECT_NE(errorOf(header), "") << claim;
  }
  std::string version = whole;
  version[4] = 7;
  EXPECT_EQ(errorOf(version), "the fat binary has version 7, expected 1");
  EXPECT_NE(errorOf(container(entry(Ptx, 80, "no PTX"))), "");
}

// Those of the toolkit, compressed in each way that it knows.
TEST(FatBinary, IsReadAsTheToolkitWritesIt) {
  const std::string path =
      std::getenv("PATH") + std::string(":/usr/local/cuda/bin");
  setenv("PATH", path.c_str(), 1);
  if (std::system("command -v fatbinary >/dev/null"))
    GTEST_SKIP() << "there is no fatbinary, of NVIDIA's toolkit";
  namespace fs = std::filesystem;
  char name[] = "/tmp/act-fatbinary-XXXXXX";
  ASSERT_TRUE(mkdtemp(name));
  const std::string folder = name;
  const std::string old = ptxFor("sm_75"), text = ptxFor("sm_80");
  std::ofstream(folder + "/old.ptx") << old;
  std::ofstream(folder + "/new.ptx") << text;
  unsigned made = 0;
  for (const char *how : {"", "--compress=false", "--compress-mode=default",
                          "--compress-mode=speed", "--compress-mode=balance",
                          "--compress-mode=size"}) {
    const std::string command =
        "cd " + folder + " && fatbinary -64 --create=x.fatbin " + how +
        " --image3=kind=ptx,sm=75,file=old.ptx"
        " --image3=kind=ptx,sm=80,file=new.ptx >/dev/null 2>&1";
    // Older toolkits know fewer ways.
    if (std::system(command.c_str()))
      continue;
    ++made;
    std::ifstream file(folder + "/x.fatbin", std::ios::binary);
    const std::string image(std::istreambuf_iterator<char>(file), {});
    auto higher = onSm(image, 90), lower = onSm(image, 75);
    ASSERT_TRUE(higher && lower)
        << how << (higher ? lower : higher).error().str();
    EXPECT_NE(higher->find(".target sm_80"), std::string::npos) << how;
    EXPECT_NE(lower->find(".target sm_75"), std::string::npos) << how;
    EXPECT_NE(higher->find(".entry k"), std::string::npos) << how;
  }
  EXPECT_GE(made, 2u);
  fs::remove_all(folder);
}
