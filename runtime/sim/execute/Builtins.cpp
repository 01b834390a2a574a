// SPDX-License-Identifier: Apache-2.0
//
// What the CUDA runtime provides to kernels. Arguments lie in the caller's
// local memory, as for any call.
#include "runtime/sim/execute/Builtins.h"
#include <cstdio>
#include <cstring>
#include <mutex>

namespace act::runtime::sim {

namespace {

/// Passing a value to the system counts as a use, so it must be defined.
void reportUndefined(Context &c, const Instruction &i, unsigned lane,
                     const Context::Target &where, uint64_t bytes) {
  if (uint32_t bad = c.undefinedLocals(where, bytes))
    c.report(FindingKind::Uninitialised, i, lane,
             "is given " + c.nameOfOrigin(c.originAt(
                               i, where, uint64_t(__builtin_ctz(bad)))));
}

template <typename T> T local(Context &c, unsigned lane, uint64_t offset) {
  T value;
  std::memcpy(&value, c.warp.local + lane * localLimit + offset, sizeof value);
  return value;
}

template <typename T>
void setLocal(Context &c, unsigned lane, uint64_t offset, T value) {
  std::memcpy(c.warp.local + lane * localLimit + offset, &value, sizeof value);
}

// A string in the kernel's memory; it ends at the first byte out of bounds.
std::string text(Context &c, const Instruction &i, unsigned lane,
                 uint64_t address) {
  std::string s;
  while (s.size() < 4096) {
    Context::Target t = c.resolve(i, lane, ptx::Space::Generic,
                                  address + s.size(), 1, 1, false);
    if (!t.data || *t.data == std::byte(0))
      break;
    s += char(*t.data);
  }
  return s;
}

void print(Context &c, const std::string &s, std::FILE *file = stdout) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (c.grid.options->print)
    c.grid.options->print(s);
  else
    std::fwrite(s.data(), 1, s.size(), file);
}

// printf's arguments lie one after the other, each aligned to its size. As in
// C, floats are promoted to double.
std::string format(Context &c, const Instruction &i, unsigned lane,
                   const std::string &pattern, uint64_t arguments) {
  std::string out;
  auto take = [&](unsigned bytes) {
    arguments = (arguments + bytes - 1) / bytes * bytes;
    uint64_t value = 0;
    Context::Target t =
        c.resolve(i, lane, ptx::Space::Generic, arguments, bytes, 1, false);
    if (t.data) {
      reportUndefined(c, i, lane, t, bytes);
      std::memcpy(&value, t.data, bytes);
    }
    arguments += bytes;
    return value;
  };
  for (size_t k = 0; k < pattern.size(); ++k) {
    if (pattern[k] != '%') {
      out += pattern[k];
      continue;
    }
    std::string spec = "%";
    unsigned longs = 0;
    for (++k; k < pattern.size(); ++k) {
      char ch = pattern[k];
      if (std::strchr("-+ #0123456789.", ch))
        spec += ch;
      else if (ch == '*')
        spec += std::to_string(int32_t(take(4)));
      else if (ch == 'l')
        ++longs;
      else if (ch == 'z' || ch == 'j' || ch == 't')
        longs = 2;
      else if (ch != 'h')
        break;
    }
    if (k >= pattern.size() || spec.size() > 40)
      break;
    char kind = pattern[k], buffer[512] = "";
    if (kind == '%') {
      out += '%';
      continue;
    }
    if (std::strchr("diuxXoc", kind)) {
      uint64_t value = take(longs ? 8 : 4);
      if (!longs && (kind == 'd' || kind == 'i'))
        value = uint64_t(int64_t(int32_t(value)));
      if (kind == 'c')
        std::snprintf(buffer, sizeof buffer, (spec + "c").c_str(), int(value));
      else
        std::snprintf(buffer, sizeof buffer, (spec + "ll" + kind).c_str(),
                      (unsigned long long)value);
    } else if (std::strchr("fFeEgGaA", kind)) {
      uint64_t bits = take(8);
      double value;
      std::memcpy(&value, &bits, 8);
      std::snprintf(buffer, sizeof buffer, (spec + kind).c_str(), value);
    } else if (kind == 's') {
      out += text(c, i, lane, take(8));
    } else if (kind == 'p') {
      std::snprintf(buffer, sizeof buffer, "0x%llx",
                    (unsigned long long)take(8));
    } else {
      out += spec + kind;
    }
    out += buffer;
  }
  return out;
}

Step vprintf(Context &c, const Instruction &i,
             const std::vector<uint64_t> &arguments,
             const std::vector<uint64_t> &results) {
  if (arguments.size() == 2)
    for (unsigned lane = 0; lane < 32; ++lane)
      if (c.active(lane)) {
        std::string s =
            format(c, i, lane,
                   text(c, i, lane, local<uint64_t>(c, lane, arguments[0])),
                   local<uint64_t>(c, lane, arguments[1]));
        print(c, s);
        if (!results.empty())
          setLocal<uint32_t>(c, lane, results[0], uint32_t(s.size()));
      }
  return Step::Next;
}

// Arguments: message, file, line, function, character size. Each thread prints
// CUDA's message (CUDA C++ Programming Guide, "Assertion") on stderr.
Step assertFail(Context &c, const Instruction &i,
                const std::vector<uint64_t> &arguments,
                const std::vector<uint64_t> &) {
  std::string first = "an assertion failed";
  for (unsigned lane = 0; lane < 32 && arguments.size() >= 4; ++lane) {
    if (!c.active(lane))
      continue;
    auto word = [&](unsigned k) {
      return text(c, i, lane, local<uint64_t>(c, lane, arguments[k]));
    };
    const std::string what = word(0), file = word(1), function = word(3);
    const std::string line =
        std::to_string(local<uint32_t>(c, lane, arguments[2]));
    const ThreadId t = c.grid.threadId(c.cta.linear, c.warp.index * 32 + lane);
    auto triple = [](const uint32_t (&id)[3]) {
      return "[" + std::to_string(id[0]) + "," + std::to_string(id[1]) + "," +
             std::to_string(id[2]) + "]";
    };
    print(c,
          file + ":" + line + ": " + function + ": block: " + triple(t.cta) +
              ", thread: " + triple(t.thread) + " Assertion `" + what +
              "` failed.\n",
          stderr);
    if (lane == unsigned(__builtin_ctz(c.mask)))
      first += ": " + what + " (" + file + ":" + line + ", " + function + ")";
  }
  c.report(FindingKind::AssertFailed, i, unsigned(__builtin_ctz(c.mask)),
           first);
  return Step::Exited;
}

/// Each allocation brings the finding to report if the kernel never frees it.
Step allocate(Context &c, const Instruction &i,
              const std::vector<uint64_t> &arguments,
              const std::vector<uint64_t> &results) {
  if (arguments.size() == 1 && results.size() == 1)
    for (unsigned lane = 0; lane < 32; ++lane)
      if (c.active(lane)) {
        uint64_t bytes = local<uint64_t>(c, lane, arguments[0]);
        auto p = c.grid.memory->allocate(bytes, "a kernel's malloc");
        setLocal<uint64_t>(c, lane, results[0],
                           p ? reinterpret_cast<uint64_t>(*p) : 0);
        if (p)
          c.grid.addHeap(*p, c.finding(FindingKind::Leak, i, lane,
                                       "allocates memory that is never freed"));
      }
  return Step::Next;
}

Step release(Context &c, const Instruction &i,
             const std::vector<uint64_t> &arguments,
             const std::vector<uint64_t> &) {
  if (arguments.size() == 1)
    for (unsigned lane = 0; lane < 32; ++lane)
      if (c.active(lane)) {
        uint64_t address = local<uint64_t>(c, lane, arguments[0]);
        if (address && !c.grid.dropHeap(reinterpret_cast<void *>(address)))
          c.reportAt(FindingKind::InvalidOperation, i, lane, address,
                     "frees an address that malloc did not return");
      }
  return Step::Next;
}

} // namespace

Builtin builtinNamed(const std::string &name) {
  if (name == "vprintf")
    return vprintf;
  if (name == "__assertfail")
    return assertFail;
  if (name == "malloc")
    return allocate;
  if (name == "free")
    return release;
  return nullptr;
}

} // namespace act::runtime::sim
