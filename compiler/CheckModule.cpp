// SPDX-License-Identifier: Apache-2.0
//
// ModuleText.cpp bounds text; bytecode goes through a child process, which may
// crash alone.
#include "compiler/CheckModule.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mlir;

namespace act {
namespace {

constexpr rlim_t mebibyte = rlim_t(1) << 20;

struct Answer {
  std::string bytes; // 'M' and a module, or 'E' and a message
  int status = 0;    // from waitpid
};

void limitChild(size_t fileBytes) {
  // LLVM's handlers would print a request for a bug report.
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGFPE, SIGTRAP, SIGSYS})
    std::signal(signal, SIG_DFL);
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  rlim_t seconds = 5 + fileBytes / mebibyte;
  rlimit time{seconds, seconds + 1};
  setrlimit(RLIMIT_CPU, &time);
  // A thread that another one of the parent's holds up uses no time.
  std::signal(SIGALRM, SIG_DFL);
  alarm(unsigned(60 + 10 * seconds));
  // Address space: the process's current size plus room for any valid module.
  rlim_t pages = 0;
  if (FILE *f = fopen("/proc/self/statm", "r")) {
    unsigned long n = 0;
    if (fscanf(f, "%lu", &n) == 1)
      pages = n;
    fclose(f);
  }
  rlim_t space = pages * rlim_t(sysconf(_SC_PAGESIZE)) + 2048 * mebibyte +
                 128 * rlim_t(fileBytes);
  rlimit memory{space, space};
  setrlimit(RLIMIT_AS, &memory);
  if (int null = open("/dev/null", O_WRONLY); null >= 0)
    dup2(null, STDERR_FILENO);
}

std::string rewritten(llvm::MemoryBufferRef buffer,
                      const DialectRegistry &registry) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  // The reader of the copy decides whether to accept unknown dialects.
  context.allowUnregisteredDialects();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    if (message.empty() && d.getSeverity() == DiagnosticSeverity::Error)
      message = d.str();
    return success();
  });
  Block top;
  ParserConfig config(&context);
  if (failed(readBytecodeFile(buffer, &top, config)) ||
      !llvm::hasSingleElement(top))
    return "E" + (message.empty() ? "it holds no module" : message);
  std::string out = "M";
  llvm::raw_string_ostream os(out);
  if (failed(writeBytecodeToFile(&top.front(), os)))
    return "Eit cannot be written again";
  return out;
}

void writeAll(int file, const std::string &bytes) {
  for (size_t done = 0; done < bytes.size();) {
    ssize_t n = write(file, bytes.data() + done, bytes.size() - done);
    if (n <= 0)
      return;
    done += size_t(n);
  }
}

Result<Answer> askChild(llvm::MemoryBufferRef buffer,
                        const DialectRegistry &registry) {
  int ends[2];
  if (pipe(ends))
    return Error{"cannot make a pipe", ""};
  pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return Error{"cannot start a process to read bytecode in", ""};
  }
  if (child == 0) {
    close(ends[0]);
    limitChild(buffer.getBufferSize());
    writeAll(ends[1], rewritten(buffer, registry));
    _exit(0);
  }
  close(ends[1]);
  Answer answer;
  char part[1 << 16];
  for (ssize_t n; (n = read(ends[0], part, sizeof part)) != 0;) {
    if (n < 0 && errno != EINTR)
      break;
    if (n > 0)
      answer.bytes.append(part, size_t(n));
  }
  close(ends[0]);
  while (waitpid(child, &answer.status, 0) < 0 && errno == EINTR) {
  }
  return answer;
}

Result<std::unique_ptr<llvm::MemoryBuffer>>
readBytecode(llvm::MemoryBufferRef buffer, const DialectRegistry &registry) {
  std::string where = buffer.getBufferIdentifier().str();
  auto answer = askChild(buffer, registry);
  if (!answer)
    return Error{answer.error().message, where};
  bool ended = WIFEXITED(answer->status) && WEXITSTATUS(answer->status) == 0;
  if (!ended || answer->bytes.empty()) {
    bool slow =
        WIFSIGNALED(answer->status) && (WTERMSIG(answer->status) == SIGXCPU ||
                                        WTERMSIG(answer->status) == SIGKILL ||
                                        WTERMSIG(answer->status) == SIGALRM);
    return Error{std::string("the bytecode is damaged: reading it ") +
                     (slow ? "does not end" : "fails badly"),
                 where};
  }
  llvm::StringRef rest = llvm::StringRef(answer->bytes).drop_front();
  if (answer->bytes[0] != 'M')
    return Error{"the bytecode is damaged: " + rest.str(), where};
  return llvm::MemoryBuffer::getMemBufferCopy(rest, where);
}

} // namespace

Result<std::unique_ptr<llvm::MemoryBuffer>>
checkModule(std::unique_ptr<llvm::MemoryBuffer> module,
            const DialectRegistry &registry) {
  if (isBytecode(module->getMemBufferRef()))
    return readBytecode(module->getMemBufferRef(), registry);
  if (auto s =
          checkModuleText(module->getBuffer(), module->getBufferIdentifier());
      !s)
    return s.error();
  return std::move(module);
}

} // namespace act
