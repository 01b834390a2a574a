// SPDX-License-Identifier: Apache-2.0
#include "act/Artifact/Convert.h"
#include "act/Npy/Npy.h"
#include "tools/act-run/Forward.h"
#include "tools/act-run/Outputs.h"

using namespace act;
using namespace act::run;

// NumPy has no bf16 and no f8; those are written as f32.
static const char *npyType(actrt_dtype t) {
  switch (t) {
  case ACTRT_DTYPE_F64:
    return "f8";
  case ACTRT_DTYPE_F16:
    return "f2";
  case ACTRT_DTYPE_I1:
    return "b1";
  case ACTRT_DTYPE_I32:
    return "i4";
  case ACTRT_DTYPE_I64:
    return "i8";
  default:
    return "f4";
  }
}

static void append(std::vector<uint8_t> &all, const Entity &output,
                   const uint8_t *data) {
  bool narrow = output.type.dtype == ACTRT_DTYPE_BF16 ||
                output.type.dtype == ACTRT_DTYPE_F8E4M3FN;
  if (!narrow) {
    all.insert(all.end(), data, data + output.bytes);
    return;
  }
  size_t at = all.size();
  all.resize(at + 4 * output.elements());
  artifact::convertFloats(static_cast<artifact::DType>(output.type.dtype), data,
                          artifact::DType::F32, all.data() + at,
                          output.elements());
}

static Status inferAll(const Options &o) {
  if (auto s = checkOutputs(o); !s)
    return s;
  auto f = openForward(o);
  if (!f)
    return f.error();
  const Entity &port = *f->ports->input("tokens");
  auto array = npy::read(o.tokens);
  if (!array)
    return array.error();
  std::vector<int64_t> one = port.shape(), many = array->shape;
  bool several = many.size() == one.size() + 1 &&
                 std::equal(one.begin(), one.end(), many.begin() + 1);
  if (!several && many != one)
    return Error{"the tokens do not have the shape of input '" +
                     describe(port) + "', alone or as a list",
                 o.tokens};
  auto tokens = npy::integers(*array);
  if (!tokens)
    return Error{tokens.error().message, o.tokens};
  if (auto s = checkTokens(*tokens, f->model->vocabulary, false); !s)
    return Error{s.error().message, o.tokens};
  std::vector<int64_t> mask;
  if (!o.attentionMask.empty()) {
    if (!f->ports->input("attention_mask"))
      return Error{"the function 'forward' has no input 'attention_mask'",
                   o.file};
    auto m = npy::read(o.attentionMask);
    if (!m)
      return m.error();
    if (m->shape != array->shape)
      return Error{"the mask has another shape than the tokens",
                   o.attentionMask};
    auto values = npy::integers(*m);
    if (!values)
      return Error{values.error().message, o.attentionMask};
    mask = std::move(*values);
  }
  const Entity &output = f->ports->outputs[0];
  auto per = static_cast<ptrdiff_t>(port.elements());
  ptrdiff_t count = several ? static_cast<ptrdiff_t>(many[0]) : 1;
  std::vector<uint8_t> all;
  for (ptrdiff_t i = 0; i < count; ++i) {
    Batch b;
    b.tokens.assign(tokens->begin() + i * per, tokens->begin() + (i + 1) * per);
    b.labels.assign(b.tokens.size(), ignoredLabel);
    if (auto s = feed(*f->ports, f->shape, b); !s)
      return s;
    if (!mask.empty())
      if (auto s =
              f->ports->set("attention_mask", {mask.begin() + i * per,
                                               mask.begin() + (i + 1) * per});
          !s)
        return s;
    if (auto s = f->model->run("forward"); !s)
      return s;
    append(all, output, f->ports->data(output.name));
  }
  std::vector<int64_t> shape = output.shape();
  if (several)
    shape.insert(shape.begin(), count);
  return npy::write(o.out, npyType(output.type.dtype), shape, all.data());
}

int run::infer(const Options &o) {
  auto s = inferAll(o);
  return s ? 0 : fail(s.error().str());
}
