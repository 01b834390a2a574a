// SPDX-License-Identifier: Apache-2.0
//
// act-run infer: runs forward over a file of tokens and writes outputs as
// arrays.
#include "act/Artifact/Convert.h"
#include "act/Npy/Npy.h"
#include "tools/act-run/Forward.h"
#include "tools/act-run/Outputs.h"

using namespace act;
using namespace act::run;

// NumPy has no bf16 or f8; those are written as f32.
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
  TokenFiles files{o.tokens, "", o.segments, o.attentionMask, true};
  auto source = openTokenFiles(files, *f->ports, f->model->vocabulary);
  if (!source)
    return source.error();
  auto shape = batchShape(*f->ports, (*source)->rowLength());
  if (!shape)
    return shape.error();
  if (auto s = setWeights(*f, o); !s)
    return s;
  const Entity &output = f->ports->outputs[0];
  uint64_t count = (*source)->steps();
  std::vector<uint8_t> all;
  for (uint64_t i = 1; i <= count; ++i) {
    auto b = (*source)->batch(i);
    if (!b)
      return b.error();
    b->labels.assign(b->tokens.size(), ignoredLabel);
    if (auto s = feed(*f->ports, *shape, *b); !s)
      return s;
    if (auto s = f->model->run("forward"); !s)
      return s;
    append(all, output, f->ports->data(output.name));
  }
  std::vector<int64_t> written = output.shape();
  if ((*source)->isList())
    written.insert(written.begin(), static_cast<int64_t>(count));
  return npy::write(o.out, npyType(output.type.dtype), written, all.data());
}

int run::infer(const Options &o) {
  auto s = inferAll(o);
  return s ? 0 : fail(s.error().str());
}
