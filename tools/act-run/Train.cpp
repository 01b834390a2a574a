// SPDX-License-Identifier: Apache-2.0
//
// act-run train. Everything that can fail cheaply is checked before the step is
// compiled, and all else before the first step runs.
#include "tools/act-run/Batches.h"
#include "tools/act-run/Checkpoint.h"
#include "tools/act-run/LaunchTimes.h"
#include "tools/act-run/MeasureTable.h"
#include "tools/act-run/OpenModel.h"
#include "tools/act-run/Outputs.h"
#include "tools/act-run/Progress.h"
#include "tools/act-run/TrainingLog.h"
#include <cmath>
#include <csignal>
#include <optional>

using namespace act;
using namespace act::run;

// A first interrupt lets the current step end; files are replaced atomically,
// so a second one, which ends the process at once, leaves none half-written.
static volatile std::sig_atomic_t interrupted = 0;
static void onInterrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

namespace {

class Training {
public:
  explicit Training(const Options &options) : o(options) {}
  Status run();

private:
  const Options &o;
  std::unique_ptr<Model> model;
  std::unique_ptr<Ports> ports, evaluation;
  BatchShape shape;
  std::unique_ptr<BatchSource> source;
  TrainingPosition position;
  WeightFiles files; // of --resume and --init
  std::optional<Checkpoint> checkpoint;
  Assignment assignment;
  Base base = Base::Seed;
  measure::Obtained obtained;
  LaunchTimes times;
  uint64_t saved = 0; // the step of this run's last checkpoint

  Status openWeights();
  Status load();
  Status assignWeights();
  Status openData();
  Status setValues();
  Status loop();
  Status oneStep(uint64_t step);
  Error notFinite(const char *what, uint64_t step) const;
  Result<std::optional<double>> evaluate(uint64_t step);
  Status save();
  Status dumpGradients();
};

} // namespace

// Opens or compiles the step. Options that describe the step must agree with a
// compiled one, because they cannot change it any more.
Status Training::load() {
  auto loaded = openModel(o, "train");
  if (!loaded)
    return loaded.error();
  model = std::move(*loaded);
  if (!model->hasFunction("step"))
    return Error{"the file has no function 'step' and so cannot be trained",
                 o.file};
  if (!o.optimizer.empty() && o.optimizer != model->optimizer)
    return Error{"--optimizer=" + o.optimizer +
                     " contradicts the step, which was compiled with '" +
                     model->optimizer + "'",
                 o.file};
  if (o.microBatches && o.microBatches != model->microBatches)
    return Error{"--micro-batches=" + std::to_string(o.microBatches) +
                     " contradicts the step, which was compiled with " +
                     std::to_string(model->microBatches),
                 o.file};
  const char *average = model->lossAverage == artifact::LossAverage::Labels
                            ? "labels"
                            : "micro-batches";
  if (!o.lossAverage.empty() && o.lossAverage != average)
    return Error{"--loss-average=" + o.lossAverage +
                     " contradicts the step, which was compiled with " +
                     average,
                 o.file};
  auto p = model->bindPorts("step");
  if (!p)
    return p.error();
  ports = std::move(*p);
  if (!ports->output("loss"))
    return Error{"the function 'step' has no output 'loss'", o.file};
  if (model->hasFunction("eval")) {
    auto e = model->bindPorts("eval");
    if (!e)
      return e.error();
    evaluation = std::move(*e);
  }
  return ok();
}

// Opens the weights; reports all errors that can be found without the model.
Status Training::openWeights() {
  position.seed = o.seed.value_or(0);
  std::vector<std::string> paths = o.init;
  if (!o.resume.empty()) {
    auto opened = Checkpoint::open(o.resume);
    if (!opened)
      return opened.error();
    checkpoint = std::move(*opened);
    const TrainingPosition &p = checkpoint->position;
    if (o.seed && *o.seed != p.seed)
      return Error{"--seed " + std::to_string(*o.seed) +
                       " contradicts the checkpoint's seed " +
                       std::to_string(p.seed),
                   o.resume};
    if (p.step >= o.steps)
      return Error{"the checkpoint has done " + std::to_string(p.step) +
                       " steps; --steps " + std::to_string(o.steps) +
                       " counts from the first step and asks for no more",
                   o.resume};
    position = p;
    paths.insert(paths.begin(), o.resume);
  }
  base = o.init.empty() && (!checkpoint || checkpoint->base == Base::Seed)
             ? Base::Seed
             : Base::Files;
  auto opened = WeightFiles::open(paths);
  if (!opened)
    return opened.error();
  files = std::move(*opened);
  return ok();
}

