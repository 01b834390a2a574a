// SPDX-License-Identifier: Apache-2.0
//
// The forward of one attention module, statement by statement. Scopes and
// resets follow Python's references: a name that is bound anew drops what it
// held only after the new value exists.
#include "act/Eager/AttentionModule.h"
#include "lib/Eager/Models.h"

namespace act::eager {
namespace {

struct Weights {
  Tensor qkv, proj, projBias;
};

class Forward {
public:
  Forward(const AttentionModule &m, std::vector<std::string> &marks)
      : m(m), marks(marks), d(m.width / m.heads) {}

  Tensor operator()(const Weights &w, const Tensor &input) {
    Tensor x = input;
    Tensor out = run(w, x);
    x = Tensor(); // the caller holds it too
    return out;
  }

private:
  Tensor run(const Weights &w, Tensor &x) {
    Tensor qkv = linear(x, w.qkv, Tensor());
    mark("qkv");
    auto [q, k, v] = rearranged(qkv);
    mark("rearrange");
    if (m.attention == Attention::Math)
      x = math(q, k, v);
    else
      x = kernel(q, k, v);
    x = linear(x, w.proj, w.projBias);
    mark("proj");
    x = dropout(x, 0);
    mark("proj_drop");
    return x;
  }

  Tensor math(const Tensor &q, const Tensor &k, const Tensor &v) {
    // `attn` lives until forward returns, but autograd keeps its storage that
    // long anyway.
    {
      Tensor turned = transpose(k, -2, -1);
      Tensor scores = matmul(q, turned);
      turned = Tensor();
      attn = mulScalar(scores);
    }
    mark("matmul, scale");
    attn = softmax(attn);
    mark("softmax");
    attn = dropout(attn, 0);
    mark("attn_drop");
    Tensor out = matmul(attn, v);
    out = transpose(out, 1, 2);
    out = reshape(out, {m.batch, m.seq, m.width});
    mark("attn @ v, transpose, reshape");
    return out;
  }

  Tensor kernel(const Tensor &q, const Tensor &k, const Tensor &v) {
    Tensor out;
    if (m.attention == Attention::Flash)
      out = flashAttention(q, k, v);
    else
      out = efficientAttention(q, k, v, Tensor());
    out = transpose(out, 1, 2);
    out = reshape(out, {m.batch, m.seq, m.width});
    mark("attention, transpose, reshape");
    return out;
  }

  // [b, l, 3 h d] -> three of [b, h, l, d].
  std::tuple<Tensor, Tensor, Tensor> rearranged(const Tensor &qkv) {
    Tensors parts = split(qkv, m.width, 2);
    Tensor out[3];
    for (int i = 0; i < 3; ++i) {
      Tensor rows = view(parts[i], {m.batch, m.seq, m.heads, d});
      out[i] = transpose(rows, 1, 2);
      if (m.copies)
        out[i] = contiguous(out[i]);
    }
    return {out[0], out[1], out[2]};
  }

  void mark(const char *what) {
    session->log->happened(Event::Kind::Mark, marks.size());
    marks.push_back(what);
  }

  const AttentionModule &m;
  std::vector<std::string> &marks;
  int64_t d;
  Tensor attn;
};

} // namespace

Result<ModuleRun> run(const AttentionModule &m) {
  if (m.batch < 1 || m.seq < 1 || m.heads < 1 || m.width < 1 ||
      m.width % m.heads)
    return Error{"an attention module of width " + std::to_string(m.width) +
                     " with " + std::to_string(m.heads) + " heads",
                 ""};
  if (m.attention == Attention::Eager)
    return Error{"an attention module runs sdpa-math, sdpa-flash or "
                 "sdpa-efficient, not eager",
                 ""};
  DType dtype = m.dtype == artifact::DType::F16    ? DType::F16
                : m.dtype == artifact::DType::BF16 ? DType::BF16
                                                   : DType::F32;
  if (m.attention == Attention::Flash && dtype == DType::F32)
    return Error{"flash attention takes 16-bit heads, not f32", ""};
  Session mine;
  InSession in(mine);
  ModuleRun out;
  try {
    Weights w;
    w.qkv = parameter("qkv.weight", {3 * m.width, m.width}, dtype);
    w.proj = parameter("proj.weight", {m.width, m.width}, dtype);
    w.projBias = parameter("proj.bias", {m.width}, dtype);
    Tensor x = buffer("x", {m.batch, m.seq, m.width}, dtype);
    Tensor y;
    {
      Forward forward(m, out.marks);
      y = forward(w, x);
    }
    mine.log->happened(Event::Kind::Mark, out.marks.size());
    out.marks.push_back("return");
    out.run.events = mine.log->events;
    out.run.resident = mine.log->resident;
    out.run.allocations = mine.log->allocations;
    out.run.moments = out.run.backwardMoment = mine.log->now + 1;
    for (Allocation &a : out.run.allocations)
      if (a.died < 0)
        a.died = out.run.moments;
  } catch (const Unsupported &unsupported) {
    return Error{unsupported.why, ""};
  }
  return out;
}

} // namespace act::eager
