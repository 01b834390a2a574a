// SPDX-License-Identifier: Apache-2.0
#include "test/runtime/HandMadeSteps.h"
#include "act/Artifact/Format.h"
#include "act/File/MappedFile.h"
#include <cstring>
#include <elf.h>

using namespace act;
using namespace act::artifact;

std::vector<uint8_t> test::kernelCode() {
  auto f = file::MappedFile::open(ACT_TEST_KERNELS);
  if (!f)
    return {};
  return {f->data(), f->data() + f->size()};
}

static Operand at(Space space, uint32_t index, uint64_t bytes,
                  bool written = false, uint64_t offset = 0) {
  Operand o;
  o.space = space;
  o.index = index;
  o.bytes = bytes;
  o.written = written;
  o.offset = offset;
  return o;
}
static Operand arena(uint64_t offset, uint64_t bytes, bool written = false) {
  return at(Space::Arena, 0, bytes, written, offset);
}
static Operand constant(int64_t value) {
  return at(Space::Immediate, 0, 8, false, static_cast<uint64_t>(value));
}
static TensorType type(DType dtype, std::vector<int64_t> shape) {
  TensorType t;
  t.dtype = dtype;
  t.shape = std::move(shape);
  return t;
}

Step test::arithmeticStep(int64_t blocks, const std::string &kernel) {
  Step s;
  s.model = "arithmetic";
  auto grid = static_cast<uint64_t>(blocks);
  uint64_t bytes = 64 * grid;
  s.code = kernelCode();
  s.kernels = {{"scale_add", grid, 0},
               {kernel, grid, kernel == "add_by_scratch" ? 64u : 0u},
               {"add", grid, 0}};
  s.scalars = {{"scale", DType::F32}};
  Function f;
  f.name = "step";
  f.inputs = {{"x", type(DType::F32, {blocks, 16})}};
  f.outputs = {{"y", type(DType::F32, {blocks, 16})}};
  f.arenaBytes = 2 * bytes;
  f.plan = {{"a", 0, bytes, 0, 1}, {"b", bytes, bytes, 1, 2}};
  f.launches = {{0,
                 {at(Space::Input, 0, bytes), arena(0, bytes, true),
                  at(Space::Scalar, 0, 8)},
                 "scale"},
                {1,
                 {arena(0, bytes), arena(0, bytes), arena(bytes, bytes, true)},
                 "double"},
                {2,
                 {arena(bytes, bytes), at(Space::Input, 0, bytes),
                  at(Space::Output, 0, bytes, true)},
                 "add"}};
  s.functions = {f};
  return s;
}

Step test::twoPartStep() {
  Step s;
  s.model = "two parts";
  s.code = kernelCode();
  s.kernels = {{"add", 1, 0}};
  Parameter w;
  w.name = "w";
  w.type = type(DType::F32, {16});
  s.parameters = {w};
  State g;
  g.name = "w.grad";
  g.type = w.type;
  g.role = Role::Gradient;
  g.parameter = 0;
  s.states = {g};
  Function f;
  f.name = "grad";
  f.inputs = {{"x", w.type, ""}, {"y.grad", w.type, ""}};
  f.outputs = {{"y", w.type, "x"}};
  f.arenaBytes = 64;
  f.plan = {{"a", 0, 64, 0, 2}};
  f.backward = 2;
  f.launches = {
      {0,
       {at(Space::Input, 0, 64), at(Space::Parameter, 0, 64),
        arena(0, 64, true)},
       "a = x + w"},
      {0,
       {arena(0, 64), arena(0, 64), at(Space::Output, 0, 64, true)},
       "y = a + a"},
      {0,
       {arena(0, 64), at(Space::Input, 1, 64), at(Space::State, 0, 64, true)},
       "dw = a + dy"}};
  s.functions = {f};
  return s;
}

Step test::arithmeticStepOfPtx(int64_t blocks, const std::string &ptx) {
  Step s = arithmeticStep(blocks);
  s.device = "cuda";
  s.target = "sm_80";
  s.code.assign(ptx.begin(), ptx.end());
  for (Kernel &k : s.kernels)
    k.threads = 16;
  return s;
}

void test::addImage(Step &step, size_t kernel, const std::string &text) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = 190; // a GPU
  std::vector<uint8_t> &images = step.images;
  images.resize((images.size() + imageAlignment - 1) / imageAlignment *
                imageAlignment);
  Kernel &k = step.kernels[kernel];
  k.imageOffset = images.size();
  k.imageBytes = sizeof header + text.size();
  auto *bytes = reinterpret_cast<const uint8_t *>(&header);
  images.insert(images.end(), bytes, bytes + sizeof header);
  images.insert(images.end(), text.begin(), text.end());
}

