// SPDX-License-Identifier: Apache-2.0
//
// Streams, events and copies of the C interface.
#include "runtime/capi/OnStream.h"

using namespace act;
using namespace act::runtime;

// Creates a stream or event of a device and returns its handle.
template <typename Object, typename Handle, typename Part>
static actrt_status create(actrt_device device, Kind kind, Handle *handle,
                           const char *isNull,
                           Result<std::unique_ptr<Part>> (Executor::*make)(),
                           std::unique_ptr<Part> Object::*part) {
  return guarded([&]() -> actrt_status {
    auto d = findDevice(device);
    if (!d)
      return ACTRT_INVALID_HANDLE;
    if (!handle)
      return invalid(isNull);
    auto created = (d.get()->*make)();
    if (!created)
      return fail(ACTRT_FAILED, created.error().str());
    auto object = std::make_shared<Object>();
    object->device = d;
    object.get()->*part = std::move(*created);
    *handle = static_cast<Handle>(addHandle(kind, object));
    return ACTRT_SUCCESS;
  });
}

// Runs `body` on a stream and an event, which must belong to one device.
template <typename Body>
static actrt_status onBoth(actrt_stream stream, actrt_event event, Body body) {
  return onStream(stream, [&](StreamObject &s) -> actrt_status {
    auto e = find<EventObject>(Kind::Event, event);
    if (!e)
      return ACTRT_INVALID_HANDLE;
    if (e->device != s.device)
      return invalid("the event and the stream are of different devices");
    return finish(body(*s.stream, *e->event));
  });
}

actrt_status actrt_stream_create(actrt_device device, actrt_stream *stream) {
  return create(device, Kind::Stream, stream, "the stream's handle is null",
                &Executor::createStream, &StreamObject::stream);
}

actrt_status actrt_stream_release(actrt_stream stream) {
  return releaseHandle(Kind::Stream, stream);
}

actrt_status actrt_stream_synchronize(actrt_stream stream) {
  return onStream(
      stream, [](StreamObject &s) { return finish(s.stream->synchronize()); });
}

actrt_status actrt_stream_wait(actrt_stream stream, actrt_event event) {
  return onBoth(stream, event, [](Stream &s, Event &e) { return s.wait(e); });
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

actrt_status actrt_stream_callback(actrt_stream stream, actrt_callback callback,
                                   void *user) {
  return onStream(stream, [&](StreamObject &s) -> actrt_status {
    if (!callback)
      return invalid("the callback is null");
    return finish(s.stream->callback([=] { callback(user); }));
  });
}

actrt_status actrt_event_create(actrt_device device, actrt_event *event) {
  return create(device, Kind::Event, event, "the event's handle is null",
                &Executor::createEvent, &EventObject::event);
}

actrt_status actrt_event_release(actrt_event event) {
  return releaseHandle(Kind::Event, event);
}

actrt_status actrt_event_record(actrt_event event, actrt_stream stream) {
  return onBoth(stream, event, [](Stream &s, Event &e) { return s.record(e); });
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
      return invalid("the pointer for the elapsed time is null");
    if (a->device != b->device)
      return invalid("the two events are of different devices");
    auto ms = b->event->elapsedSince(*a->event);
    if (!ms)
      return fail(ACTRT_FAILED, ms.error().str());
    *milliseconds = *ms;
    return ACTRT_SUCCESS;
  });
}
