// SPDX-License-Identifier: Apache-2.0
//
// Stands between an editor and MLIR's language server, which runs in the same
// process, and adds what MLIR knows nothing of: the manual of act's ops.
//
//   editor ── standard input ──► Relay ── pipe ──► MLIR's server
//   editor ◄─ standard output ── Relay ◄─ pipe ──  MLIR's server
//
// When the editor asks to complete `act.so`, where an op stands, it is answered
// here; MLIR completes nothing but the empty word. When the server answers what
// is hovered over, and that is an op of act's, its manual is put in front. All
// else passes as it is.
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
  /// Takes the place of the process's standard input and output, from which
  /// MLIR's server then reads the relay's. False: there are no pipes left.
  bool start();
  /// Once the server has returned: everything it has said has been passed on.
  /// The thread that reads from the editor may still wait for it, so a Relay is
  /// never destroyed.
  void finish();

private:
  void readEditor();
  void readServer();
  /// Whether the message is answered here.
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