// Finds the tensor of each parameter, but sets nothing yet: the model must be
// known, and all other checks come before the copies.
Status Training::assignWeights() {
  if (files.sets.empty())
    return ok();
  if (checkpoint)
    if (auto s = checkpoint->check(*model); !s)
      return s;
  // A frozen base that came from the seed is initialised from it again.
  bool remade = checkpoint && base == Base::Seed;
  auto found =
      findWeights(*model, files, remade ? Missing::Frozen : Missing::Adapters);
  if (!found)
    return found.error();
  assignment = std::move(*found);
  return ok();
}

// The order matters: weights first, then the states of a checkpoint, because
// setting a parameter also sets its master.
Status Training::setValues() {
  auto s = setFirstValues(*model, o, assignment, position.seed);
  if (s && checkpoint)
    s = checkpoint->setStates(*model);
  // Unmap files that this run may replace.
  assignment = {};
  files = {};
  checkpoint.reset();
  return s;
}

Status Training::openData() {
  int64_t vocabulary = model->vocabulary;
  if (!model->predictsNext && o.labels.empty())
    return Error{"the model sees the tokens that it predicts, so its labels "
                 "are not the tokens shifted by one; expected --tokens with "
                 "--labels (-100: ignored)",
                 o.file};
  auto s = batchShape(*ports, o.pack.empty() ? 0 : o.packLength);
  if (!s)
    return s.error();
  shape = *s;
  Result<std::unique_ptr<BatchSource>> r =
      !o.data.empty() ? openText(o.data, shape, position.seed, vocabulary)
      : !o.pack.empty()
          ? openPack(o.pack, shape, vocabulary)
          : openTokenFiles({o.tokens, o.labels, o.segments, o.attentionMask},
                           *ports, vocabulary);
  if (!r)
    return r.error();
  source = std::move(*r);
  if (source->rowLength() > 0) {
    auto cut = batchShape(*ports, source->rowLength());
    if (!cut)
      return cut.error();
    shape = *cut;
  }
  if (source->steps() > 0 && o.steps > source->steps())
    return Error{"there are tokens for " + std::to_string(source->steps()) +
                     " steps, but --steps asks for " + std::to_string(o.steps),
                 o.tokens};
  if (!source->summary().empty())
    fprintf(stderr, "%s\n", source->summary().c_str());
  std::string why = source->whyNoEvaluation();
  if (!o.data.empty() && !evaluation)
    why = "the step has no function 'eval'";
  if (!why.empty())
    fprintf(stderr, "no validation: %s\n", why.c_str());
  return ok();
}

Status Training::oneStep(uint64_t step) {
  auto batch = source->batch(step);
  if (!batch)
    return batch.error();
  if (auto s = feed(*ports, shape, *batch); !s)
    return s;
  if (auto s = model->setScalar("step", static_cast<int64_t>(step)); !s)
    return s;
  if (o.measure)
    measure::start();
  auto s = model->run("step");
  if (o.measure) {
    measure::Obtained m = measure::stop();
    obtained.calls += m.calls;
    obtained.bytes += m.bytes;
    obtained.mapCalls += m.mapCalls;
    obtained.mapBytes += m.mapBytes;
  }
  return s && o.times ? times.add(*model, "step") : s;
}

// The loss on held-out data, averaged as the step's own loss is, so that the
// two can be compared. Empty if it is not this step's turn.
Result<std::optional<double>> Training::evaluate(uint64_t step) {
  uint64_t batches = source->evaluationBatches();
  bool last = step == o.steps;
  if (!evaluation || batches == 0 ||
      !(last || (o.evalEvery > 0 && step % o.evalEvery == 0)))
    return std::optional<double>();
  auto evalShape = batchShape(*evaluation);
  if (!evalShape)
    return evalShape.error();
  // 'eval' takes one micro-batch of the step.
  uint64_t parts = model->microBatches;
  if (evalShape->tokens() * static_cast<int64_t>(parts) != shape.tokens())
    return Error{"the function 'eval' takes " +
                     std::to_string(evalShape->tokens()) +
                     " tokens, expected " + std::to_string(shape.tokens()) +
                     " of the function 'step' in " + std::to_string(parts) +
                     " micro-batches",
                 o.file};
  if (!evaluation->output("loss"))
    return Error{"the function 'eval' has no output 'loss'", o.file};
  double sum = 0, counted = 0;
  for (uint64_t i = 0; i < batches; ++i) {
    Batch whole = source->evaluationBatch(i);
    for (uint64_t k = 0; k < parts; ++k) {
      Batch one = part(whole, k, parts);
      if (auto s = feed(*evaluation, *evalShape, one); !s)
        return s.error();
      if (auto s = model->run("eval"); !s)
        return s.error();
      double weight = model->lossAverage == artifact::LossAverage::Labels
                          ? static_cast<double>(labelCount(one))
                          : 1;
      sum += weight * evaluation->value("loss");
      counted += weight;
    }
  }
  return std::optional<double>(counted > 0 ? sum / counted : 0);
}

