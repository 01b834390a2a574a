// SPDX-License-Identifier: Apache-2.0
//
// Opens the step that a command needs, and checks its files first: a long
// compilation should not end in a missing file.
#include "tools/act-run/OpenModel.h"
#include "act/File/MappedFile.h"
#include "act/Npy/Npy.h"
#include "tools/act-run/StepSource.h"

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
  m.anyMemory = o.anyMemory;
  return Model::load(**source, m);
}

static Status checkFile(const std::string &path) {
  if (path.empty())
    return ok();
  auto file = file::MappedFile::open(path);
  return file ? ok() : Status(file.error());
}

static Status checkArray(const std::string &path) {
  if (path.empty())
    return ok();
  auto array = npy::read(path);
  return array ? ok() : Status(array.error());
}

Status run::checkInputs(const Options &o) {
  if (auto s = checkStepFile(o.file); !s)
    return s;
  for (const std::string *path : {&o.data, &o.pack})
    if (auto s = checkFile(*path); !s)
      return s;
  for (const std::string *path :
       {&o.tokens, &o.labels, &o.segments, &o.attentionMask})
    if (auto s = checkArray(*path); !s)
      return s;
  return ok();
}

Result<Assignment> run::findWeights(const Model &model,
                                    const WeightFiles &files, Missing missing) {
  auto found = assign(model, files, missing);
  for (size_t i = 0; found && i < found->notes.size(); ++i)
    fprintf(stderr, "%s\n", found->notes[i].c_str());
  return found;
}

Status run::setFirstValues(Model &model, const Options &o,
                           const Assignment &assignment, uint64_t seed) {
  double writing = 0;
  uint64_t bytes = 0;
  for (const Entity &p : model.parameters)
    bytes += assignment.tensors.count(p.name) ? 0 : p.bytes;
  if (o.times)
    writing = secondsToWrite(model, bytes);
  auto times = setValues(model, assignment, seed);
  if (!times)
    return times.error();
  if (o.times && bytes)
    printf(
        "initialising %llu bytes of parameters took %.1f ms; writing as many "
        "takes %.1f ms\n",
        static_cast<unsigned long long>(times->initialisedBytes),
        1e3 * times->initialiseSeconds, 1e3 * writing);
  return ok();
}
