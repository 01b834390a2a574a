// SPDX-License-Identifier: Apache-2.0
//
// Planning problems shaped like training steps: forward saves values per layer,
// with temporaries between them, backward frees them in reverse, with gradients
// and workspaces of its own. `segment` layers are recomputed together: 0 keeps
// everything, 1 keeps only each layer's input.
#ifndef ACT_TEST_LIB_TRANSFORMERINSTANCE_H
#define ACT_TEST_LIB_TRANSFORMERINSTANCE_H
#include "act/Plan/Problem.h"
#include <algorithm>
#include <functional>
#include <map>

namespace act::plan::instances {

struct Shape {
  int layers = 32;
  int64_t tokens = 4096, h = 4096, kv = 1024, ffn = 14336, heads = 32,
          vocabulary = 128256;
  bool flash = true, fusedLoss = true;
  int segment = 0;
};

class TransformerInstance {
public:
  explicit TransformerInstance(const Shape &shape) : s(shape) { build(); }
  Problem problem;
  /// One per point of time.
  struct Op {
    std::vector<size_t> operands, results;
  };
  std::vector<Op> ops;

private:
  // A value lives from the op that defines it to its last use.
  using Value = size_t;
  Value define(const std::string &name, int64_t bytes) {
    problem.buffers.push_back(
        {name, (bytes + 255) / 256 * 256, now, now + 1, 256});
    return problem.buffers.size() - 1;
  }
  void use(Value v) {
    problem.buffers[v].last = std::max(problem.buffers[v].last, now + 1);
  }
  /// One op: uses operands, defines results, and time goes on.
  std::vector<Value> op(const std::vector<Value> &operands,
                        const std::vector<std::pair<std::string, int64_t>> &rs,
                        int64_t workspace = 0) {
    std::vector<Value> results;
    for (Value v : operands)
      use(v);
    for (const auto &[name, bytes] : rs)
      results.push_back(define(name, bytes));
    ops.push_back({operands, results});
    if (workspace)
      define("workspace", workspace);
    ++now;
    return results;
  }

