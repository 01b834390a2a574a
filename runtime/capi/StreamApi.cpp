// SPDX-License-Identifier: Apache-2.0
//
// Streams, events, copies and launches of the C interface.
#include "act/Artifact/Format.h"
#include "runtime/capi/HandleTable.h"

using namespace act;
using namespace act::runtime;

static actrt_status invalid(const std::string &message) {
  return fail(ACTRT_INVALID_ARGUMENT, message);
}

actrt_status actrt_stream_create(actrt_device device, actrt_stream *stream) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    if (!stream)
      return invalid("the stream's handle is null");
    auto object = std::make_shared<StreamObject>();
    object->device = d;
    object->stream = d->createStream();
    *stream = static_cast<actrt_stream>(addHandle(Kind::Stream, object));
    return ACTRT_SUCCESS;
  });
}

actrt_status actrt_stream_release(actrt_stream stream) {
  return releaseHandle(Kind::Stream, stream);
}

// Looks the stream up and runs `body` on it, alone.
template <typename Body>
static actrt_status onStream(actrt_stream stream, Body body) {
  return guarded([&]() -> actrt_status {
    auto s = find<StreamObject>(Kind::Stream, stream);
    if (!s)
      return ACTRT_INVALID_HANDLE;
    std::lock_guard lock(s->mutex);
    return body(*s);
  });
}

actrt_status actrt_stream_synchronize(actrt_stream stream) {
  return onStream(
      stream, [](StreamObject &s) { return finish(s.stream->synchronize()); });
}

actrt_status actrt_stream_wait(actrt_stream stream, actrt_event event) {
  return onStream(stream, [&](StreamObject &s) -> actrt_status {
    auto e = find<EventObject>(Kind::Event, event);
    if (!e)
      return ACTRT_INVALID_HANDLE;
    if (e->device != s.device)
      return invalid("the event and the stream are of different devices");
    return finish(s.stream->wait(*e->event));
  });
}

actrt_status actrt_copy(actrt_stream stream, void *to, const void *from,
                        uint64_t bytes, actrt_direction direction) {
  return onStream(stream, [&](StreamObject &s) -> actrt_status {
    if (direction < ACTRT_HOST_TO_DEVICE || direction > ACTRT_DEVICE_TO_DEVICE)
      return invalid("the direction of a copy is unknown");
    if (bytes == 0)
      return ACTRT_SUCCESS;
    if (!to || !from)
      return invalid("an address of a copy is null");
    if (direction != ACTRT_DEVICE_TO_HOST)
      if (auto r = s.device->checkRange(to, bytes); !r)
        return invalid("copy, target: " + r.error().message);
    if (direction != ACTRT_HOST_TO_DEVICE)
      if (auto r = s.device->checkRange(from, bytes); !r)
        return invalid("copy, source: " + r.error().message);
    return finish(
        s.stream->copy(to, from, bytes, static_cast<Direction>(direction)));
  });
}

actrt_status actrt_fill(actrt_stream stream, void *to, uint8_t value,
                        uint64_t bytes) {
  return onStream(stream, [&](StreamObject &s) -> actrt_status {
    if (bytes == 0)
      return ACTRT_SUCCESS;
    if (auto r = s.device->checkRange(to, bytes); !r)
      return invalid("fill: " + r.error().message);
    return finish(s.stream->fill(to, value, bytes));
  });
}

actrt_status actrt_event_create(actrt_device device, actrt_event *event) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    if (!event)
      return invalid("the event's handle is null");
    auto object = std::make_shared<EventObject>();
    object->device = d;
    object->event = d->createEvent();
    *event = static_cast<actrt_event>(addHandle(Kind::Event, object));
    return ACTRT_SUCCESS;
  });
}

actrt_status actrt_event_release(actrt_event event) {
  return releaseHandle(Kind::Event, event);
}

actrt_status actrt_event_record(actrt_event event, actrt_stream stream) {
  return onStream(stream, [&](StreamObject &s) -> actrt_status {
    auto e = find<EventObject>(Kind::Event, event);
    if (!e)
      return ACTRT_INVALID_HANDLE;
    if (e->device != s.device)
      return invalid("the event and the stream are of different devices");
    return finish(s.stream->record(*e->event));
  });
}

