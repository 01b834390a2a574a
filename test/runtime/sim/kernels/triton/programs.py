# SPDX-License-Identifier: Apache-2.0
"""Block programs of the project's own, for Triton's compiler: small blocks, so that the
PTX stays small, but every idea of the large ones."""
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    v = v - tl.max(v, 0)
    e = tl.exp(v)
    tl.store(out + row * stride + at, e / tl.sum(e, 0), mask=at < columns)


@triton.jit
def layer_norm(x, weight, bias, out, mean, rstd, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    m = tl.sum(total, 0) / columns
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        v = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
        v = tl.where(at < columns, v - m, 0.0)
        total += v * v
    r = 1 / tl.sqrt(tl.sum(total, 0) / columns + epsilon)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    for first in range(0, columns, BLOCK):
        at = first + tl.arange(0, BLOCK)
        inside = at < columns
        v = tl.load(x + row * columns + at, mask=inside).to(tl.float32)
        w = tl.load(weight + at, mask=inside)
        b = tl.load(bias + at, mask=inside)
        tl.store(out + row * columns + at, ((v - m) * r * w + b).to(out.dtype.element_ty), mask=inside)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + inner)[None, :],
                    mask=(rows[:, None] < M) & ((k + inner)[None, :] < K), other=0.0)
        y = tl.load(b + (k + inner)[:, None] * N + columns[None, :],
                    mask=((k + inner)[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * N + columns[None, :], acc,
             mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def matmul_descriptors(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                       ROLES: tl.constexpr):
    """a, b, c: tensor descriptors of the host; b is N × K."""
    first, second = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros([BM, BN], tl.float32)
    for k in tl.range(0, K, BK, warp_specialize=ROLES):
        acc = tl.dot(a.load([first, k]), b.load([second, k]).T, acc)
    c.store([first, second], acc)


@triton.jit
def matmul_device_descriptors(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Descriptors made in the kernel, in global scratch memory."""
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    first, second = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([first, k]), db.load([second, k]).T, acc)
    dc.store([first, second], acc)


@triton.jit
def attention_rows(q, k_block, v_block, most, total, acc, rows, columns, scale, CAUSAL: tl.constexpr):
    s = tl.dot(q, k_block.T) * scale
    if CAUSAL:
        s = tl.where(rows[:, None] >= columns[None, :], s, -1e30)
    m = tl.maximum(most, tl.max(s, 1))
    p = tl.exp2(s - m[:, None])
    correction = tl.exp2(most - m)
    total = total * correction + tl.sum(p, 1)
    acc = tl.dot(p.to(v_block.dtype), v_block, acc * correction[:, None])
    return m, total, acc


@triton.jit
def attention_between(q_block, k, v, most, total, acc, rows, d, head, begin, end, scale, D: tl.constexpr,
                      BN: tl.constexpr, CAUSAL: tl.constexpr):
    for first in range(begin, end, BN):
        columns = first + tl.arange(0, BN)
        kb = tl.load(k + head + columns[:, None] * D + d[None, :])
        vb = tl.load(v + head + columns[:, None] * D + d[None, :])
        most, total, acc = attention_rows(q_block, kb, vb, most, total, acc, rows, columns, scale, CAUSAL)
    return most, total, acc


@triton.jit
def attention(q, k, v, out, lse, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
              CAUSAL: tl.constexpr, APART: tl.constexpr):
    """APART: what is below the diagonal has a loop of its own, without a mask."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    head = tl.program_id(1) * length * D
    x = tl.load(q + head + rows[:, None] * D + d[None, :])
    most = tl.full([BM], -1e30, tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    end = (tl.program_id(0) + 1) * BM if CAUSAL else length
    if APART:
        most, total, acc = attention_between(x, k, v, most, total, acc, rows, d, head, 0, end - BM, scale, D, BN,
                                             False)
        most, total, acc = attention_between(x, k, v, most, total, acc, rows, d, head, end - BM, end, scale, D, BN,
                                             True)
    else:
        most, total, acc = attention_between(x, k, v, most, total, acc, rows, d, head, 0, end, scale, D, BN, CAUSAL)
    tl.store(out + head + rows[:, None] * D + d[None, :], acc / total[:, None])
    tl.store(lse + tl.program_id(1) * length + rows, most + tl.log2(total))


@triton.jit
def attention_descriptors(q, k, v, out, length, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                          ROLES: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    x = q.load([tl.program_id(0) * BM, 0])
    most = tl.full([BM], -1e30, tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for first in tl.range(0, length, BN, warp_specialize=ROLES):
        most, total, acc = attention_rows(x, k.load([first, 0]), v.load([first, 0]), most, total, acc,
                                          rows, first + tl.arange(0, BN), scale, False)
    out.store([tl.program_id(0) * BM, 0], acc / total[:, None])


@triton.jit
def attention_backward(q, k, v, dout, lse, delta, dq, dk, dv, length, scale, D: tl.constexpr,
                       BM: tl.constexpr, BN: tl.constexpr):
    """One block of keys a program: dK and dV in registers, dQ by atomics. scale has log2 e in it."""
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, D)
    kb = tl.load(k + columns[:, None] * D + d[None, :])
    vb = tl.load(v + columns[:, None] * D + d[None, :])
    sum_k = tl.zeros([BN, D], tl.float32)
    sum_v = tl.zeros([BN, D], tl.float32)
    for first in range(0, length, BM):
        rows = first + tl.arange(0, BM)
        x = tl.load(q + rows[:, None] * D + d[None, :])
        g = tl.load(dout + rows[:, None] * D + d[None, :])
        p = tl.exp2(tl.dot(x, kb.T) * scale - tl.load(lse + rows)[:, None])
        sum_v = tl.dot(p.to(g.dtype).T, g, sum_v)
        ds = p * (tl.dot(g, vb.T) - tl.load(delta + rows)[:, None])
        ds = ds.to(x.dtype)
        sum_k = tl.dot(ds.T, x, sum_k)
        tl.atomic_add(dq + rows[:, None] * D + d[None, :], tl.dot(ds, kb), sem="relaxed")
    tl.store(dk + columns[:, None] * D + d[None, :], sum_k)
    tl.store(dv + columns[:, None] * D + d[None, :], sum_v)


@triton.jit
def histogram(x, bins, taken, order, n, BLOCK: tl.constexpr):
    """Atomics: add to bins, take a ticket, a lock by compare and swap around a sum."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(bins + v, 1, mask=at < n)
    ticket = tl.atomic_add(taken, 1)
    tl.store(order + ticket, tl.program_id(0))
    while tl.atomic_cas(taken + 1, 0, 1) == 1:
        pass
    old = tl.load(taken + 2)
    tl.store(taken + 2, old + tl.sum(tl.where(at < n, v, 0), 0))
    tl.debug_barrier()
    tl.atomic_xchg(taken + 1, 0)
    tl.atomic_max(taken + 3, tl.max(v, 0))