  struct Layer {
    std::map<std::string, Value> v;
  };
  Value forward(Layer &layer, Value x, const std::string &p) {
    int64_t t = s.tokens, H = 2 * t * s.h, K = 2 * t * s.kv, F = 2 * t * s.ffn;
    auto &v = layer.v;
    auto run = [&](std::vector<std::string> in,
                   std::vector<std::pair<std::string, int64_t>> out,
                   int64_t workspace = 0) {
      std::vector<Value> operands;
      for (const auto &name : in)
        operands.push_back(v.at(name));
      auto named = out;
      for (auto &o : named)
        o.first = p + o.first;
      auto results = op(operands, named, workspace);
      for (size_t i = 0; i < out.size(); ++i)
        v[out[i].first] = results[i];
    };
    v["x"] = x;
    run({"x"}, {{"n1", H}, {"rstd1", 4 * t}});
    run({"n1"}, {{"q0", H}});
    run({"n1"}, {{"k0", K}});
    run({"n1"}, {{"v", K}});
    run({"q0"}, {{"q", H}});
    run({"k0"}, {{"k", K}});
    if (s.flash) {
      run({"q", "k", "v"}, {{"o", H}, {"lse", 4 * t * s.heads}}, 64 * 1024);
    } else {
      int64_t P = 2 * t * t * s.heads;
      run({"q", "k"}, {{"scores", P}});
      run({"scores"}, {{"probs", P}});
      run({"probs", "v"}, {{"o", H}});
    }
    run({"o"}, {{"proj", H}});
    run({"proj", "x"}, {{"r", H}});
    run({"r"}, {{"n2", H}, {"rstd2", 4 * t}});
    run({"n2"}, {{"gate", F}});
    run({"n2"}, {{"up", F}});
    run({"gate", "up"}, {{"act", F}});
    run({"act"}, {{"down", H}});
    run({"down", "r"}, {{"y", H}});
    return v["y"];
  }
  Value backward(Layer &layer, Value dy, const std::string &p) {
    int64_t t = s.tokens, H = 2 * t * s.h, K = 2 * t * s.kv, F = 2 * t * s.ffn;
    auto &v = layer.v;
    auto one = [&](std::vector<Value> in, const char *name, int64_t bytes,
                   int64_t workspace = 0) {
      return op(in, {{p + name, bytes}}, workspace)[0];
    };
    op({dy, v["act"]}, {}, 1 << 20); // weight gradient, into persistent memory
    Value dact = one({dy}, "dact", F);
    auto two =
        op({dact, v["gate"], v["up"]}, {{p + "dgate", F}, {p + "dup", F}});
    op({two[0], v["n2"]}, {});
    op({two[1], v["n2"]}, {});
    Value dn2a = one({two[0]}, "dn2a", H), dn2b = one({two[1]}, "dn2b", H);
    Value dn2 = one({dn2a, dn2b}, "dn2", H);
    Value dr0 = one({dn2, v["r"], v["rstd2"]}, "dr0", H, 4 * t);
    Value dr = one({dr0, dy}, "dr", H);
    op({dr, v["o"]}, {});
    Value dO = one({dr}, "do", H);
    std::vector<Value> dqkv;
    if (s.flash) {
      Value delta = one({dO, v["o"]}, "delta", 4 * t * s.heads);
      dqkv = op({dO, delta, v["q"], v["k"], v["v"], v["lse"]},
                {{p + "dq", H}, {p + "dk", K}, {p + "dv", K}}, 4 * t * s.h);
    } else {
      int64_t P = 2 * t * t * s.heads;
      Value dv = one({dO, v["probs"]}, "dv", K);
      Value dP = one({dO, v["v"]}, "dprobs", P);
      Value dS = one({dP, v["probs"]}, "dscores", P);
      Value dq = one({dS, v["k"]}, "dq", H), dk = one({dS, v["q"]}, "dk", K);
      dqkv = {dq, dk, dv};
    }
    Value dq0 = one({dqkv[0]}, "dq0", H), dk0 = one({dqkv[1]}, "dk0", K);
    for (Value d : {dq0, dk0, dqkv[2]})
      op({d, v["n1"]}, {});
    Value a = one({dq0}, "dn1q", H), b = one({dk0}, "dn1k", H),
          c = one({dqkv[2]}, "dn1v", H);
    Value ab = one({a, b}, "dn1qk", H), dn1 = one({ab, c}, "dn1", H);
    Value dx0 = one({dn1, v["x"], v["rstd1"]}, "dx0", H, 4 * t);
    return one({dx0, dr}, "dx", H);
  }

  void build() {
    int64_t t = s.tokens, H = 2 * t * s.h;
    Value x = op({}, {{"tokens", 8 * t}})[0];
    x = op({x}, {{"embedding", H}})[0];
    std::vector<Layer> layers(s.layers);
    std::vector<Value> inputs;
    for (int l = 0; l < s.layers; ++l) {
      inputs.push_back(x);
      x = forward(layers[l], x, "l" + std::to_string(l) + ".");
    }
    Value n = op({x}, {{"final", H}})[0], d;
    if (s.fusedLoss) {
      op({n}, {{"loss", 4}}, 4 * 512 * s.vocabulary);
      d = op({n}, {{"dfinal", H}}, 4 * 512 * s.vocabulary)[0];
    } else {
      Value logits = op({n}, {{"logits", 2 * t * s.vocabulary}})[0];
      Value logp = op({logits}, {{"logp", 4 * t * s.vocabulary}})[0];
      Value dl = op({logp}, {{"dlogits", 4 * t * s.vocabulary}})[0];
      d = op({dl}, {{"dfinal", H}})[0];
    }
    Value dy = op({d, x}, {{"dlast", H}})[0];
    for (int l = s.layers; l > 0;) {
      int from = s.segment ? (l - 1) / s.segment * s.segment : l - 1;
      if (s.segment) {
        // Recompute the segment from its input, as the policy does.
        Value y = inputs[from];
        for (int k = from; k < l; ++k) {
          layers[k] = Layer();
          y = forward(layers[k], y, "re" + std::to_string(k) + ".");
        }
      }
      for (; l > from; --l)
        dy = backward(layers[l - 1], dy, "b" + std::to_string(l - 1) + ".");
    }
    op({dy}, {});
  }

  Shape s;
  int64_t now = 0;
};

} // namespace act::plan::instances
#endif