actrt_status actrt_event_synchronize(actrt_event event) {
  return guarded([&]() -> actrt_status {
    auto e = find<EventObject>(Kind::Event, event);
    return e ? finish(e->event->synchronize()) : ACTRT_INVALID_HANDLE;
  });
}

actrt_status actrt_event_elapsed(actrt_event start, actrt_event end,
                                 double *milliseconds) {
  return guarded([&]() -> actrt_status {
    auto a = find<EventObject>(Kind::Event, start);
    auto b = a ? find<EventObject>(Kind::Event, end) : nullptr;
    if (!b)
      return ACTRT_INVALID_HANDLE;
    if (!milliseconds)
      return invalid("the place for the elapsed time is null");
    if (a->device != b->device)
      return invalid("the two events are of different devices");
    auto ms = b->event->elapsedSince(*a->event);
    if (!ms)
      return fail(ACTRT_FAILED, ms.error().str());
    *milliseconds = *ms;
    return ACTRT_SUCCESS;
  });
}

static Result<LaunchShape> checkShape(const actrt_launch_shape *shape) {
  if (!shape)
    return Error{"the launch has no shape", ""};
  actrt_launch_shape given = readStruct(shape);
  LaunchShape out;
  uint64_t blocks = 1;
  for (int i = 0; i < 3; ++i) {
    out.grid[i] = given.grid[i] ? given.grid[i] : 1;
    out.block[i] = given.block[i] ? given.block[i] : 1;
    if (__builtin_mul_overflow(blocks, out.grid[i], &blocks) ||
        blocks > artifact::maxGrid)
      return Error{"the launch's grid has more than 2^40 blocks", ""};
  }
  out.sharedBytes = given.shared_bytes;
  out.scratchBytes = given.scratch_bytes;
  if (out.scratchBytes > artifact::maxScratchBytes)
    return Error{"the launch wants " + std::to_string(out.scratchBytes) +
                     " bytes of scratch per thread, at most 2^32 are allowed",
                 ""};
  return out;
}

actrt_status actrt_launch(actrt_function function, actrt_stream stream,
                          const actrt_launch_shape *shape,
                          const actrt_argument *arguments,
                          size_t argument_count) {
  return onStream(stream, [&](StreamObject &s) -> actrt_status {
    auto f = find<FunctionObject>(Kind::Function, function);
    if (!f)
      return ACTRT_INVALID_HANDLE;
    if (f->module->device != s.device)
      return invalid("the function and the stream are of different devices");
    if (argument_count > artifact::maxArguments ||
        (argument_count > 0 && !arguments))
      return invalid("a launch takes 0 to 1024 arguments, given " +
                     std::to_string(argument_count));
    auto launch = checkShape(shape);
    if (!launch)
      return invalid(launch.error().message);
    static const uint8_t sizes[] = {0, 4, 8, 4, 8};
    std::vector<void *> addresses(argument_count);
    std::vector<uint8_t> scalarBytes(argument_count);
    // Host kernels may read a whole 8-byte slot, so scalars get one each.
    std::vector<uint64_t> slots(argument_count);
    for (size_t i = 0; i < argument_count; ++i) {
      const actrt_argument &a = arguments[i];
      if (a.kind < ACTRT_POINTER || a.kind > ACTRT_F64)
        return invalid("argument " + std::to_string(i) + " has unknown kind " +
                       std::to_string(static_cast<int>(a.kind)));
      scalarBytes[i] = sizes[a.kind];
      std::memcpy(&slots[i], &a.value, sizes[a.kind]);
      if (a.kind == ACTRT_I32) {
        int64_t wide = a.value.i32;
        std::memcpy(&slots[i], &wide, 8);
      }
      addresses[i] = a.kind == ACTRT_POINTER ? a.value.pointer : &slots[i];
      if (a.kind == ACTRT_POINTER)
        if (auto r = s.device->checkRange(a.value.pointer, 0); !r)
          return invalid("argument " + std::to_string(i) + ": " +
                         r.error().message);
    }
    if (auto r = s.device->reserveScratch(launch->scratchBytes); !r)
      return fail(ACTRT_FAILED, r.error().str());
    return finish(s.stream->launch(*f->kernel, *launch,
                                   {addresses.data(), scalarBytes.data(),
                                    static_cast<uint32_t>(argument_count)}));
  });
}
