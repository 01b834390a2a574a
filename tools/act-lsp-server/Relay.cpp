// SPDX-License-Identifier: Apache-2.0
//
// Passes messages between the editor and the server, and changes the few that
// Relay.h names.
#include "tools/act-lsp-server/Relay.h"
#include "tools/act-lsp-server/OpDocs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <optional>
#include <unistd.h>

using namespace llvm;

namespace act::lsp {
namespace {

void writeAll(int file, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t n = write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return;
    bytes = bytes.drop_front(size_t(n));
  }
}

void send(int file, StringRef text) {
  writeAll(file, "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" +
                     text.str());
}

/// Messages of the protocol: a header with the length, and the text.
class Messages {
public:
  explicit Messages(int file) : file(file) {}

  /// None at the end of input or at anything that is not a message.
  std::optional<std::string> next() {
    size_t end;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos)
      if (!more())
        return std::nullopt;
    size_t length = 0;
    bool known = false;
    SmallVector<StringRef> lines;
    StringRef(buffer).take_front(end).split(lines, "\r\n");
    for (StringRef line : lines)
      if (line.consume_front_insensitive("content-length:"))
        known = !line.trim().getAsInteger(10, length);
    if (!known)
      return std::nullopt;
    buffer.erase(0, end + 4);
    while (buffer.size() < length)
      if (!more())
        return std::nullopt;
    std::string text = buffer.substr(0, length);
    buffer.erase(0, length);
    return text;
  }

private:
  bool more() {
    char part[1 << 14];
    ssize_t n;
    while ((n = read(file, part, sizeof part)) < 0 && errno == EINTR) {
    }
    if (n <= 0)
      return false;
    buffer.append(part, size_t(n));
    return true;
  }

  int file;
  std::string buffer;
};

/// The line up to the cursor, whose column counts UTF-16 units.
StringRef before(StringRef text, int64_t line, int64_t character) {
  for (; line > 0 && !text.empty(); --line)
    text = text.split('\n').second;
  text = text.split('\n').first;
  size_t at = 0;
  for (int64_t units = 0; at < text.size() && units < character; ++at) {
    auto byte = static_cast<unsigned char>(text[at]);
    bool begins = (byte & 0xc0) != 0x80;
    units += begins ? (byte >= 0xf0 ? 2 : 1) : 0;
  }
  while (at < text.size() && (text[at] & 0xc0) == 0x80)
    ++at;
  return text.take_front(at);
}

/// "act.so" if the line ends in it and an op may stand there: at the start, or
/// after the names of the op's results.
std::optional<std::string> opBeingTyped(StringRef line) {
  StringRef rest = line.rtrim("abcdefghijklmnopqrstuvwxyz0123456789_");
  StringRef word = line.drop_front(rest.size());
  for (StringRef dialect : {"act.", "tile."})
    if (rest.ends_with(dialect)) {
      StringRef head = rest.drop_back(dialect.size()).rtrim();
      if (head.empty() ||
          (head.ends_with("=") && head.ltrim().starts_with("%")))
        return (dialect + word).str();
    }
  return std::nullopt;
}

json::Array completions(StringRef typed) {
  json::Array items;
  size_t dialect = typed.find('.') + 1;
  for (const auto &[name, doc] : opDocs())
    if (StringRef(name).starts_with(typed))
      items.push_back(
          json::Object{{"label", name.substr(dialect)},
                       {"kind", 3}, // a function
                       {"detail", doc.summary},
                       {"documentation", json::Object{{"kind", "markdown"},
                                                      {"value", doc.text}}}});
  return items;
}

/// Puts the op's documentation before MLIR's own hover text.
bool documentHover(json::Object &message) {
  json::Object *result = message.getObject("result");
  json::Object *contents = result ? result->getObject("contents") : nullptr;
  auto value = contents ? contents->getString("value") : std::nullopt;
  if (!value || !value->starts_with("\""))
    return false;
  auto [name, rest] = value->drop_front().split('"');
  auto doc = opDocs().find(name.str());
  if (doc == opDocs().end())
    return false;
  std::string text = doc->second.text + "\n\n" + rest.ltrim().str();
  (*contents)["value"] = std::move(text);
  return true;
}

} // namespace

