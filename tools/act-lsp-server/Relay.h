// SPDX-License-Identifier: Apache-2.0
//
// A relay between an editor and MLIR's language server, which runs in the same
// process. It adds the documentation of act's ops.
//
//   editor ── standard input ──► Relay ── pipe ──► MLIR's server
//   editor ◄─ standard output ── Relay ◄─ pipe ──  MLIR's server
//
// The relay itself answers a request to complete `act.so` where an op may
// stand; MLIR completes only the empty word. If the server's hover text is for
// an act op, the relay puts its documentation first. All else passes unchanged.
#ifndef ACT_TOOLS_ACTLSPSERVER_RELAY_H
#define ACT_TOOLS_ACTLSPSERVER_RELAY_H
#include "llvm/Support/JSON.h"
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace act::lsp {

class Relay {
public:
  /// Replaces the process's standard input and output, so that MLIR's server
  /// talks to the relay. False: no pipe could be made.
  bool start();
  /// Call once the server has returned; passes on the rest of its output. The
  /// thread that reads from the editor may still block, so a Relay is never
  /// destroyed.
  void finish();

private:
  void readEditor();
  void readServer();
  /// Answers the message itself if it can; returns whether it did.
  bool answer(const llvm::json::Object &message);
  void noteText(const llvm::json::Object &message);
  void sendToEditor(const std::string &text);

  int editorIn = -1, editorOut = -1, serverIn = -1, serverOut = -1;
  std::thread fromServer;
  std::mutex writing;
  std::map<std::string, std::string> texts; // of open documents, by URI
};

} // namespace act::lsp
#endif
