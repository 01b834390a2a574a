# SPDX-License-Identifier: Apache-2.0
"""rename-tensor.py IN OUT OLD NEW [copy|other]

The weights with one tensor under another name, or under both, or with other
values under the second."""
import sys

from safetensors.numpy import load_file, save_file

source, target, old, new, *how = sys.argv[1:]
tensors = load_file(source)
value = tensors[old]
if how:
    tensors[new] = value.copy() + (how[0] == "other")
else:
    tensors[new] = tensors.pop(old)
save_file(tensors, target)
