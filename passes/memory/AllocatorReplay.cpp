// SPDX-License-Identifier: Apache-2.0
//
// Parses the allocator's options and turns a report into the requests that an
// allocator would see. The allocator itself is lib/CudaCaching.
#include "passes/memory/AllocatorReplay.h"
#include "act/Remat/Bytes.h"
#include <algorithm>

namespace act {

Result<std::optional<AllocatorChoice>>
chooseAllocator(const AllocatorOptions &options, const std::string &view) {
  if (options.allocator.empty()) {
    // A setting without an allocator would silently do nothing.
    for (auto [name, value] :
         {std::pair("allocator-conf", &options.conf),
          std::pair("device-memory", &options.deviceMemory),
          std::pair("cublas-workspace", &options.cublasWorkspace),
          std::pair("cublaslt-workspace", &options.cublasLtWorkspace)})
      if (!value->empty())
        return Error{std::string(name) + " applies to an allocator: expected "
                                         "allocator=cuda-caching as well",
                     ""};
    return std::optional<AllocatorChoice>();
  }
  if (options.allocator != "cuda-caching")
    return Error{"unknown allocator '" + options.allocator +
                     "': expected cuda-caching",
                 ""};
  if (view != "torch" &&
      !(options.cublasWorkspace.empty() && options.cublasLtWorkspace.empty()))
    return Error{
        "workspaces of cuBLAS belong to view torch, not to view " + view, ""};
  AllocatorChoice choice{options.allocator, options.conf, {}};
  cuda_caching::Options &out = choice.options;
  // The defaults of torch 2.15 on most cards.
  out.cublasWorkspace = 8 * cuda_caching::MiB + 128 * 1024;
  out.cublasLtWorkspace = 1 * cuda_caching::MiB;
  auto settings = cuda_caching::parseSettings(options.conf);
  if (!settings)
    return settings.error();
  out.settings = *settings;
  std::string workspace = options.cublasWorkspace;
  if (size_t at = workspace.rfind(",kept");
      at != std::string::npos && at + 5 == workspace.size()) {
    out.keepsWorkspace = true;
    workspace.resize(at);
  }
  for (auto [name, text, field] :
       {std::tuple("device-memory", &options.deviceMemory, &out.deviceBytes),
        std::tuple("cublas-workspace",
                   static_cast<const std::string *>(&workspace),
                   &out.cublasWorkspace),
        std::tuple("cublaslt-workspace", &options.cublasLtWorkspace,
                   &out.cublasLtWorkspace)}) {
    if (text->empty())
      continue;
    auto bytes = remat::parseBytes(*text);
    if (!bytes)
      return Error{std::string(name) + ": " + bytes.error().message, ""};
    *field = *bytes;
  }
  return std::optional(std::move(choice));
}

PlacedTrace traceOf(const report::MemoryReport &report) {
  using cuda_caching::Event;
  PlacedTrace out;
  auto happen = [&](Event event, int64_t point) {
    out.trace.events.push_back(event);
    out.points.push_back(point);
  };
  for (int64_t bytes : report.resident)
    happen(Event::allocate(out.trace.add(bytes)), -1);
  const size_t first = report.resident.size(), count = report.timeline.size();
  std::vector<std::vector<size_t>> born(count + 1), dead(count + 1);
  for (size_t i = 0; i < report.buffers.size(); ++i) {
    const report::Buffer &b = report.buffers[i];
    out.trace.add(b.bytes);
    born[b.first].push_back(first + i);
    dead[b.last].push_back(first + i);
  }
  // An operation's operands are freed only after its results are allocated.
  for (size_t t = 0; t <= count; ++t) {
    int64_t point = int64_t(std::min(t, count - 1));
    for (size_t storage : dead[t])
      happen(Event::free(storage), point);
    for (size_t storage : born[t])
      happen(Event::allocate(storage), point);
  }
  return out;
}

namespace {

/// The allocator settings, plus the workspaces if any product uses them.
std::string settingsText(const AllocatorChoice &choice,
                         const cuda_caching::Trace &trace) {
  const cuda_caching::Options &settings = choice.options;
  std::string text = choice.conf;
  using Kind = cuda_caching::Event::Kind;
  if (std::none_of(trace.events.begin(), trace.events.end(), [](auto &e) {
        return e.kind == Kind::Product || e.kind == Kind::Biased;
      }))
    return text;
  auto add = [&](const std::string &part) {
    text += (text.empty() ? "" : "; ") + part;
  };
  add("workspaces " + report::humanBytes(settings.cublasWorkspace) +
      (settings.keepsWorkspace ? " kept" : ""));
  if (settings.cublasLtWorkspace)
    add("with a bias " + report::humanBytes(settings.cublasLtWorkspace));
  return text;
}

} // namespace

// If the card is too small, the report says where, and its figures are those of
// a card of any size: they tell what would be enough.
void replayAllocator(report::MemoryReport &report, const PlacedTrace &trace,
                     const AllocatorChoice &choice) {
  const cuda_caching::Options &settings = choice.options;
  report::AllocatorReplay out;
  out.allocator = choice.allocator;
  out.settings = settingsText(choice, trace.trace);
  if (settings.deviceBytes != cuda_caching::unlimited)
    out.deviceBytes = settings.deviceBytes;
  cuda_caching::Replay replay = cuda_caching::replay(trace.trace, settings);
  if (replay.outOfMemory) {
    const cuda_caching::OutOfMemory &full = *replay.outOfMemory;
    out.exceeded = {trace.points[full.event], full.requested, full.allocated,
                    full.reserved};
    cuda_caching::Options roomy = settings;
    roomy.deviceBytes = cuda_caching::unlimited;
    replay = cuda_caching::replay(trace.trace, roomy);
  }
  out.retries = replay.retries;
  out.allocatedPeakBytes = replay.allocatedPeak;
  out.reservedPeakBytes = replay.reservedPeak;
  out.allocated.resize(report.timeline.size());
  out.reserved.resize(report.timeline.size());
  if (!replay.points.empty()) {
    const cuda_caching::Point &most = replay.points[replay.allocatedPeakAt];
    out.requestedBytes = most.requested;
    out.inactiveSplitBytes = most.inactiveSplit;
    out.allocatedPeakAt =
        std::max<int64_t>(trace.points[replay.allocatedPeakAt], 0);
    out.reservedPeakAt =
        std::max<int64_t>(trace.points[replay.reservedPeakAt], 0);
  }
  // A point without events keeps the values of the previous one.
  int64_t allocated = 0, reserved = 0;
  size_t i = 0;
  for (int64_t t = 0; t < int64_t(report.timeline.size()); ++t) {
    if (i >= replay.points.size() || trace.points[i] > t) {
      out.allocated[t] = allocated;
      out.reserved[t] = reserved;
    }
    for (; i < replay.points.size() && trace.points[i] <= t; ++i) {
      const cuda_caching::Point &p = replay.points[i];
      out.allocated[t] = std::max(out.allocated[t], p.allocated);
      out.reserved[t] = std::max(out.reserved[t], p.reserved);
      allocated = p.allocatedAfter;
      reserved = p.reserved;
    }
  }
  report.replay = std::move(out);
}

} // namespace act
