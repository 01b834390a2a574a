// SPDX-License-Identifier: Apache-2.0
#include "tools/act-run/Forward.h"
#include "tools/act-run/Weights.h"

using namespace act;
using namespace act::run;

Result<Forward> run::openForward(const Options &o) {
  CompileOptions c;
  c.device = o.device.substr(0, o.device.find(':'));
  c.wants = "infer";
  c.threads = o.threads;
  auto source = openStepSource(o.file, c);
  if (!source)
    return source.error();
  ModelOptions m;
  m.device = o.device;
  m.threads = o.threads;
  m.allowNative = o.allowNative;
  m.debug = o.debug;
  auto model = Model::load(**source, m);
  if (!model)
    return model.error();
  Forward f;
  f.model = std::move(*model);
  if (!f.model->hasFunction("forward"))
    return Error{"the file has no function 'forward'", o.file};
  if (auto s = f.model->initialise(o.seed.value_or(0)); !s)
    return s.error();
  if (!o.init.empty()) {
    auto file = safetensors::File::open(o.init);
    if (!file)
      return file.error();
    std::vector<std::string> notes;
    if (auto s = loadWeights(*f.model, *file, o.init, notes); !s)
      return s.error();
    for (const std::string &n : notes)
      fprintf(stderr, "%s\n", n.c_str());
    f.metadata = file->metadata();
  }
  // A forward pass may read them where training dropout would be.
  for (const char *scalar : {"step", "seed"})
    if (auto s = f.model->setScalar(scalar, int64_t{0}); !s)
      return s.error();
  auto ports = f.model->bindPorts("forward");
  if (!ports)
    return ports.error();
  f.ports = std::move(*ports);
  if (f.ports->outputs.empty())
    return Error{"the function 'forward' has no output", o.file};
  auto shape = batchShape(*f.ports);
  if (!shape)
    return shape.error();
  f.shape = *shape;
  return f;
}
