// SPDX-License-Identifier: Apache-2.0
//
// Bytes to a Step. FlatBuffers verifies that the tables are in bounds;
// validate() then checks what they say. Only a step that passes both leaves
// this file.
#include "Step_generated.h"
#include "act/Artifact/Format.h"
#include "act/File/MappedFile.h"

using namespace act;
using namespace act::artifact;

namespace {

// FlatBuffers lets many tables point at one vector, so a small hostile file
// could unfold into terabytes. Files from `write` share nothing, so their
// decoded parts are never larger than the file. The decoder fails if they are.
struct Decoder {
  uint64_t budget;
  bool exhausted = false;

  bool take(uint64_t bytes) {
    if (bytes > budget) {
      exhausted = true;
      budget = 0;
      return false;
    }
    budget -= bytes;
    return true;
  }

  // The verifier aligns a list's length but not its 8-byte elements.
  template <typename List>
  bool takeAligned(const List *list, uint64_t element) {
    if (list->size() == 0 || reinterpret_cast<uintptr_t>(list->Data()) % 8 == 0)
      return take(element * list->size());
    exhausted = true;
    return false;
  }

  std::string decode(const flatbuffers::String *s) {
    return s && take(s->size()) ? s->str() : std::string();
  }

  TensorType decode(const fbs::TensorType *t) {
    TensorType out;
    if (!t)
      return out;
    out.dtype = static_cast<DType>(t->dtype());
    decode(t->shape(), out.shape);
    out.blockSize = t->block_size();
    return out;
  }

  void decode(const flatbuffers::Vector<int64_t> *numbers,
              std::vector<int64_t> &out) {
    if (numbers && takeAligned(numbers, 8))
      for (uint32_t i = 0; i < numbers->size(); ++i)
        out.push_back(numbers->Get(i));
  }
  TensorMap decode(const fbs::TensorMap *m) {
    TensorMap out;
    out.argument = m->argument();
    out.type = m->type();
    decode(m->sizes(), out.sizes);
    decode(m->strides(), out.strides);
    decode(m->box(), out.box);
    out.swizzle = m->swizzle();
    return out;
  }

  Kernel decode(const fbs::Kernel *k) {
    Kernel out{decode(k->symbol()), k->grid(),    k->scratch_bytes(),
               k->threads(),        k->cluster(), k->shared_bytes()};
    decodeAll(k->tensor_maps(), out.tensorMaps);
    out.persistent = k->persistent();
    out.imageOffset = k->image_offset();
    out.imageBytes = k->image_bytes();
    out.atOnce = k->at_once();
    return out;
  }
  Parameter decode(const fbs::Parameter *p) {
    Parameter out{decode(p->name()), decode(p->type()), p->frozen(),
                  static_cast<Init>(p->init()), p->init_std()};
    decodeAll(p->tied(), out.tied);
    return out;
  }
  State decode(const fbs::State *s) {
    return {decode(s->name()), decode(s->type()), static_cast<Role>(s->role()),
            s->parameter()};
  }
  Scalar decode(const fbs::Scalar *s) {
    return {decode(s->name()), static_cast<DType>(s->dtype())};
  }
  Port decode(const fbs::Port *p) {
    return {decode(p->name()), decode(p->type()), decode(p->updates())};
  }
  Buffer decode(const fbs::Buffer *b) {
    return {decode(b->name()), b->offset(), b->bytes(),
            b->first(),        b->last(),   b->on_host()};
  }

  Launch decode(const fbs::Launch *l) {
    Launch out;
    out.kernel = l->kernel();
    out.name = decode(l->name());
    auto *args = l->args();
    if (!args || !takeAligned(args, sizeof(fbs::Operand)))
      return out;
    out.args.reserve(args->size());
    for (uint32_t i = 0; i < args->size(); ++i) {
      const fbs::Operand *o = args->Get(i);
      Operand a;
      a.space = static_cast<Space>(o->space());
      a.written = o->written();
      a.index = o->index();
      a.offset = o->offset();
      a.bytes = o->bytes();
      out.args.push_back(a);
    }
    return out;
  }

