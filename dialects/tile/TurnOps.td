// SPDX-License-Identifier: Apache-2.0
// Programs that take turns: sums over programs in a fixed order.
//
// A number in memory says whose turn it is. Programs that add to the same place
// wait for their turn, add, and pass it on, so the sum is the same bit for bit:
//
//     %p = tile.ticket %t[%c0] : !tile.view<1xi32>      program_id by arrival
//     ...
//     tile.wait_turn %turns[%i], %p : !tile.view<8xi32>
//     tile.atomic_add %part, %sum[%row : 64, %c0 : 128] : !tile.view<512x128xf32>
//     tile.pass_turn %turns[%i] : !tile.view<8xi32>
//
// A waiting program occupies an SM, so it may wait only for programs that have
// begun: those with smaller tickets. Program ids do not guarantee that order.
include "dialects/tile/OpBase.td"

class Tile_TurnOp<string mnemonic, list<Trait> traits = []> : Tile_Op<mnemonic, traits # [
    MemoryEffects<[MemRead<Tile_GlobalMemory>, MemWrite<Tile_GlobalMemory>]>]> {
  let hasVerifier = 1;
}

def Tile_TicketOp : Tile_TurnOp<"ticket", [NamesResults, KnowsRange]> {
  let summary = "counts the programs as they begin";
  let description = [{
    Atomically reads the number at a place of a view and adds one to it. If it is
    0 at launch, each program gets a number of its own, below the number of
    programs, and all programs with smaller numbers have begun.

    Example:
    ```mlir
    %p = tile.ticket %t[%c0] : !tile.view<1xi32>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$indices);
  let results = (outs Index:$result);
  let assemblyFormat = "$view `[` $indices `]` attr-dict `:` qualified(type($view))";
}

def Tile_WaitTurnOp : Tile_TurnOp<"wait_turn"> {
  let summary = "waits until the number at a place equals `turn`";
  let description = [{
    Everything that earlier programs wrote before they passed the turn is visible
    to all threads of this program afterwards.

    Example:
    ```mlir
    tile.wait_turn %turns[%i], %p : !tile.view<8xi32>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$indices, Index:$turn);
  let assemblyFormat = "$view `[` $indices `]` `,` $turn attr-dict `:` qualified(type($view))";
}

def Tile_PassTurnOp : Tile_TurnOp<"pass_turn"> {
  let summary = "adds one to the number at a place";
  let description = [{
    The program adds once, after all earlier work of its threads.

    Example:
    ```mlir
    tile.pass_turn %turns[%i] : !tile.view<8xi32>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<Index>:$indices);
  let assemblyFormat = "$view `[` $indices `]` attr-dict `:` qualified(type($view))";
}
