# SPDX-License-Identifier: Apache-2.0
"""check-allocator.py REPORT.json: what a replay through the allocator must agree with."""
import json
import sys

MIB = 1 << 20
report = json.load(open(sys.argv[1]))
allocator, timeline = report["allocator"], report["timeline"]
act = report["view"] == "act"
# What lies beside activations from the beginning; PyTorch's gradients come one by one.
beside = report["parameters_bytes"] + report["inputs_bytes"]
if act:
    beside += report["gradients_bytes"] + report["optimizer_bytes"] + report["outputs_bytes"]

for point in timeline:
    allocated, reserved = point["allocated_bytes"], point["reserved_bytes"]
    assert point["live_bytes"] + beside <= allocated <= reserved, point
    assert allocated % 512 == 0 and reserved % (2 * MIB) == 0, point
for what in ("allocated", "reserved"):
    curve = [point[what + "_bytes"] for point in timeline]
    assert report[what + "_peak_bytes"] == max(curve)
    assert curve[allocator[what + "_peak_index"]] == max(curve)
# Every tensor is smaller than 1 MiB here, so it is rounded up by less than 512 bytes.
tensors = len(report["buffers"]) + 400
assert allocator["requested_bytes"] + allocator["rounding_bytes"] == report["allocated_peak_bytes"]
assert 0 < allocator["rounding_bytes"] < 512 * tensors + 12 * MIB * (not act)
if act:
    assert allocator["requested_bytes"] == report["total_peak_bytes"]
assert allocator["fits"] and allocator["exceeded"] is None and allocator["retries"] == 0
assert allocator["device_memory_bytes"] == 24 << 30
assert 0 < allocator["fragmentation"] < 1
