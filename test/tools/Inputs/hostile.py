# SPDX-License-Identifier: Apache-2.0
"""hostile.py KIND: module text that overflows MLIR's parser."""
import sys

KINDS = {
    "number": '"x.y"() : () -> ()\n"x.y"(%0#2147483648) : (i1) -> ()\n',
    "numbers": "".join(f'"x.y"(%{i}#65535) : (i1) -> ()\n' for i in range(100)),
    "regions": "module {\n" * 5000 + "}\n" * 5000,
    "types": "func.func private @f(" + "tuple<" * 90000 + ">" * 90000 + ")",
    "attributes": "module attributes {a = " + "[" * 90000 + "]" * 90000 + "} {}",
    "signs": "#m = affine_map<(d0) -> (" + "-" * 90000 + "d0)>",
    "sums": "#m = affine_map<(d0) -> (" + "d0 + " * 90000 + "d0)>",
    "modulo": "#m = affine_map<(d0) -> (d0 " + "mod 2 " * 200000 + ")>",
    "string": '"' + "(" * 90000,
    "comment": "//" + "(" * 90000 + "\nmodule {}\n",
    "honest": 'module attributes {x.a = "' + "(" * 90000 + '"} {\n' +
              "".join(f"  %{i} = arith.constant -1.0e-05 : f32\n" for i in range(3000)) +
              '  %x:2 = "x.y"() : () -> (i1, i1)\n  "x.z"(%x#1) : (i1) -> ()\n}\n',
}
sys.stdout.write(KINDS[sys.argv[1]])
