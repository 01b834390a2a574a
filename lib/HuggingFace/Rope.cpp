// SPDX-License-Identifier: Apache-2.0
//
// Rotary embeddings in a config: the old field rope_scaling and the new object
// rope_parameters.
#include "lib/HuggingFace/Fields.h"
#include "lib/HuggingFace/Parts.h"
#include <algorithm>
#include <cmath>
#include <tuple>

using nlohmann::json;

namespace act::hf {
namespace {

// Rope's settings in one of the two objects; unstated parts are empty.
struct Rope {
  std::optional<double> theta;
  std::optional<RopeScaling> scaling;
};

const std::vector<std::string> ropeKinds = {"default", "linear", "llama3",
                                            "dynamic", "yarn",   "longrope"};

/// A list of one factor above 0 for each pair of a head.
std::vector<double> readFactors(Fields &r, const char *name,
                                const ModelConfig &c) {
  std::vector<double> out;
  const json *list = r.find(name);
  if (list && list->is_array())
    for (const json &one : *list)
      if (one.is_number() && one.get<double>() > 0 &&
          std::isfinite(one.get<double>()))
        out.push_back(one.get<double>());
  if (!list || out.size() != list->size() ||
      int64_t(out.size()) != c.headDim / 2)
    r.fail(name, "expected " + std::to_string(c.headDim / 2) +
                     " numbers above 0, one for each pair of a head");
  return out;
}

/// YaRN's factor of the scores' temperature (Peng et al. 2023), as a factor of
/// cosines and sines.
double yarnScale(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

RopeScaling readScaling(Fields &r, const ModelConfig &c) {
  size_t kind = r.word("rope_type", ropeKinds, r.word("type", ropeKinds, 0));
  if (r.find("type") && r.word("type", ropeKinds, 0) != kind)
    r.fail("type", "contradicts rope_type: " + show(*r.find("type")) +
                       " and \"" + ropeKinds[kind] + "\"");
  RopeScaling s;
  s.kind = static_cast<RopeScaling::Kind>(kind);
  using Kind = RopeScaling::Kind;
  const bool extends = s.kind == Kind::Yarn || s.kind == Kind::LongRope;
  if (extends)
    s.originalMaxPositions =
        r.dimension("original_max_position_embeddings", c.originalMaxPositions);
  // null, or with LongRoPE absent: what the positions say.
  if (extends && !r.find("factor") &&
      (r.has("factor") || s.kind == Kind::LongRope)) {
    s.factor = double(c.maxPositions) / double(s.originalMaxPositions);
  } else if (s.kind != Kind::None) {
    s.factor = r.positive("factor");
    if (s.factor < 1)
      r.expected("factor", "a number of at least 1");
  }
  if (s.kind == Kind::Yarn) {
    s.betaFast = r.positive("beta_fast", 32);
    s.betaSlow = r.positive("beta_slow", 1);
    s.truncate = r.flag("truncate", true);
    s.attentionFactor = yarnScale(s.factor, 1);
    if (r.find("mscale") && r.find("mscale_all_dim") &&
        r.nonNegative("mscale", 0) > 0 &&
        r.nonNegative("mscale_all_dim", 0) > 0)
      s.attentionFactor = yarnScale(s.factor, r.positive("mscale")) /
                          yarnScale(s.factor, r.positive("mscale_all_dim"));
  }
  if (s.kind == Kind::LongRope) {
    s.shortFactors = readFactors(r, "short_factor", c);
    s.longFactors = readFactors(r, "long_factor", c);
    if (s.factor > 1 && s.originalMaxPositions > 1)
      s.attentionFactor = std::sqrt(
          1 + std::log(s.factor) / std::log(double(s.originalMaxPositions)));
  }
  if (extends)
    s.attentionFactor = r.positive("attention_factor", s.attentionFactor);
  if (s.kind == Kind::Dynamic && c.headDim <= 2)
    r.fail("rope_type", "dynamic needs heads of more than 2");
  if (s.kind == RopeScaling::Kind::Llama3) {
    s.lowFreqFactor = r.positive("low_freq_factor");
    s.highFreqFactor = r.positive("high_freq_factor");
    // HF falls back to the model's own length too.
    s.originalMaxPositions =
        r.dimension("original_max_position_embeddings", c.originalMaxPositions);
    const json *low = r.find("low_freq_factor"),
               *high = r.find("high_freq_factor");
    if (low && high && s.lowFreqFactor >= s.highFreqFactor)
      r.fail("low_freq_factor", "expected less than high_freq_factor " +
                                    show(*high) + ", found " + show(*low));
  }
  return s;
}

// The first field that differs, with both values; empty if all are equal.
std::string difference(const RopeScaling &x, const RopeScaling &y) {
  if (x.kind != y.kind)
    return "rope_type " + ropeKinds[size_t(x.kind)] + " and " +
           ropeKinds[size_t(y.kind)];
  const std::tuple<const char *, double, double> fields[] = {
      {"factor", x.factor, y.factor},
      {"low_freq_factor", x.lowFreqFactor, y.lowFreqFactor},
      {"high_freq_factor", x.highFreqFactor, y.highFreqFactor},
      {"original_max_position_embeddings", x.originalMaxPositions,
       y.originalMaxPositions},
      {"beta_fast", x.betaFast, y.betaFast},
      {"beta_slow", x.betaSlow, y.betaSlow},
      {"truncate", x.truncate, y.truncate},
      {"attention_factor", x.attentionFactor, y.attentionFactor}};
  for (auto [name, mine, other] : fields)
    if (mine != other)
      return std::string(name) + " " + show(mine) + " and " + show(other);
  if (x.shortFactors != y.shortFactors)
    return "short_factor";
  return x.longFactors != y.longFactors ? "long_factor" : "";
}

Rope readRopeObject(Fields &f, const std::string &file, const char *name,
                    ModelConfig &c) {
  Rope rope;
  const json *value = f.find(name);
  if (!value)
    return rope;
  if (!value->is_object()) {
    f.expected(name, "an object or null");
    return rope;
  }
  Fields r(*value, file, std::string(name) + ".");
  if (r.find("rope_theta"))
    rope.theta = r.positive("rope_theta");
  for (const char *kind : {"full_attention", "sliding_attention"}) {
    const json *own = r.find(kind);
    if (!own)
      continue;
    if (!c.windowRopeTheta || !own->is_object()) {
      r.fail(kind, "a rope of its own for each kind of layer is not supported");
      continue;
    }
    // The layers with a window have a base of their own, and no scaling.
    Fields inner(*own, file, name + std::string(".") + kind + ".");
    std::optional<double> theta;
    if (inner.find("rope_theta"))
      theta = inner.positive("rope_theta");
    RopeScaling scaling = readScaling(inner, c);
    if (kind == std::string("full_attention")) {
      rope.theta = theta;
      rope.scaling = scaling;
    } else {
      c.windowRopeTheta = theta.value_or(*c.windowRopeTheta);
      if (scaling.kind != RopeScaling::Kind::None)
        inner.expected("rope_type", "\"default\"");
    }
    r.take(inner);
  }
  if (r.nonNegative("partial_rotary_factor", 1) != 1)
    r.expected("partial_rotary_factor", "1");
  if (r.find("rope_type") || r.find("type"))
    rope.scaling = readScaling(r, c);
  f.take(r);
  return rope;
}

} // namespace

// Up to version 4 there are two fields, from 5 on one object with both. A file
// may have the new form as well as the old, and theta in up to three places.
// All of them have to agree.
void readRope(Fields &f, const std::string &file, ModelConfig &c) {
  c.rope = true;
  c.originalMaxPositions =
      f.dimension("original_max_position_embeddings", c.maxPositions);
  if (f.nonNegative("partial_rotary_factor", 1) != 1)
    f.expected("partial_rotary_factor", "1");
  std::optional<double> theta;
  if (f.find("rope_theta"))
    theta = f.positive("rope_theta");
  std::string said = "rope_theta";
  const RopeScaling *scaling = nullptr;
  const char *const names[] = {"rope_scaling", "rope_parameters"};
  Rope ropes[] = {readRopeObject(f, file, names[0], c),
                  readRopeObject(f, file, names[1], c)};
  for (size_t i = 0; i < 2; ++i) {
    const Rope &rope = ropes[i];
    const std::string inner = names[i] + std::string(".rope_theta");
    if (rope.theta && theta && *rope.theta != *theta)
      f.fail(inner.c_str(), "contradicts " + said + " " + show(*theta) +
                                ": found " + show(*rope.theta));
    if (rope.theta && !theta) {
      theta = rope.theta;
      said = inner;
    }
    if (!rope.scaling)
      continue;
    if (scaling)
      if (std::string what = difference(*scaling, *rope.scaling); !what.empty())
        f.fail("rope_scaling", "contradicts rope_parameters: " + what);
    scaling = &*rope.scaling;
  }
  c.ropeTheta = theta.value_or(c.ropeTheta);
  if (scaling)
    c.ropeScaling = *scaling;
}

RopeFrequencies ropeFrequencies(double theta, const RopeScaling &s,
                                int64_t headDim, int64_t maxPositions,
                                int64_t sequence) {
  using Kind = RopeScaling::Kind;
  RopeFrequencies out;
  out.theta = theta;
  const double d = double(headDim);
  // The base grows so that a longer sequence turns the last pair as far as the
  // longest known one did.
  if (s.kind == Kind::Dynamic) {
    const double longest = double(std::max(sequence, maxPositions));
    out.theta *=
        std::pow(s.factor * longest / double(maxPositions) - (s.factor - 1),
                 d / (d - 2));
  }
  if (s.kind != Kind::Yarn && s.kind != Kind::LongRope)
    return out;
  out.scale = s.attentionFactor;
  // The pair that turns `turns` times in the original length.
  auto pairOf = [&](double turns) {
    const double pi = 3.14159265358979323846;
    return d * std::log(double(s.originalMaxPositions) / (turns * 2 * pi)) /
           (2 * std::log(theta));
  };
  double first = pairOf(s.betaFast), last = pairOf(s.betaSlow);
  if (s.truncate) {
    first = std::floor(first);
    last = std::ceil(last);
  }
  first = std::max(first, 0.0);
  last = std::min(last, d - 1);
  if (first == last)
    last += 0.001;
  const std::vector<double> &factors =
      sequence > s.originalMaxPositions ? s.longFactors : s.shortFactors;
  for (int64_t i = 0; i < headDim / 2; ++i) {
    const double turns = std::pow(theta, -2.0 * double(i) / d);
    if (s.kind == Kind::LongRope) {
      out.turns.push_back(turns / factors[size_t(i)]);
      continue;
    }
    const double slow =
        std::clamp((double(i) - first) / (last - first), 0.0, 1.0);
    out.turns.push_back(turns * (1 - slow) + turns / s.factor * slow);
  }
  return out;
}

} // namespace act::hf