void Relay::sendToEditor(const std::string &text) {
  std::lock_guard lock(writing);
  send(editorOut, text);
}

/// Keeps the text of open documents: a completion names only a position.
void Relay::noteText(const json::Object &message) {
  auto method = message.getString("method");
  const json::Object *params = message.getObject("params");
  const json::Object *document =
      params ? params->getObject("textDocument") : nullptr;
  auto uri = document ? document->getString("uri") : std::nullopt;
  if (!method || !uri)
    return;
  if (*method == "textDocument/didOpen") {
    if (auto text = document->getString("text"))
      texts[uri->str()] = text->str();
  } else if (*method == "textDocument/didClose") {
    texts.erase(uri->str());
  } else if (*method == "textDocument/didChange") {
    // Each change is the whole text: MLIR's server requests full sync.
    const json::Array *changes = params->getArray("contentChanges");
    for (const json::Value &change : changes ? *changes : json::Array())
      if (const json::Object *c = change.getAsObject())
        if (auto text = c->getString("text"); text && !c->get("range"))
          texts[uri->str()] = text->str();
  }
}

bool Relay::answer(const json::Object &message) {
  const json::Object *params = message.getObject("params");
  const json::Value *id = message.get("id");
  if (message.getString("method") != "textDocument/completion" || !params ||
      !id)
    return false;
  const json::Object *document = params->getObject("textDocument");
  const json::Object *position = params->getObject("position");
  if (!document || !position)
    return false;
  auto text = texts.find(document->getString("uri").value_or("").str());
  if (text == texts.end())
    return false;
  auto typed = opBeingTyped(
      before(text->second, position->getInteger("line").value_or(0),
             position->getInteger("character").value_or(0)));
  json::Array items = typed ? completions(*typed) : json::Array();
  if (items.empty())
    return false;
  std::string reply;
  raw_string_ostream(reply) << json::Value(
      json::Object{{"jsonrpc", "2.0"},
                   {"id", *id},
                   {"result", json::Object{{"isIncomplete", false},
                                           {"items", std::move(items)}}}});
  sendToEditor(reply);
  return true;
}

void Relay::readEditor() {
  Messages messages(editorIn);
  while (auto text = messages.next()) {
    Expected<json::Value> message = json::parse(*text);
    // Invalid JSON goes to the server, which rejects it.
    if (!message)
      consumeError(message.takeError());
    else if (const json::Object *object = message->getAsObject()) {
      noteText(*object);
      if (answer(*object))
        continue;
    }
    send(serverIn, *text);
  }
  close(serverIn);
}

void Relay::readServer() {
  Messages messages(serverOut);
  while (auto text = messages.next()) {
    Expected<json::Value> message = json::parse(*text);
    if (!message) {
      consumeError(message.takeError());
    } else if (json::Object *object = message->getAsObject();
               object && documentHover(*object)) {
      text->clear();
      raw_string_ostream(*text) << *message;
    }
    sendToEditor(*text);
  }
}

/// The server runs in this process and uses standard input and output. Both
/// become pipes to the relay, and the editor's ends move to other descriptors.
/// The thread that reads from the editor is detached, because it may still wait
/// there when the server ends.
bool Relay::start() {
  int toServer[2], fromIt[2];
  editorIn = dup(STDIN_FILENO);
  editorOut = dup(STDOUT_FILENO);
  if (editorIn < 0 || editorOut < 0 || pipe(toServer) || pipe(fromIt))
    return false;
  serverIn = toServer[1];
  serverOut = fromIt[0];
  if (dup2(toServer[0], STDIN_FILENO) < 0 || dup2(fromIt[1], STDOUT_FILENO) < 0)
    return false;
  close(toServer[0]);
  close(fromIt[1]);
  std::thread(&Relay::readEditor, this).detach();
  fromServer = std::thread(&Relay::readServer, this);
  return true;
}

void Relay::finish() {
  outs().flush();
  // The only open write end of the pipe: the thread then reads end of file.
  close(STDOUT_FILENO);
  fromServer.join();
}

} // namespace act::lsp
