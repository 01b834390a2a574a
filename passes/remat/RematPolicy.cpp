// SPDX-License-Identifier: Apache-2.0
//
// The grammar of --remat=, and where segments end. Nothing here depends on a
// module.
#include "passes/remat/RematPolicy.h"
#include "act/Remat/Bytes.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>

using namespace act;

Result<RematPolicy> act::parseRematPolicy(const std::string &text) {
  static const std::pair<const char *, RematPolicy::Kind> names[] = {
      {"none", RematPolicy::None},
      {"selective", RematPolicy::Selective},
      {"attention", RematPolicy::Attention},
      {"attention-core", RematPolicy::AttentionCore},
      {"layer", RematPolicy::Layer},
      {"sqrt", RematPolicy::Segments}};
  RematPolicy policy;
  for (auto &[name, kind] : names)
    if (text == name) {
      policy.kind = kind;
      return policy;
    }
  llvm::StringRef rest = text;
  auto refuse = [&](const std::string &why) {
    return Error{"remat policy '" + text + "': " + why, ""};
  };
  if (rest.consume_front("segments=")) {
    policy.kind = RematPolicy::Segments;
    if (rest.getAsInteger(10, policy.segments) || policy.segments < 1)
      return refuse("expected a number of segments of 1 or more, found '" +
                    rest.str() + "'");
    return policy;
  }
  auto link = [&](llvm::StringRef speed) -> Status {
    auto amount = speed.consume_back("/s")
                      ? remat::parseAmount(speed.str())
                      : Result<remat::Amount>(Error{"", ""});
    if (!amount || amount->unit <= 0 || amount->value * amount->unit < 1 ||
        !(amount->value * amount->unit < 1e18))
      return Error{"expected a speed such as offload=25GB/s", ""};
    policy.link = amount->value * amount->unit;
    return ok();
  };
  if (rest.consume_front("offload") && (rest.empty() || rest.front() == '=')) {
    policy.kind = RematPolicy::Offload;
    policy.offloads = true;
    if (rest.consume_front("="))
      if (auto s = link(rest); !s)
        return refuse(s.error().str());
    return policy;
  }
  rest = text;
  if (rest.consume_front("budget=")) {
    policy.kind = RematPolicy::Budget;
    auto [bytesOf, more] = rest.split(',');
    if (bytesOf.size() != rest.size()) {
      rest = bytesOf;
      policy.offloads = true;
      if (!more.consume_front("offload") ||
          (!more.empty() && !more.consume_front("=")))
        return refuse(
            "expected ',offload' or ',offload=25GB/s' after the bytes");
      // "offload" alone has the default speed; "offload=" is an error.
      if (!more.empty() || text.back() == '=')
        if (auto s = link(more); !s)
          return refuse(s.error().str());
    }
    if (rest == "fit") // the device is named elsewhere
      return policy;
    bool fit = rest.consume_front("fit:");
    auto bytes = remat::parseBytes(rest.str());
    if (!bytes)
      return refuse(bytes.error().str());
    (fit ? policy.totalBytes : policy.peakBytes) = *bytes;
    return policy;
  }
  if (text == "budget")
    return Error{"remat policy 'budget': expected a size, budget=24GB, or "
                 "budget=fit:24GB for all of a step",
                 ""};
  return Error{"unknown remat policy '" + text +
                   "': expected none, selective, attention, attention-core, "
                   "layer, sqrt, "
                   "segments=N, offload, budget=BYTES or budget=fit:BYTES",
               ""};
}

// Policy layer has no segments in act. PyTorch's checkpoints (TorchModel) take
// it as one segment per layer.
int64_t act::segmentCount(const RematPolicy &policy, int64_t layers) {
  return policy.kind == RematPolicy::Layer ? layers
         : policy.segments ? policy.segments
                           : std::llround(std::sqrt(double(layers)));
}

// Rounding each end, and not each length, keeps the lengths within one of each
// other and their sum at `layers`.
int64_t act::segmentEnd(int64_t i, int64_t n, int64_t layers) {
  return std::llround(double(i) * layers / n);
}
