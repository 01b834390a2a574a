// SPDX-License-Identifier: Apache-2.0
//
// Result<T>: a value or a message. The one error type of lib/ and runtime/.
//
//   Result<int> parse(std::string_view s);
//   auto r = parse("12");
//   if (!r) return r.error();       // an Error converts to any Result<U>
//   use(*r);
//
// A message is lower-case, has no full stop, names the thing and says what was
// expected and what was found. An Error may carry its place (`file`, or
// `file:line`, or `file:byte 123`).
#ifndef ACT_RESULT_H
#define ACT_RESULT_H
#include <string>
#include <utility>
#include <variant>

namespace act {

struct Error {
  std::string message;
  std::string
      where; // empty, or the place: "file.json", "file.json: hidden_size"
  std::string str() const {
    return where.empty() ? message : where + ": " + message;
  }
};

template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return state.index() == 0; }
  T &operator*() { return std::get<0>(state); }
  const T &operator*() const { return std::get<0>(state); }
  T *operator->() { return &std::get<0>(state); }
  const T *operator->() const { return &std::get<0>(state); }
  const Error &error() const { return std::get<1>(state); }

private:
  std::variant<T, Error> state;
};

struct Unit {};
using Status = Result<Unit>;
inline Status ok() { return Unit{}; }

} // namespace act
#endif
