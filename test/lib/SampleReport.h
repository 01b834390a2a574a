// SPDX-License-Identifier: Apache-2.0
//
// A report about a generated training step: planned, with lifetimes, categories
// and the graph of a layer, consistent in every sum.
#ifndef ACT_TEST_LIB_SAMPLEREPORT_H
#define ACT_TEST_LIB_SAMPLEREPORT_H
#include "act/Plan/Solver.h"
#include "act/Report/MemoryReport.h"
#include "test/lib/TransformerInstance.h"

namespace act::report::instances {

class SampleReport {
public:
  explicit SampleReport(const plan::instances::Shape &shape)
      : shape(shape), step(shape) {
    report.model = "llama";
    report.function = "step";
    report.letters = {
        {"b", 1},           {"s", shape.tokens}, {"h", shape.h},
        {"a", shape.heads}, {"L", shape.layers}, {"V", shape.vocabulary}};
    timeline();
    buffers();
    layers();
    graph();
    for (const TimelinePoint &p : report.timeline)
      report.peakBytes = std::max(report.peakBytes, p.liveBytes);
    report.parametersBytes = 2 * shape.layers * 12 * shape.h * shape.h;
    report.gradientsBytes = report.parametersBytes;
    report.optimizerBytes = 6 * report.parametersBytes;
    report.inputsBytes = 8 * shape.tokens;
    report.outputsBytes = 4;
    report.totalPeakBytes = report.peakBytes + 8 * report.parametersBytes +
                            report.inputsBytes + report.outputsBytes;
    report.flops = uint64_t(6) * report.parametersBytes * shape.tokens;
    report.recomputedFlops = shape.segment ? report.flops / 4 : 0;
  }
  MemoryReport report;

private:
  /// "l3.q" -> 3, "re3.q" -> 3, "b3.dq" -> 3, others -1.
  static int layerOf(const std::string &name) {
    size_t digit = name.find_first_of("0123456789");
    size_t dot = name.find('.');
    if (digit == std::string::npos || dot == std::string::npos || digit > dot)
      return noLayer;
    return std::stoi(name.substr(digit, dot - digit));
  }
  std::string opName(size_t t) const {
    const auto &op = step.ops[t];
    if (!op.results.empty())
      return step.problem.buffers[op.results[0]].name;
    for (size_t v : op.operands)
      if (layerOf(step.problem.buffers[v].name) != noLayer)
        return step.problem.buffers[v].name + ".weight_gradient";
    return "weight_gradient";
  }
  bool isBackward(size_t t) const { return t >= lossAt; }

  void timeline() {
    for (size_t t = 0; t < step.ops.size(); ++t)
      if (opName(t) == "dfinal")
        lossAt = t;
    for (size_t t = 0; t < step.ops.size(); ++t) {
      TimelinePoint p;
      p.op = opName(t);
      p.loc = "llama.mlir:" + std::to_string(10 + t) + ":8";
      p.phase = isBackward(t) ? Phase::Backward : Phase::Forward;
      p.layer = layerOf(p.op);
      report.timeline.push_back(p);
    }
  }
  void buffers() {
    auto solution = plan::solve(step.problem);
    report.arenaBytes = solution->arenaBytes;
    report.lowerBoundBytes = solution->lowerBoundBytes;
    for (size_t i = 0; i < step.problem.buffers.size(); ++i) {
      const plan::Buffer &from = step.problem.buffers[i];
      Buffer b;
      b.name = from.name;
      b.dtype = "bf16";
      b.bytes = from.bytes;
      b.shape = {1, shape.tokens, b.bytes / 2 / shape.tokens};
      b.layer = layerOf(from.name);
      b.first = from.first;
      b.last = from.last;
      b.offset = solution->offsets[i];
      bool crosses = !isBackward(b.first) && b.last > int64_t(lossAt);
      b.category = from.name == "workspace" ? Category::Workspace
                   : from.name == "tokens"  ? Category::Input
                   : crosses                ? Category::Saved
                   : from.name[0] == 'b' || from.name[0] == 'd'
                       ? Category::Gradient
                       : Category::Temporary;
      if (crosses) {
        report.saved.push_back(
            {b.name, b.shape, b.dtype, b.bytes, b.layer,
             "2*b*s*" + std::to_string(b.bytes / 2 / shape.tokens)});
        report.retainedBytes += b.bytes;
      }
      report.buffers.push_back(std::move(b));
    }
    auto done = complete(report);
    (void)done;
  }
  void layers() {
    for (int l = 0; l < shape.layers; ++l) {
      Layer layer;
      layer.name = "model.layers";
      layer.index = l;
      layer.variant = shape.segment ? "segments" : "none";
      for (const SavedValue &v : report.saved)
        if (v.layer == l)
          layer.retainedBytes += v.bytes;
      layer.recomputedFlops = shape.segment ? 123456789012 : 0;
      auto b = symbolic::Polynomial::letter("b"),
           s = symbolic::Polynomial::letter("s");
      int64_t per = layer.retainedBytes / shape.tokens;
      layer.retained = {per * b * s, layer.retainedBytes - per * shape.tokens,
                        true};
      report.layers.push_back(layer);
    }
  }
  /// Of layer 0, as in the IR: an op is a node, a value an edge.
  void graph() {
    LayerGraph g;
    g.name = "model.layers 0";
    std::map<size_t, std::string> maker;
    for (size_t t = 0; t < step.ops.size(); ++t) {
      if (layerOf(opName(t)) != 0)
        continue;
      std::string id = "op" + std::to_string(t);
      g.nodes.push_back({id, opName(t), report.timeline[t].phase,
                         opName(t).compare(0, 2, "re") == 0});
      for (size_t v : step.ops[t].operands)
        if (maker.count(v)) {
          const Buffer &b = report.buffers[v];
          g.edges.push_back({maker[v], id, b.name, b.bytes,
                             b.category == Category::Saved && isBackward(t)});
        }
      for (size_t v : step.ops[t].results)
        maker[v] = id;
    }
    report.graphs.push_back(g);
  }

  plan::instances::Shape shape;
  plan::instances::TransformerInstance step;
  size_t lossAt = 0;
};

} // namespace act::report::instances
#endif