  template <typename T, typename F>
  void decodeAll(const flatbuffers::Vector<flatbuffers::Offset<F>> *items,
                 std::vector<T> &out) {
    if (!items || !take(4 * uint64_t{items->size()}))
      return;
    out.reserve(items->size());
    for (uint32_t i = 0; i < items->size() && !exhausted; ++i)
      out.push_back(decode(items->Get(i)));
  }

  Function decode(const fbs::Function *f) {
    Function out;
    out.name = decode(f->name());
    decodeAll(f->inputs(), out.inputs);
    decodeAll(f->outputs(), out.outputs);
    decodeAll(f->launches(), out.launches);
    decodeAll(f->plan(), out.plan);
    out.arenaBytes = f->arena_bytes();
    out.hostArenaBytes = f->host_arena_bytes();
    out.backward = f->backward();
    return out;
  }
};

} // namespace

bool artifact::looksLikeArtifact(const void *data, size_t bytes) {
  return bytes >= 8 && fbs::StepBufferHasIdentifier(data);
}

static Result<Step> decodeAligned(const uint8_t *data, size_t bytes) {
  flatbuffers::Verifier verifier(data, bytes, 64, 4000000);
  if (!fbs::VerifyStepBuffer(verifier))
    return Error{"the artifact is damaged: its tables do not verify", ""};
  const fbs::Step *s = fbs::GetStep(data);
  if (s->format() < firstFormat || s->format() > formatNumber)
    return Error{"the artifact has format " + std::to_string(s->format()) +
                     ", but this reader supports formats " +
                     std::to_string(firstFormat) + " to " +
                     std::to_string(formatNumber),
                 ""};
  if (s->size() != bytes)
    return Error{"the artifact is damaged: it claims " +
                     std::to_string(s->size()) + " bytes, but there are " +
                     std::to_string(bytes),
                 ""};
  Decoder d{bytes};
  Step step;
  step.model = d.decode(s->model());
  step.device = d.decode(s->device());
  step.target = d.decode(s->target());
  step.optimizer = d.decode(s->optimizer());
  step.microBatches = s->micro_batches();
  step.vocabulary = s->vocabulary();
  step.maxPositions = s->max_positions();
  step.predictsNext = s->predicts_next();
  step.lossAverage = static_cast<LossAverage>(s->loss_average());
  d.decodeAll(s->kernels(), step.kernels);
  d.decodeAll(s->parameters(), step.parameters);
  d.decodeAll(s->states(), step.states);
  d.decodeAll(s->scalars(), step.scalars);
  d.decodeAll(s->functions(), step.functions);
  step.report = d.decode(s->report());
  if (auto *code = s->code(); code && d.take(code->size()))
    step.code.assign(code->begin(), code->end());
  if (auto *images = s->images(); images && d.take(images->size()))
    step.images.assign(images->begin(), images->end());
  if (d.exhausted)
    return Error{"the artifact is damaged: its parts overlap or are misaligned",
                 ""};
  if (auto status = validate(step); !status)
    return status.error();
  return step;
}

Result<Step> artifact::read(const void *data, size_t bytes) {
  if (!looksLikeArtifact(data, bytes))
    return Error{"not an artifact: " + std::to_string(bytes) +
                     " bytes without the identifier ACTS at byte 4",
                 ""};
  if (bytes >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return Error{"the artifact has " + std::to_string(bytes) +
                     " bytes, at most 2^31 - 1 can be read",
                 ""};
  auto *p = static_cast<const uint8_t *>(data);
  if (reinterpret_cast<uintptr_t>(p) % 16 == 0)
    return decodeAligned(p, bytes);
  // The verifier checks alignment relative to the start, so the start itself
  // must be aligned: copy.
  std::vector<uint64_t> copy((bytes + 7) / 8);
  std::copy(p, p + bytes, reinterpret_cast<uint8_t *>(copy.data()));
  return decodeAligned(reinterpret_cast<const uint8_t *>(copy.data()), bytes);
}

Result<Step> artifact::readFile(const std::string &path) {
  auto mapped = file::MappedFile::open(path);
  if (!mapped)
    return mapped.error();
  auto step = read(mapped->data(), mapped->size());
  if (!step)
    return Error{step.error().message, path};
  return step;
}