Status Training::save() {
  if (o.save.empty())
    return ok();
  const Vocabulary *v = source->vocabulary();
  return saveCheckpoint(*model, safetensors::fileToWrite(o.save), position,
                        base, v ? v->toJson() : "",
                        {o.saveWhole, o.maxShardBytes});
}

Error Training::notFinite(const char *what, uint64_t step) const {
  std::string message = std::string("the ") + what + " of step " +
                        std::to_string(step) + " is not finite; ";
  if (saved > 0)
    return {message + "the checkpoint of step " + std::to_string(saved) +
                " was kept",
            o.save};
  return {message + "nothing was saved", ""};
}

// Runs steps until the last one or an interrupt. A loss that is not finite ends
// the run before anything is saved, so the last good checkpoint remains.
Status Training::loop() {
  TrainingLog log;
  if (auto s = log.open(o.log, position.step,
                        o.evalEvery > 0 && position.step % o.evalEvery == 0);
      !s)
    return s;
  if (auto s = model->setScalar("lr", o.learningRate); !s)
    return s;
  if (auto s = model->setScalar("seed", static_cast<int64_t>(position.seed));
      !s)
    return s;
  Progress progress(position.step, o.steps,
                    static_cast<uint64_t>(shape.tokens()));
  std::signal(SIGINT, onInterrupt);
  std::optional<double> val;
  while (position.step < o.steps && !interrupted) {
    uint64_t step = position.step + 1;
    if (auto s = oneStep(step); !s)
      return s;
    position.step = step;
    double loss = ports->value("loss");
    progress.step(step, loss);
    auto v = evaluate(step);
    if (!v)
      return v.error();
    val = *v;
    if (val)
      progress.note("step " + std::to_string(step) + "  held-out loss " +
                    std::to_string(*val));
    std::optional<double> rate;
    if (o.logTimes)
      rate = progress.tokensPerSecond();
    if (auto s = log.add(step, loss, rate, val); !s)
      return s;
    if (!std::isfinite(loss))
      return notFinite("loss", step);
    if (val && !std::isfinite(*val))
      return notFinite("held-out loss", step);
    // The last step is saved after the loop, as is the step that an interrupt
    // ends.
    if (o.saveEvery > 0 && step % o.saveEvery == 0 && step != o.steps) {
      if (auto s = save(); !s)
        return s;
      saved = step;
    }
  }
  return save();
}

Status Training::dumpGradients() {
  std::vector<safetensors::Source> tensors;
  for (const Entity &s : model->states)
    if (s.role == ACTRT_ROLE_GRADIENT)
      tensors.push_back(
          {s.parameter, safetensorsName(s.type.dtype), s.shape(), nullptr,
           [this, &s] { return model->get(ACTRT_STATE, s, s.type.dtype); }});
  return safetensors::write(o.dumpGradients, std::move(tensors));
}

Status Training::run() {
  // Check everything before the slow work.
  if (auto s = checkOutputs(o); !s)
    return s;
  if (auto s = checkInputs(o); !s)
    return s;
  if (auto s = openWeights(); !s)
    return s;
  if (auto s = load(); !s)
    return s;
  if (auto s = assignWeights(); !s)
    return s;
  if (auto s = openData(); !s)
    return s;
  if (auto s = setValues(); !s)
    return s;
  if (auto s = loop(); !s)
    return s;
  if (!o.dumpGradients.empty())
    if (auto s = dumpGradients(); !s)
      return s;
  if (o.times)
    if (auto s = times.print(o.timesJson); !s)
      return s;
  if (o.measure)
    return printMeasurement(*model, "step", obtained, o.measureJson);
  return ok();
}

int run::train(const Options &options) {
  Training training(options);
  if (auto s = training.run(); !s)
    return fail(s.error().str());
  // 128 + SIGINT, as a shell reports an interrupted process.
  return interrupted ? 130 : 0;
}
