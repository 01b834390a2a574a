// SPDX-License-Identifier: Apache-2.0
// Warps with roles (warp specialisation). Passes insert these ops; users need not.
//
// Some warps of a program only copy, one may only store, the others compute. They
// synchronise through mbarriers in shared memory, two for each slot of a ring: one
// signals that the slot is full, one that it is empty. Both sides count slots and
// the parity of their rounds in the same way:
//
//     copy                                  compute
//       wait until the slot is empty          wait until the slot is full
//       copy_async into the slot              load_shared, dot
//       arrive_copies: full, once they        arrive: empty
//         are complete
//
// For blocks that a storing warp adds to memory the roles are exchanged:
//
//     compute                               store
//       wait until the slot is empty          wait until the slot is full
//       store_shared, fence_shared            reduce_bulk, wait_stores
//       arrive: full                          arrive: empty
//
// A wait names the round whose end it waits for by its parity, 0 for the first
// one. Round -1 counts as ended, so a ring begins empty, and the copy warps wait
// for the other parity.
include "dialects/tile/OpBase.td"

def Tile_RolesOp : Tile_Op<"roles", [NoTerminator, RecursiveMemoryEffects]> {
  let summary = "separate code for warps that compute, copy and store";
  let description = [{
    The last op of a kernel before its return, but for a `cluster_barrier`. All
    warps run the code before it, which has no blocks. A `barrier` in a role
    synchronises only that role's warps. One thread does all the work of the role
    `store`, if there is some; the schedule has a warp for it.

    Example:
    ```mlir
    tile.roles compute {
      tile.mbarrier_wait %full[%c0] parity %even : !tile.shared<2xi64>
      tile.mbarrier_arrive %empty[%c0] : !tile.shared<2xi64>
    } copy {
      tile.mbarrier_wait %empty[%c0] parity %odd : !tile.shared<2xi64>
      tile.mbarrier_arrive_copies %full[%c0] : !tile.shared<2xi64>
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$compute, SizedRegion<1>:$copy,
                        MaxSizedRegion<1>:$store);
  let assemblyFormat = "`compute` $compute `copy` $copy (`store` $store^)? attr-dict";
  let hasVerifier = 1;
}

class Tile_GroupTurnOp<string mnemonic> : Tile_Op<mnemonic, [
    MemoryEffects<[MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_AwaitGroupTurnOp : Tile_GroupTurnOp<"await_group_turn"> {
  let summary = "each warp group waits for its turn";
  let description = [{
    Groups take turns in the order of their numbers, the first one first. All must
    go through the same turns: between this op and `pass_group_turn` one group runs
    at a time. That op follows in the same block, with no barrier before it. Only
    the computing warps of a kernel with roles and two groups or more have turns.

    Example:
    ```mlir
    tile.await_group_turn
    ```
  }];
}

def Tile_PassGroupTurnOp : Tile_GroupTurnOp<"pass_group_turn"> {
  let summary = "gives the turn to the next warp group";
  let description = [{
    Does not wait for anything.

    Example:
    ```mlir
    tile.pass_group_turn
    ```
  }];
}

class Tile_MbarrierOp<string mnemonic> : Tile_Op<mnemonic, [
    MemoryEffects<[MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let hasVerifier = 1;
}

def Tile_MbarrierInitOp : Tile_MbarrierOp<"mbarrier_init"> {
  let summary = "initialises mbarriers in shared memory";
  let description = [{
    Each mbarrier waits for `arrivals` arrivals a round. A `barrier` must separate
    this op from their first use, and a `cluster_barrier` if other programs use them.

    Example:
    ```mlir
    tile.mbarrier_init %full, 32 : !tile.shared<2xi64>
    ```
  }];
  let arguments = (ins Tile_SharedType:$shared, I64Attr:$arrivals);
  let assemblyFormat = "$shared `,` $arrivals attr-dict `:` qualified(type($shared))";
}

def Tile_MbarrierArriveOp : Tile_MbarrierOp<"mbarrier_arrive"> {
  let summary = "each warp arrives at an mbarrier";
  let description = [{
    Each warp that executes it arrives once, after all earlier reads and writes of
    its threads. In the role `store`, its one thread does. With `cluster` it arrives
    in every program of the cluster, at the mbarrier in the same place.

    Example:
    ```mlir
    tile.mbarrier_arrive %empty[%slot] : !tile.shared<2xi64>
    tile.mbarrier_arrive %empty[%slot] cluster : !tile.shared<2xi64>
    ```
  }];
  let arguments = (ins Tile_SharedType:$shared, Index:$slot, UnitAttr:$cluster);
  let assemblyFormat = "$shared `[` $slot `]` (`cluster` $cluster^)? attr-dict `:` qualified(type($shared))";
}

def Tile_MbarrierArriveCopiesOp : Tile_MbarrierOp<"mbarrier_arrive_copies"> {
  let summary = "each thread's copies so far arrive at an mbarrier";
  let description = [{
    Each thread that executes it arrives once, when the copies that it has started
    are complete. The op does not wait for them.

    Example:
    ```mlir
    tile.mbarrier_arrive_copies %full[%slot] : !tile.shared<2xi64>
    ```
  }];
  let arguments = (ins Tile_SharedType:$shared, Index:$slot);
  let assemblyFormat = "$shared `[` $slot `]` attr-dict `:` qualified(type($shared))";
}

def Tile_MbarrierExpectOp : Tile_MbarrierOp<"mbarrier_expect"> {
  let summary = "arrives at an mbarrier, which then waits for bytes too";
  let description = [{
    One thread arrives once. The round ends when all arrivals and `bytes` bytes of
    copies by tensor maps are there.

    Example:
    ```mlir
    tile.mbarrier_expect %full[%slot] bytes 49152 : !tile.shared<2xi64>
    ```
  }];
  let arguments = (ins Tile_SharedType:$shared, Index:$slot, I64Attr:$bytes);
  let assemblyFormat = "$shared `[` $slot `]` `bytes` $bytes attr-dict `:` qualified(type($shared))";
}

def Tile_MbarrierWaitOp : Tile_MbarrierOp<"mbarrier_wait"> {
  let summary = "waits for the end of a round of an mbarrier";
  let description = [{
    Returns once the latest round of this parity (0, 2, ... or 1, 3, ...) that the
    mbarrier is in, or has just left, is complete. Memory accesses before its
    arrivals are visible from then on: with `cluster`, those of all programs of the
    cluster.

    Example:
    ```mlir
    tile.mbarrier_wait %full[%slot] parity %round : !tile.shared<2xi64>
    tile.mbarrier_wait %empty[%slot] parity %round cluster : !tile.shared<2xi64>
    ```
  }];
  let arguments = (ins Tile_SharedType:$shared, Index:$slot, I32:$parity, UnitAttr:$cluster);
  let assemblyFormat = "$shared `[` $slot `]` `parity` $parity (`cluster` $cluster^)? attr-dict `:` qualified(type($shared))";
}

def Tile_ClusterBarrierOp : Tile_Op<"cluster_barrier", [MemoryEffects<[
    MemRead<Tile_GlobalMemory>, MemWrite<Tile_GlobalMemory>,
    MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let summary = "waits for all threads of the cluster's programs";
  let description = [{
    Writes by any of them before the barrier are visible to all of them after it. It
    stands in the body of a kernel whose schedule has clusters: before `roles` that
    copy to other programs or signal them, so that these have begun and initialised
    their mbarriers, and after it, so that none has ended.

    Example:
    ```mlir
    tile.cluster_barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}
