// SPDX-License-Identifier: Apache-2.0
//
// Opens a model to run forward: step, weights, inputs.
#include "tools/act-run/Forward.h"
#include "tools/act-run/OpenModel.h"

using namespace act;
using namespace act::run;

Result<Forward> run::openForward(const Options &o) {
  if (auto s = checkInputs(o); !s)
    return s.error();
  Forward f;
  auto files = WeightFiles::open(o.init);
  if (!files)
    return files.error();
  f.files = std::move(*files);
  auto model = openModel(o, "infer");
  if (!model)
    return model.error();
  f.model = std::move(*model);
  if (!f.model->hasFunction("forward"))
    return Error{"the file has no function 'forward'", o.file};
  if (o.init.empty() && !o.seed && !f.model->parameters.empty())
    return Error{"expected weights (--init FILE.safetensors), or --seed N for "
                 "random ones",
                 o.file};
  if (!o.init.empty()) {
    auto assignment = findWeights(*f.model, f.files);
    if (!assignment)
      return assignment.error();
    f.assignment = std::move(*assignment);
  }
  // A forward pass may still read these scalars, as dropout in training does.
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

Status run::setWeights(Forward &f, const Options &o) {
  return setFirstValues(*f.model, o, f.assignment, o.seed.value_or(0));
}