Step test::tileStep(const std::string &ptx) {
  Step s;
  s.model = "tile";
  s.device = "cuda";
  s.target = "sm_90";
  s.code.assign(ptx.begin(), ptx.end());
  Kernel k{"tile_step", 1, 0};
  k.threads = 256;
  TensorMap map;
  map.type = 9; // bf16
  map.sizes = {64, 16};
  map.strides = {2, 128};
  map.box = {64, 8};
  k.tensorMaps = {map};
  s.kernels = {k};
  Function f;
  f.name = "step";
  f.inputs = {{"x", type(DType::BF16, {16, 64})}};
  f.outputs = {{"out", type(DType::BF16, {8, 64})}};
  f.launches = {{0,
                 {at(Space::Input, 0, 2048), at(Space::Output, 0, 1024, true)},
                 "tile"}};
  s.functions = {f};
  return s;
}

Step test::bigramStep(const BigramOptions &o) {
  Step s;
  s.model = "bigram";
  s.optimizer = "sgd";
  s.vocabulary = static_cast<uint64_t>(o.vocabulary);
  s.code = kernelCode();
  int64_t n = o.batch * o.length, v = o.vocabulary;
  auto un = static_cast<uint64_t>(n), uv = static_cast<uint64_t>(v);
  uint64_t table = 4 * uv * uv, list = 4 * un, probs = 4 * un * uv;
  s.kernels = {{"bigram_forward", un, 0},
               {"mean_loss", 1, 0},
               {"bigram_gradient", uv, 0},
               {"momentum_update", uv, 0},
               {"bigram_logits", un, 0}};
  TensorType square = type(DType::F32, {v, v});
  s.parameters = {{"model.embed_tokens.weight",
                   square,
                   false,
                   Init::Normal,
                   0.02,
                   {"lm_head.weight"}}};
  s.states = {
      {"model.embed_tokens.weight.grad", square, Role::Gradient, 0},
      {"model.embed_tokens.weight.momentum", square, Role::Momentum, 0}};
  s.scalars = {{"lr", DType::F32}, {"step", DType::I64}, {"seed", DType::I64}};

  std::vector<int64_t> shape{o.batch, o.length};
  if (o.packed)
    shape = {n};
  uint64_t losses = (probs + 63) / 64 * 64;
  Operand tokens = at(Space::Input, 0, list),
          labels = at(Space::Input, 1, list);
  Operand weights = at(Space::Parameter, 0, table);
  Operand newWeights = at(Space::Parameter, 0, table, true);
  Launch forward{0,
                 {tokens, labels, weights, arena(0, probs, true),
                  arena(losses, list, true), constant(v)},
                 "forward"};
  Launch loss{
      1,
      {arena(losses, list), labels, at(Space::Output, 0, 4, true), constant(n)},
      "loss"};
  Launch gradient{2,
                  {tokens, labels, arena(0, probs),
                   at(Space::State, 0, table, true), constant(n), constant(v),
                   at(Space::Scalar, 2, 8), at(Space::Scalar, 1, 8)},
                  "gradient"};
  Launch update{3,
                {newWeights, at(Space::State, 1, table, true),
                 at(Space::State, 0, table), at(Space::Scalar, 0, 8),
                 constant(v)},
                "update"};
  Function step;
  step.name = "step";
  step.inputs = {{"tokens", type(DType::I32, shape)},
                 {"labels", type(DType::I32, shape)}};
  if (o.packed)
    step.inputs.push_back({"cu_seqlens", type(DType::I32, {5})});
  step.outputs = {{"loss", type(DType::F32, {})}};
  step.arenaBytes = losses + (list + 63) / 64 * 64;
  step.plan = {{"probs", 0, probs, 0, 2}, {"losses", losses, list, 0, 1}};
  step.launches = {forward, loss, gradient, update};
  Function eval = step;
  eval.name = "eval";
  eval.plan[0].last = 1;
  eval.launches = {forward, loss};
  Function infer;
  infer.name = "forward";
  infer.inputs = {step.inputs[0]};
  if (o.packed)
    infer.inputs.push_back(step.inputs[2]);
  std::vector<int64_t> out = shape;
  out.push_back(v);
  infer.outputs = {{"logits", type(DType::F32, out)}};
  infer.launches = {
      {4,
       {tokens, weights, at(Space::Output, 0, probs, true), constant(v)},
       "logits"}};
  s.functions = {step, eval, infer};
  return s;
}
