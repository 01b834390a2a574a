# SPDX-License-Identifier: Apache-2.0
"""talk-to-lsp.py SERVER: an editor's first words, and the answers they must get."""
import json
import subprocess
import sys

GOOD = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = act.silu %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
BAD = GOOD.replace("act.silu %x :", "act.softmax %x axis 7 :")
BEGUN = GOOD.replace("act.silu %x : tensor<4xf32>", "act.so")
EMPTY = GOOD.replace("act.silu %x : tensor<4xf32>", "act.")


def message(method, params, number=None):
    body = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        body["id"] = number
    text = json.dumps(body)
    return f"Content-Length: {len(text)}\r\n\r\n{text}"


def opened(name, text):
    return message("textDocument/didOpen", {"textDocument": {
        "uri": f"file:///{name}.mlir", "languageId": "mlir", "version": 1, "text": text}})


def at(name, line, character):
    return {"textDocument": {"uri": f"file:///{name}.mlir"},
            "position": {"line": line, "character": character}}


def messages(output):
    while output:
        header, _, rest = output.partition(b"\r\n\r\n")
        size = next(int(line.split(b":")[1]) for line in header.split(b"\r\n")
                    if line.lower().startswith(b"content-length"))
        yield json.loads(rest[:size])
        output = rest[size:].lstrip(b"\r\n")


conversation = [message("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1),
                message("initialized", {}), opened("good", GOOD), opened("bad", BAD),
                opened("begun", BEGUN), opened("empty", EMPTY),
                message("textDocument/hover", at("good", 1, 9), 3),
                message("textDocument/hover", at("good", 2, 4), 4),
                message("textDocument/completion", at("begun", 1, 13), 5),
                message("textDocument/completion", at("empty", 1, 11), 6),
                message("textDocument/didChange", {
                    "textDocument": {"uri": "file:///empty.mlir", "version": 2},
                    "contentChanges": [{"text": EMPTY.replace("act.", "act.softmax_g")}]}),
                message("textDocument/completion", at("empty", 1, 20), 7),
                message("shutdown", None, 2), message("exit", None)]
done = subprocess.run([sys.argv[1]], input="".join(conversation).encode(), capture_output=True,
                      timeout=60)
answers = list(messages(done.stdout))
capabilities = next(a["result"]["capabilities"] for a in answers if a.get("id") == 1)
found = {a["params"]["uri"]: a["params"]["diagnostics"] for a in answers
         if a.get("method") == "textDocument/publishDiagnostics"}
assert capabilities["hoverProvider"] and capabilities["definitionProvider"], capabilities
assert found["file:///good.mlir"] == [], found
(problem,) = found["file:///bad.mlir"]
assert "axis" in problem["message"] and problem["range"]["start"]["line"] == 1, problem
assert done.returncode == 0, done

results = {a["id"]: a.get("result") for a in answers if "id" in a}
manual = results[3]["contents"]["value"]
for part in ("`act.silu`", "operation ::= `act.silu` $input", "Example:", "Generic Form:"):
    assert part in manual, (part, manual)
assert "Interfaces:" not in manual, manual
assert "operation ::=" not in results[4]["contents"]["value"], results[4]
labels = {number: [item["label"] for item in results[number]["items"]] for number in (5, 6, 7)}
assert labels[5] == ["softmax", "softmax_grad"], labels
assert {"silu", "matmul", "attention"} <= set(labels[6]), labels
assert labels[7] == ["softmax_grad"], labels
(item,) = results[7]["items"]
assert item["detail"] and "operation ::= `act.softmax_grad`" in item["documentation"]["value"], item
