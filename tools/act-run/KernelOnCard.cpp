// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel on a card through the C interface.
#include "tools/act-run/CompileKernel.h"
#include "tools/act-run/OpenKernel.h"
#include "tools/act-run/Options.h"
#include "tools/act-run/Target.h"
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace act;
using namespace act::run;
using simtool::Argument;

namespace {

/// The map of a tensor, by the driver.
Result<runtime::TensorMap> encoded(const runtime::TiledTensor &tensor,
                                   actrt_device device) {
  actrt_tiled_tensor t{};
  t.struct_size = sizeof t;
  t.dtype = uint32_t(tensor.type);
  t.rank = tensor.rank;
  t.address = reinterpret_cast<void *>(tensor.address);
  std::copy(tensor.sizes, tensor.sizes + 5, t.dims);
  std::copy(tensor.strides, tensor.strides + 4, t.strides);
  std::copy(tensor.box, tensor.box + 5, t.box);
  std::copy(tensor.elementStrides, tensor.elementStrides + 5,
            t.element_strides);
  t.swizzle = tensor.swizzle;
  t.l2_promotion = tensor.l2Promotion;
  actrt_tensor_map map;
  if (auto s = check(actrt_tensor_map_encode_tiled(device, &t, &map)); !s)
    return s.error();
  runtime::TensorMap out;
  std::copy(map.bytes, map.bytes + sizeof map.bytes, out.bytes);
  return out;
}

/// Launches the kernel once and returns how long that took.
Result<double> launch(OpenKernel &card, const actrt_launch_shape &shape,
                      std::vector<Argument> &given) {
  std::vector<actrt_argument> arguments(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    arguments[i].kind = ACTRT_BYTES;
    arguments[i].bytes = static_cast<uint32_t>(given[i].value.size());
    arguments[i].value.pointer = given[i].value.data();
    if (given[i].isArray()) {
      arguments[i].kind = ACTRT_POINTER;
      arguments[i].value.pointer = given[i].address;
    }
  }
  actrt_event events[2] = {};
  double milliseconds = 0;
  auto run = [&]() -> Status {
    for (actrt_event &e : events)
      if (auto s = check(actrt_event_create(card.device, &e)); !s)
        return s;
    const actrt_status steps[] = {actrt_event_record(events[0], card.stream),
                                  actrt_launch(card.function, card.stream,
                                               &shape, arguments.data(),
                                               arguments.size()),
                                  actrt_event_record(events[1], card.stream),
                                  actrt_event_synchronize(events[1])};
    for (actrt_status step : steps)
      if (auto s = check(step); !s)
        return s;
    return check(actrt_event_elapsed(events[0], events[1], &milliseconds));
  };
  auto s = run();
  for (actrt_event e : events)
    if (e)
      actrt_event_release(e);
  if (!s)
    return s.error();
  return milliseconds;
}

} // namespace

int run::kernelOnCard(const Options &o, const KernelOptions &given) {
  const std::string &device = o.simulator;
  KernelOptions options = given;
  if (o.target.empty()) {
    auto own = targetOf(device);
    if (!own)
      return fail(own.error().str());
    options.target = *own;
  }
  auto kernel = compileKernel(o.file, options);
  if (!kernel)
    return fail(kernel.error().str());
  actrt_launch_shape shape{};
  shape.struct_size = sizeof shape;
  shape.persistent = kernel->persistent;
  shape.at_once = kernel->atOnce;
  auto grid = gridOf(kernel->grid, o.launch.grid, kernel->persistent);
  if (!grid)
    return fail(grid.error().str());
  if (auto s = simtool::parseDimensions("--grid", *grid, shape.grid); !s)
    return fail(s.error().str());
  std::copy(kernel->block, kernel->block + 3, shape.block);
  shape.shared_bytes = kernel->sharedBytes;
  auto arguments = simtool::parseArguments(o.launch.arguments);
  if (!arguments)
    return fail(arguments.error().str());
  for (const Argument &a : *arguments)
    if (a.kind == Argument::Map)
      return fail("--arg " + a.text +
                  ": tensor maps are supported on sim only");
  OpenKernel card;
  auto opened = card.openDevice(device);
  if (opened)
    opened = card.load(kernel->ptx, 0, kernel->name);
  if (opened)
    opened = card.place(*arguments);
  if (opened && kernel->parameters)
    opened = simtool::addMaps(*kernel->parameters, *arguments,
                              [&](const runtime::TiledTensor &tensor) {
                                return encoded(tensor, card.device);
                              });
  if (opened && kernel->parameters)
    opened =
        simtool::checkArguments(kernel->name, *kernel->parameters, *arguments);
  if (!opened)
    return fail(opened.error().str());
  auto milliseconds = launch(card, shape, *arguments);
  if (!milliseconds)
    return fail(milliseconds.error().str());
  if (auto s = card.fetch(*arguments); !s)
    return fail(s.error().str());
  if (auto s = simtool::writeBack(*arguments); !s)
    return fail(s.error().str());
  if (kernel->parameters)
    simtool::tellDropped("act-run", kernel->name, *kernel->parameters,
                         *arguments);
  if (o.launch.json) {
    nlohmann::ordered_json j;
    j["kernel"] = kernel->name;
    j["target"] = options.target;
    j["device"] = device;
    j["grid"] = shape.grid;
    j["block"] = shape.block;
    j["shared bytes"] = shape.shared_bytes;
    j["milliseconds"] = *milliseconds;
    printf("%s\n", j.dump(2).c_str());
  } else {
    printf("%s on %s, %s, grid %ux%ux%u, block %ux%ux%u\n"
           "  milliseconds of this launch, the first: %.4g\n",
           kernel->name.c_str(), device.c_str(), options.target.c_str(),
           shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
           shape.block[1], shape.block[2], *milliseconds);
  }
  return 0;
}
