// SPDX-License-Identifier: Apache-2.0
#include "tools/act-run/OpenModel.h"
#include "tools/act-run/Weights.h"

using namespace act;
using namespace act::run;

Result<std::unique_ptr<Model>> run::openModel(const Options &o,
                                              const char *wants) {
  CompileOptions c;
  c.device = o.device;
  c.wants = wants;
  c.optimizer = o.optimizer;
  c.microBatches = o.microBatches;
  c.lossAverage = o.lossAverage;
  c.threads = o.threads;
  auto source = openStepSource(o.file, c);
  if (!source)
    return source.error();
  ModelOptions m;
  m.device = o.device;
  m.threads = o.threads;
  m.allowNative = o.allowNative;
  m.debug = o.debug;
  m.measure = o.measure;
  m.time = o.times;
  return Model::load(**source, m);
}

Result<safetensors::Metadata> run::initialise(Model &model, const Options &o,
                                              uint64_t seed) {
  if (auto s = model.initialise(seed); !s)
    return s.error();
  if (o.init.empty())
    return safetensors::Metadata();
  auto file = safetensors::File::open(o.init);
  if (!file)
    return file.error();
  std::vector<std::string> notes;
  if (auto s = loadWeights(model, *file, o.init, notes); !s)
    return s.error();
  for (const std::string &n : notes)
    fprintf(stderr, "%s\n", n.c_str());
  return file->metadata();
}
