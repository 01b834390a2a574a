// SPDX-License-Identifier: Apache-2.0
//
// A Step to bytes. It is validated first, so that nothing is written that the
// reader would refuse.
#include "Step_generated.h"
#include "act/Artifact/Format.h"
#include "act/File/AtomicFile.h"

using namespace act;
using namespace act::artifact;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

static Offset<fbs::TensorType> encode(FlatBufferBuilder &b,
                                      const TensorType &t) {
  return fbs::CreateTensorType(b, static_cast<uint8_t>(t.dtype),
                               b.CreateVector(t.shape), t.blockSize);
}

static Offset<fbs::Port> encode(FlatBufferBuilder &b, const Port &p) {
  auto name = b.CreateString(p.name);
  auto type = encode(b, p.type);
  Offset<flatbuffers::String> updates;
  if (!p.updates.empty())
    updates = b.CreateString(p.updates);
  return fbs::CreatePort(b, name, type, updates);
}

static Offset<fbs::Parameter> encode(FlatBufferBuilder &b, const Parameter &p) {
  auto name = b.CreateString(p.name);
  auto type = encode(b, p.type);
  auto tied = b.CreateVectorOfStrings(p.tied);
  return fbs::CreateParameter(b, name, type, p.frozen,
                              static_cast<uint8_t>(p.init), p.initStd, tied);
}

static Offset<fbs::State> encode(FlatBufferBuilder &b, const State &s) {
  auto name = b.CreateString(s.name);
  auto type = encode(b, s.type);
  return fbs::CreateState(b, name, type, static_cast<uint8_t>(s.role),
                          s.parameter);
}

static Offset<fbs::Scalar> encode(FlatBufferBuilder &b, const Scalar &s) {
  return fbs::CreateScalar(b, b.CreateString(s.name),
                           static_cast<uint8_t>(s.dtype));
}

static Offset<fbs::TensorMap> encode(FlatBufferBuilder &b, const TensorMap &m) {
  auto sizes = b.CreateVector(m.sizes), strides = b.CreateVector(m.strides),
       box = b.CreateVector(m.box);
  return fbs::CreateTensorMap(b, m.argument, m.type, sizes, strides, box,
                              m.swizzle);
}

static Offset<fbs::Launch> encode(FlatBufferBuilder &b, const Launch &l) {
  std::vector<fbs::Operand> args;
  args.reserve(l.args.size());
  for (const Operand &o : l.args)
    args.emplace_back(o.offset, o.bytes, o.index, static_cast<uint8_t>(o.space),
                      o.written);
  auto name = b.CreateString(l.name);
  return fbs::CreateLaunch(b, l.kernel, b.CreateVectorOfStructs(args), name);
}

static Offset<fbs::Buffer> encode(FlatBufferBuilder &b, const Buffer &f) {
  return fbs::CreateBuffer(b, b.CreateString(f.name), f.offset, f.bytes,
                           f.first, f.last, f.onHost);
}

static Offset<fbs::Function> encode(FlatBufferBuilder &b, const Function &f);
static Offset<fbs::Kernel> encode(FlatBufferBuilder &b, const Kernel &k);

template <typename T, typename F>
static Offset<flatbuffers::Vector<Offset<F>>>
encodeAll(FlatBufferBuilder &b, const std::vector<T> &items) {
  std::vector<Offset<F>> offsets;
  offsets.reserve(items.size());
  for (const T &item : items)
    offsets.push_back(encode(b, item));
  return b.CreateVector(offsets);
}

static Offset<fbs::Kernel> encode(FlatBufferBuilder &b, const Kernel &k) {
  auto symbol = b.CreateString(k.symbol);
  Offset<flatbuffers::Vector<Offset<fbs::TensorMap>>> maps;
  if (!k.tensorMaps.empty())
    maps = encodeAll<TensorMap, fbs::TensorMap>(b, k.tensorMaps);
  return fbs::CreateKernel(b, symbol, k.grid, k.scratchBytes, k.threads,
                           k.cluster, k.sharedBytes, maps, k.persistent,
                           k.imageOffset, k.imageBytes, k.atOnce);
}

static Offset<fbs::Function> encode(FlatBufferBuilder &b, const Function &f) {
  auto name = b.CreateString(f.name);
  auto inputs = encodeAll<Port, fbs::Port>(b, f.inputs);
  auto outputs = encodeAll<Port, fbs::Port>(b, f.outputs);
  auto launches = encodeAll<Launch, fbs::Launch>(b, f.launches);
  auto plan = encodeAll<Buffer, fbs::Buffer>(b, f.plan);
  return fbs::CreateFunction(b, name, inputs, outputs, launches, plan,
                             f.arenaBytes, f.hostArenaBytes, f.backward);
}

Result<std::vector<uint8_t>> artifact::write(const Step &step) {
  if (auto s = validate(step); !s)
    return s.error();
  // FlatBuffers addresses 2 GiB. The lists are much smaller than the code, the
  // images and the report, so only these count.
  const size_t bulk =
      step.code.size() + step.images.size() + step.report.size();
  if (bulk > (size_t{1} << 30))
    return Error{"the code, the images and the report take " +
                     std::to_string(bulk) +
                     " bytes, an artifact holds at most 2^30",
                 ""};
  FlatBufferBuilder b(bulk + 4096);
  auto model = b.CreateString(step.model);
  auto device = b.CreateString(step.device);
  auto target = b.CreateString(step.target);
  auto optimizer = b.CreateString(step.optimizer);
  auto kernels = encodeAll<Kernel, fbs::Kernel>(b, step.kernels);
  auto parameters = encodeAll<Parameter, fbs::Parameter>(b, step.parameters);
  auto states = encodeAll<State, fbs::State>(b, step.states);
  auto scalars = encodeAll<Scalar, fbs::Scalar>(b, step.scalars);
  auto functions = encodeAll<Function, fbs::Function>(b, step.functions);
  auto report = b.CreateString(step.report);
  uint32_t format = firstFormat;
  for (const Kernel &k : step.kernels)
    if (!k.tensorMaps.empty())
      format = formatNumber;
  Offset<flatbuffers::Vector<uint8_t>> images;
  if (!step.images.empty()) {
    b.ForceVectorAlignment(step.images.size(), 1, imageAlignment);
    images = b.CreateVector(step.images);
  }
  b.ForceVectorAlignment(step.code.size(), 1, 16);
  auto code = b.CreateVector(step.code);
  b.Finish(fbs::CreateStep(b, format, /*size=*/1, model, device, target,
                           optimizer, step.microBatches, step.vocabulary,
                           step.maxPositions, step.predictsNext, kernels,
                           parameters, states, scalars, functions, report, code,
                           static_cast<uint8_t>(step.lossAverage), images),
           fbs::StepIdentifier());
  // The size is known only now; the 1 above made the field exist.
  fbs::GetMutableStep(b.GetBufferPointer())->mutate_size(b.GetSize());
  return std::vector<uint8_t>(b.GetBufferPointer(),
                              b.GetBufferPointer() + b.GetSize());
}

Status artifact::writeFile(const std::string &path, const Step &step) {
  auto bytes = write(step);
  if (!bytes)
    return Error{bytes.error().message, path};
  return file::writeFile(path, bytes->data(), bytes->size());
}
