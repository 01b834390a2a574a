// SPDX-License-Identifier: Apache-2.0
// Warps with roles, which passes put into a kernel and people need not.
//
// Some warps of a program only copy, the others compute. They meet at numbers in
// shared memory, mbarriers: one says that a slot of a ring is full, one that it
// is empty. Both sides count slots, and the parity of their rounds, alike:
//
//     copy                                  compute
//       wait until the slot is empty          wait until the slot is full
//       copy_async into the slot              load_shared, dot
//       arrive_copies: full, once they        arrive: empty
//         are complete
//
// A wait asks for the end of a round by its parity, 0 for the first one. The end
// of round -1 is taken for granted, so a ring begins empty: who copies waits for
// the other parity.
include "dialects/tile/OpBase.td"

def Tile_RolesOp : Tile_Op<"roles", [NoTerminator, RecursiveMemoryEffects]> {
  let summary = "what the warps that compute do, and what those that copy do";
  let description = [{
    The last op of a kernel in front of its return. What stands in front of it is
    done by all warps, and has no blocks. A `barrier` in a role is one of that
    role's warps.

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
  let regions = (region SizedRegion<1>:$compute, SizedRegion<1>:$copy);
  let assemblyFormat = "`compute` $compute `copy` $copy attr-dict";
  let hasVerifier = 1;
}

class Tile_MbarrierOp<string mnemonic> : Tile_Op<mnemonic, [
    MemoryEffects<[MemRead<Tile_SharedMemory>, MemWrite<Tile_SharedMemory>]>]> {
  let hasVerifier = 1;
}

def Tile_MbarrierInitOp : Tile_MbarrierOp<"mbarrier_init"> {
  let summary = "makes mbarriers of shared memory";
  let description = [{
    Each waits for `arrivals` arrivals a round. A `barrier` must stand between
    this and their first use.

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
    One arrival of each warp that does it, for all that its threads have read and
    written before.

    Example:
    ```mlir
    tile.mbarrier_arrive %empty[%slot] : !tile.shared<2xi64>
    ```
  }];
  let arguments = (ins Tile_SharedType:$shared, Index:$slot);
  let assemblyFormat = "$shared `[` $slot `]` attr-dict `:` qualified(type($shared))";
}

def Tile_MbarrierArriveCopiesOp : Tile_MbarrierOp<"mbarrier_arrive_copies"> {
  let summary = "each thread's copies so far arrive at an mbarrier";
  let description = [{
    One arrival of each thread that does it, when the copies that it has started
    are complete. It does not wait for them.

    Example:
    ```mlir
    tile.mbarrier_arrive_copies %full[%slot] : !tile.shared<2xi64>
    ```
  }];
  let arguments = (ins Tile_SharedType:$shared, Index:$slot);
  let assemblyFormat = "$shared `[` $slot `]` attr-dict `:` qualified(type($shared))";
}

def Tile_MbarrierWaitOp : Tile_MbarrierOp<"mbarrier_wait"> {
  let summary = "waits for the end of a round of an mbarrier";
  let description = [{
    Returns once the latest round of this parity (0, 2, ... or 1, 3, ...) that the
    mbarrier is in, or has just been in, is complete. What was done before its
    arrivals is visible then.

    Example:
    ```mlir
    tile.mbarrier_wait %full[%slot] parity %round : !tile.shared<2xi64>
    ```
  }];
  let arguments = (ins Tile_SharedType:$shared, Index:$slot, I32:$parity);
  let assemblyFormat = "$shared `[` $slot `]` `parity` $parity attr-dict `:` qualified(type($shared))";
}
