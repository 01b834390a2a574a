// SPDX-License-Identifier: Apache-2.0
#include "passes/emit/JoinLaunches.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace act;
using artifact::Launch;
using artifact::Operand;
using artifact::Space;

namespace {

/// How many launches back to look for one to join.
constexpr size_t farthest = 24;
/// Limits on launches and operands merged into one: kernel parameters are 8
/// bytes each and at most 4 KB in total (PTX ISA, .param space of kernels).
constexpr size_t mostLaunches = 16, mostOperands = 256;

/// Two reads never conflict. Arena and host memory are one range each; in the
/// other spaces the index says which tensor it is.
bool overlap(const Operand &a, const Operand &b) {
  return a.space == b.space && (a.written || b.written) &&
         (a.space == Space::Arena || a.space == Space::Host ||
          a.index == b.index) &&
         a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

bool isMemory(const Operand &o) {
  return o.space != Space::Scalar && o.space != Space::Immediate;
}

bool conflict(const Launch &a, const Launch &b) {
  return llvm::any_of(a.args, [&](const Operand &x) {
    return isMemory(x) && llvm::any_of(b.args, [&](const Operand &y) {
             return isMemory(y) && overlap(x, y);
           });
  });
}

/// The joined names of launches of one layer, with its number once.
std::string nameOf(const artifact::Function &f,
                   const std::vector<uint32_t> &launches) {
  constexpr size_t shown = 4;
  std::string name = f.launches[launches[0]].name;
  for (size_t i = 1; i < launches.size() && i < shown; ++i) {
    llvm::StringRef own = f.launches[launches[i]].name;
    name += " + " + own.substr(own.rfind('/') + 1).str();
  }
  if (launches.size() > shown)
    name += " + " + std::to_string(launches.size() - shown) + " more";
  return name;
}

} // namespace

std::vector<std::vector<uint32_t>>
act::joinLaunches(const artifact::Function &f,
                  llvm::function_ref<int64_t(uint32_t launch)> kind) {
  std::vector<std::vector<uint32_t>> joined;
  std::vector<int64_t> kinds;
  std::vector<size_t> operands;
  size_t firstJoined = 0; // of this part of the function
  for (uint32_t j = 0; j < f.launches.size(); ++j) {
    const Launch &launch = f.launches[j];
    int64_t own = kind(j);
    size_t begin = joined.size(), over = 0;
    auto stops = [&](uint32_t i) { return conflict(f.launches[i], launch); };
    // Backward may run later, so it is not joined with what runs before.
    if (f.backward && j == f.backward)
      firstJoined = joined.size();
    // Backwards: whatever it conflicts with must run before it, so the search
    // ends there.
    for (size_t g = joined.size();
         own >= 0 && g-- > firstJoined && over < farthest;) {
      over += joined[g].size();
      if (llvm::any_of(joined[g], stops))
        break;
      if (kinds[g] == own && joined[g].size() < mostLaunches &&
          operands[g] + launch.args.size() <= mostOperands) {
        begin = g;
        break;
      }
    }
    if (begin == joined.size()) {
      joined.emplace_back();
      kinds.push_back(own);
      operands.push_back(0);
    }
    joined[begin].push_back(j);
    operands[begin] += launch.args.size();
  }
  return joined;
}

artifact::Function act::withLaunches(
    const artifact::Function &f,
    const std::vector<std::vector<uint32_t>> &launches,
    llvm::function_ref<uint32_t(const std::vector<uint32_t> &)> kernelOf) {
  artifact::Function out = f;
  out.launches.clear();
  std::vector<uint32_t> now(f.launches.size());
  std::vector<bool> moved(f.launches.size());
  for (auto [number, members] : llvm::enumerate(launches)) {
    Launch launch;
    launch.kernel = kernelOf(members);
    launch.name = nameOf(f, members);
    for (uint32_t i : members) {
      // The joined kernel takes the arguments of its parts one after the other.
      llvm::append_range(launch.args, f.launches[i].args);
      now[i] = number;
    }
    out.launches.push_back(std::move(launch));
  }
  if (f.backward)
    out.backward =
        f.backward < now.size() ? now[f.backward] : out.launches.size();
  // Launches that overtook an earlier one.
  uint32_t most = 0;
  for (uint32_t i = 0; i < now.size(); ++i) {
    moved[i] = now[i] < most;
    most = std::max(most, now[i]);
  }
  llvm::erase_if(out.plan, [&](artifact::Buffer &b) {
    Operand all;
    all.space = b.onHost ? Space::Host : Space::Arena;
    all.written = true;
    all.offset = b.offset;
    all.bytes = b.bytes;
    auto touches = [&](uint32_t i) {
      return llvm::any_of(f.launches[i].args,
                          [&](const Operand &o) { return overlap(o, all); });
    };
    // No launch overtakes the first writer, as that would be a conflict. But
    // the last reader may have moved ahead of others, so look for the latest,
    // back to a launch that stayed in order.
    uint32_t i = b.first;
    while (i <= b.last && !touches(i))
      ++i;
    if (i > b.last)
      return true;
    uint32_t last = now[i];
    for (uint32_t j = b.last; j > i; --j)
      if (touches(j)) {
        last = std::max(last, now[j]);
        if (!moved[j])
          break;
      }
    b.first = now[i];
    b.last = last;
    return false;
  });
  return out;
}
