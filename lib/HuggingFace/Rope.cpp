// SPDX-License-Identifier: Apache-2.0
//
// Rotary embeddings in a config: the old field rope_scaling and the new object
// rope_parameters.
#include "lib/HuggingFace/Fields.h"
#include "lib/HuggingFace/Parts.h"
#include <tuple>

using nlohmann::json;

namespace act::hf {
namespace {

// Rope's settings in one of the two objects; unstated parts are empty.
struct Rope {
  std::optional<double> theta;
  std::optional<RopeScaling> scaling;
};

const std::vector<std::string> ropeKinds = {"default", "linear", "llama3"};

RopeScaling readScaling(Fields &r, const ModelConfig &c) {
  size_t kind = r.word("rope_type", ropeKinds, r.word("type", ropeKinds, 0));
  if (r.find("type") && r.word("type", ropeKinds, 0) != kind)
    r.fail("type", "contradicts rope_type: " + show(*r.find("type")) +
                       " and \"" + ropeKinds[kind] + "\"");
  RopeScaling s;
  s.kind = static_cast<RopeScaling::Kind>(kind);
  if (s.kind != RopeScaling::Kind::None) {
    s.factor = r.positive("factor");
    if (s.factor < 1)
      r.expected("factor", "a number of at least 1");
  }
  if (s.kind == RopeScaling::Kind::Llama3) {
    s.lowFreqFactor = r.positive("low_freq_factor");
    s.highFreqFactor = r.positive("high_freq_factor");
    // HF falls back to the model's own length too.
    s.originalMaxPositions =
        r.dimension("original_max_position_embeddings", c.maxPositions);
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
       y.originalMaxPositions}};
  for (auto [name, mine, other] : fields)
    if (mine != other)
      return std::string(name) + " " + show(mine) + " and " + show(other);
  return "";
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

} // namespace act::hf
