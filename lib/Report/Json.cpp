// SPDX-License-Identifier: Apache-2.0
//
// The report as JSON, the form that programs read and that the page is drawn
// from.
#include "lib/Report/Json.h"

namespace act::report {
namespace {

Json layerJson(int layer) {
  return layer == noLayer ? Json(nullptr) : Json(layer);
}

Json toJson(const Formula &formula) {
  if (!formula.known)
    return nullptr;
  Json candidates = Json::array();
  for (const auto &p : formula.bytes.candidates())
    candidates.push_back(p.str());
  return {{"bytes", formula.bytes.str()},
          {"candidates", candidates},
          {"shown", formula.shownCount()},
          {"alignment_bytes", formula.alignmentBytes}};
}

Json toJson(const CategoryBytes &bytes) {
  Json j = Json::object();
  for (size_t c = 0; c < categoryCount; ++c)
    if (bytes[c] != 0)
      j[name(Category(c))] = bytes[c];
  return j;
}

Json toJson(const Buffer &b) {
  Json j = {{"name", b.name},
            {"shape", b.shape},
            {"dtype", b.dtype},
            {"bytes", b.bytes},
            {"layer", layerJson(b.layer)},
            {"category", name(b.category)},
            {"first", b.first},
            {"last", b.last}};
  j["offset"] = b.offset < 0 ? Json(nullptr) : Json(b.offset);
  return j;
}

Json toJson(const SavedValue &v) {
  Json j = {{"name", v.name},
            {"shape", v.shape},
            {"dtype", v.dtype},
            {"bytes", v.bytes},
            {"layer", layerJson(v.layer)}};
  if (!v.formula.empty())
    j["formula"] = v.formula;
  if (!v.node.empty())
    j["node"] = v.node;
  return j;
}

template <typename T> Json orNull(const std::optional<T> &n) {
  return n ? Json(*n) : Json(nullptr);
}

Json toJson(const Layer &l) {
  return {{"name", l.name},
          {"index", l.index},
          {"variant", l.variant},
          {"retained_bytes", l.retainedBytes},
          {"recomputed_flops", l.recomputedFlops},
          {"flops", l.flops},
          {"launches", l.launches},
          {"least_bytes", l.leastBytes},
          {"block_bytes", orNull(l.blockBytes)},
          {"formula",
           l.retained.known ? Json(l.retained.bytes.str()) : Json(nullptr)},
          {"retained_formula", toJson(l.retained)},
          {"peak_formula", toJson(l.peak)}};
}

Json toJson(const LayerGraph &g) {
  Json nodes = Json::array(), edges = Json::array();
  for (const GraphNode &n : g.nodes)
    nodes.push_back({{"id", n.id},
                     {"label", n.label},
                     {"phase", name(n.phase)},
                     {"recomputed", n.recomputed}});
  for (const GraphEdge &e : g.edges)
    edges.push_back({{"from", e.from},
                     {"to", e.to},
                     {"label", e.label},
                     {"bytes", e.bytes},
                     {"saved", e.saved}});
  return {{"name", g.name}, {"nodes", nodes}, {"edges", edges}};
}

Json toJson(const TimelinePoint &p) {
  return {{"op", p.op},
          {"loc", p.loc},
          {"live_bytes", p.liveBytes},
          {"phase", name(p.phase)},
          {"layer", layerJson(p.layer)},
          {"categories", toJson(p.categories)}};
}

template <typename T> Json list(const std::vector<T> &items) {
  Json j = Json::array();
  for (const T &item : items)
    j.push_back(toJson(item));
  return j;
}

Json replayJson(const MemoryReport &r) {
  const AllocatorReplay &a = *r.replay;
  Json j = {{"name", a.allocator},
            {"settings", a.settings},
            {"allocated_peak_index", a.allocatedPeakAt},
            {"reserved_peak_index", a.reservedPeakAt},
            {"requested_bytes", a.requestedBytes},
            {"rounding_bytes", a.allocatedPeakBytes - a.requestedBytes},
            {"inactive_split_bytes", a.inactiveSplitBytes},
            {"fragmentation", a.fragmentation()},
            {"retries", a.retries},
            {"device_memory_bytes",
             a.deviceBytes ? Json(*a.deviceBytes) : Json(nullptr)},
            {"fits", a.deviceBytes ? Json(!a.exceeded) : Json(nullptr)},
            {"exceeded", nullptr}};
  if (a.exceeded) {
    // A tensor that exists before the step, a parameter for example, may
    // already be too large. Then no point of the timeline is to blame.
    const bool before = a.exceeded->index < 0;
    const TimelinePoint p =
        before ? TimelinePoint() : r.timeline[a.exceeded->index];
    j["exceeded"] = {
        {"index", before ? Json(nullptr) : Json(a.exceeded->index)},
        {"op", before ? Json(nullptr) : Json(p.op)},
        {"loc", p.loc},
        {"layer", layerJson(p.layer)},
        {"phase", before ? Json(nullptr) : Json(name(p.phase))},
        {"requested_bytes", a.exceeded->requestedBytes},
        {"allocated_bytes", a.exceeded->allocatedBytes},
        {"reserved_bytes", a.exceeded->reservedBytes}};
  }
  return j;
}

Json whatIfJson(const WhatIf &w) {
  Json policies = Json::array();
  for (const PolicyFit &p : w.policies) {
    Json largest = Json::object();
    for (const LargestFit &l : p.largest) {
      Json &fit = largest[l.letter];
      fit = {{"size", l.size},
             {"step", l.step},
             {"total_peak_bytes", l.bytes},
             {"next_total_peak_bytes",
              l.nextBytes ? Json(*l.nextBytes) : Json(nullptr)}};
      if (!w.allocator.empty()) {
        fit["reserved_peak_bytes"] = l.reserved;
        fit["next_reserved_peak_bytes"] =
            l.nextBytes ? Json(l.nextReserved) : Json(nullptr);
      }
      if (l.again)
        fit["recompute_percent"] = *l.again;
      if (l.cut)
        fit["searched_tokens"] = mostBudgetTokens;
    }
    policies.push_back(
        {{"policy", p.policy}, {"largest", largest}, {"curve", p.curve}});
  }
  Json j = {{"device_memory_bytes", w.deviceBytes},
            {"along", w.along},
            {"policies", policies}};
  if (!w.allocator.empty())
    j["allocator"] = w.allocator;
  return j;
}

Json peakJson(const MemoryReport &r) {
  if (r.peakAt.index < 0 || r.peakAt.index >= int64_t(r.timeline.size()))
    return nullptr;
  const TimelinePoint &p = r.timeline[r.peakAt.index];
  return {{"index", r.peakAt.index},
          {"op", p.op},
          {"loc", p.loc},
          {"phase", name(p.phase)},
          {"live_bytes", p.liveBytes},
          {"alive", list(r.peakAt.alive)}};
}

/// The figures and the lists that are small. The timeline and the buffers,
/// which grow with the number of layers, are added by reportJson().
Json figuresJson(const MemoryReport &r) {
  Json holds = Json::object();
  for (const MemoryReport::Condition &c : r.conditions)
    holds[c.name] = c.value;
  Json out = {{"view", r.view},
              {"model", r.model},
              {"function", r.function},
              {"letters", r.letters},
              {"retained_bytes", r.retainedBytes},
              {"peak_bytes", r.peakBytes},
              {"total_peak_bytes", r.totalPeakBytes},
              {"arena_bytes", r.arenaBytes},
              {"lower_bound_bytes", r.lowerBoundBytes},
              {"parameters_bytes", r.parametersBytes},
              {"gradients_bytes", r.gradientsBytes},
              {"optimizer_bytes", r.optimizerBytes},
              {"inputs_bytes", r.inputsBytes},
              {"outputs_bytes", r.outputsBytes},
              {"scratch_bytes_per_thread", orNull(r.scratchBytesPerThread)},
              {"recomputed_flops", r.recomputedFlops},
              {"flops", r.flops},
              {"launches", r.launches},
              {"least_bytes", r.leastBytes},
              {"card", r.card.empty() ? Json(nullptr) : Json(r.card)},
              {"seconds", orNull(r.seconds)},
              {"target", r.target.empty() ? Json(nullptr) : Json(r.target)},
              {"block_bytes", orNull(r.blockBytes)},
              {"scratch_bytes", orNull(r.scratchBytes)},
              {"tensor_map_bytes", orNull(r.tensorMapBytes)},
              {"formulas",
               {{"retained", toJson(r.retained)},
                {"peak", toJson(r.peak)},
                {"alignment", toJson(r.alignment)},
                {"holds", holds}}},
              {"notes", r.notes},
              {"layers", list(r.layers)},
              {"saved", list(r.saved)},
              {"graphs", list(r.graphs)}};
  if (r.view == "torch") { // no program of ours: nobody counted these
    for (const char *unknown : {"arena_bytes", "lower_bound_bytes"})
      out[unknown] = nullptr;
    auto clear = [](Json &j) {
      for (const char *unknown :
           {"recomputed_flops", "flops", "launches", "least_bytes"})
        j[unknown] = nullptr;
    };
    clear(out);
    for (Json &layer : out["layers"])
      clear(layer);
  }
  if (r.offload)
    out["offload"] = {{"host_arena_bytes", r.offload->arenaBytes},
                      {"host_peak_bytes", r.offload->peakBytes},
                      {"moved_bytes", r.offload->movedBytes},
                      {"link_bytes_per_second", r.offload->linkBytesPerSecond},
                      {"copy_seconds", r.offload->copySeconds},
                      {"compute_seconds", r.offload->computeSeconds},
                      {"wait_seconds", r.offload->waitSeconds},
                      {"hidden", r.offload->hidden()}};
  return out;
}

} // namespace

Json summaryJson(const MemoryReport &r) {
  Json j = figuresJson(r);
  if (r.replay) {
    j["allocated_peak_bytes"] = r.replay->allocatedPeakBytes;
    j["reserved_peak_bytes"] = r.replay->reservedPeakBytes;
    j["allocator"] = replayJson(r);
    j["resident"] = r.resident;
  }
  if (r.whatIf)
    j["what_if"] = whatIfJson(*r.whatIf);
  return j;
}

Json reportJson(const MemoryReport &r) {
  Json j = summaryJson(r);
  j["peak"] = peakJson(r);
  j["timeline"] = list(r.timeline);
  if (r.replay)
    for (size_t t = 0; t < r.timeline.size(); ++t) {
      j["timeline"][t]["allocated_bytes"] = r.replay->allocated[t];
      j["timeline"][t]["reserved_bytes"] = r.replay->reserved[t];
    }
  j["buffers"] = list(r.buffers);
  return j;
}

/// Names come from files and may not be UTF-8. JSON has no other encoding, so
/// such bytes are replaced; the default handler would throw.
std::string dump(const Json &json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string toJson(const MemoryReport &report) {
  return dump(reportJson(report), 1) + "\n";
}

} // namespace act::report
