// SPDX-License-Identifier: Apache-2.0
// The dialect, its types and attributes.
#ifndef TILE_DIALECT_TD
#define TILE_DIALECT_TD
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::act::tile";
  let summary = "Kernels written in blocks";
  let description = [{
    A kernel is upstream's `gpu.func ... kernel`. One instance of it, a program,
    works on whole blocks. Values are ranked static tensors, `arith` and `math`
    act on them element by element, and `scf` provides control flow. This
    dialect adds the rest: memory, dots, reductions, shapes and the grid.

    ```mlir
    gpu.module @kernels {
      gpu.func @double(%x: !tile.view<1000xf32>) kernel attributes {tile.schedule = #tile.schedule<warps = 4>} {
        %c256 = arith.constant 256 : index
        %p = tile.program_id x
        %i = arith.muli %p, %c256 : index
        %a = tile.load %x[%i : 256] : !tile.view<1000xf32>
        %b = arith.addf %a, %a : tensor<256xf32>
        tile.store %b, %x[%i : 256] : !tile.view<1000xf32>
        gpu.return
      }
    }
    ```

    The compiler masks a block that crosses the edge of a view: elements
    outside read as padding and are not written. Tensors of rank 0 do not exist.
    A load without block dimensions and a reduction of the last dimension give
    scalars (`index`, integers, floats).

    A kernel's arguments are views of static size without strides, pointers,
    integers, floats and `index` (64 bits). Attributes of a kernel:

    - `tile.schedule`: how a program is spread over the machine;
    - `tile.grid`, optional: the number of programs, as in
      `tile.grid = array<i64: 4, 1, 1>`;
    - `tile.index_bits = 32`: all `index` arithmetic fits in 32 bits, and the
      generated code relies on it;
    - `tile.shared_bytes`: the shared memory of a program;
    - `tile.shift_turns`: programs that take turns in a loop may start at different
      places of it (`--tile-shift-turns`), and then `tile.at_once`: so many programs
      with consecutive tickets wait for each other, and a launch needs a card that
      runs them all at once;
    - `tile.tensor_maps`: what a launch passes behind the arguments
      (`#tile.tensor_map`).

    Generated kernels also record what they do and what they were planned for:
    `tile.ops`, `tile.shapes`, `tile.useful_flops`, `tile.least_bytes`,
    `tile.planned_bytes` (of shared memory). Inside of kernels, exponentials may
    have a `tile.exponent_scale` (`--tile-choose-rounding`).
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

class Tile_Type<string n, string m, list<Trait> t = []> : TypeDef<Tile_Dialect, n, t> {
  let mnemonic = m;
}
class Tile_Attr<string n, string m, list<Trait> t = []> : AttrDef<Tile_Dialect, n, t> {
  let mnemonic = m;
}

def Tile_ViewType : Tile_Type<"View", "view"> {
  let summary = "a tensor in global memory: pointer, sizes, strides";
  let description = [{
    Sizes and strides count elements; `?` is known only at run time. Without
    strides the elements are dense in row-major order. A view of static size
    without strides may be a kernel argument, passed as one pointer. An op makes
    every other view.

    Example: `!tile.view<4096x128xbf16>`, `!tile.view<?x128xbf16, strides = [256, 1]>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        OptionalArrayRefParameter<"int64_t">:$strides);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let skipDefaultBuilders = 1;
  // Row-major strides are left out, so that equal views have equal types.
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
      CArg<"::llvm::ArrayRef<int64_t>", "{}">:$strides), [{
      if (strides.equals(::act::tile::rowMajorStrides(shape)) &&
          !::llvm::is_contained(strides, ::mlir::ShapedType::kDynamic))
        strides = {};
      return $_get(elementType.getContext(), shape, elementType, strides);
    }]>];
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    bool hasStaticShape() const {
      return !::llvm::is_contained(getShape(), ::mlir::ShapedType::kDynamic);
    }
    /// Dense in row-major order, whatever the sizes are.
    bool isRowMajor() const { return getStrides().empty(); }
    /// One stride per dimension; kDynamic where it is known only at run time.
    ::llvm::SmallVector<int64_t> getFullStrides() const {
      return isRowMajor() ? ::act::tile::rowMajorStrides(getShape())
                          : ::llvm::to_vector(getStrides());
    }
    /// May be an argument of a kernel.
    bool isPlain() const { return hasStaticShape() && isRowMajor(); }
  }];
}

def Tile_PtrType : Tile_Type<"Ptr", "ptr"> {
  let summary = "a pointer to global memory";
  let description = [{
    A kernel argument. `tile.view` makes views of it, with sizes and strides
    known at run time.

    Example: `!tile.ptr<bf16>`
  }];
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
  let genVerifyDecl = 1;
}

def Tile_SharedLayoutAttr : Tile_Attr<"SharedLayout", "shared"> {
  let summary = "the layout of a block in shared memory";
  let description = [{
    The columns of a block (its last dimension, in bytes) are cut from the left
    into panels of `swizzle` bytes. The rest is cut into panels of half that
    size, and so on down to 16. Each panel is stored as [rows][panel]. Inside a
    panel, 16-byte chunk c of row r is stored at chunk

        c ^ (r & 7)         in a panel of 128 bytes
        c ^ ((r >> 1) & 3)  in one of 64
        c ^ ((r >> 2) & 1)  in one of 32

    so that `ldmatrix`, which reads one chunk of eight consecutive rows, finds
    them in different banks. 80 columns of bf16 make a panel of 64 columns and
    one of 16. With `swizzle = 0` the block is dense in row-major order.

    `pairs = true` is for elements of 4 bytes and more, where an access takes
    pairs of chunks of four rows. It permutes chunks within aligned lines of 128
    bytes. A line is one row of a panel of 128 bytes, two of 64 or four of 32.
    With the bits r0, r1, r2 of the row, chunk c of the line is stored at

        c ^ 2 r0 ^ 4 r1 ^ 3 r2  in a panel of 128 bytes
        c ^ 2 r1 ^ 5 r2         in one of 64
        c ^ 3 r2                in one of 32

    `transposed = true` swaps the last two dimensions: the columns of the block
    are the rows that are stored. Only `tile.shared_view` makes such memory.

    Example: `#tile.shared<swizzle = 128>`
  }];
  let parameters = (ins "int64_t":$swizzle, DefaultValuedParameter<"bool", "false">:$pairs,
                        DefaultValuedParameter<"bool", "false">:$transposed);
  let builders = [AttrBuilder<(ins "int64_t":$swizzle, CArg<"bool", "false">:$pairs), [{
    return $_get($_ctxt, swizzle, pairs, /*transposed=*/false);
  }]>];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_SharedType : Tile_Type<"Shared", "shared"> {
  let summary = "blocks in shared memory";
  let description = [{
    The last two dimensions are a block. The attribute gives its layout; without
    one the block is dense. Leading dimensions count blocks, such as the slots of
    a ring.

    Example: `!tile.shared<2x64x128xbf16, #tile.shared<swizzle = 128>>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType,
                        OptionalParameter<"::act::tile::SharedLayoutAttr">:$layout);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
      CArg<"::act::tile::SharedLayoutAttr", "{}">:$layout), [{
      return $_get(elementType.getContext(), shape, elementType, layout);
    }]>];
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    int64_t getNumElements() const { return ::llvm::product_of(getShape()); }
    /// Whether the last two dimensions are stored in the other order.
    bool isTransposed() const { return getLayout() && getLayout().getTransposed(); }
  }];
}

def Tile_PendingType : Tile_Type<"Pending", "pending"> {
  let summary = "the sum of a product that may still be computed";
  let description = [{
    What `tile.dot_async` gives. It can be the accumulator of a further product, or
    be passed on by a loop; nothing else reads it. `tile.dot_result` waits for the
    block.

    Example: `!tile.pending<tensor<128x256xf32>>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$block);
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::RankedTensorType":$block), [{
    return $_get(block.getContext(), block);
  }]>];
  let assemblyFormat = "`<` $block `>`";
}

def Tile_ScheduleAttr : Tile_Attr<"Schedule", "schedule"> {
  let summary = "how a program is spread over the machine";
  let description = [{
    `warps` warps of 32 threads run one program. Loads that feed dots in a loop
    are issued `stages` - 1 iterations ahead. This is the attribute
    `tile.schedule` of a kernel; without it the defaults apply.

    A GPU starts programs in the order of their numbers, x fastest, and programs
    that run at once share a cache. `raster = 8x32` changes which program has
    which number, but nothing that a program can query. With rows of 32 programs,
    8 rows start together: the first program of each, then the second of each,
    and so on. In a matrix product, the programs that run at once then need the
    rows of 8 blocks and a few columns, instead of one block's rows and many
    columns. A row counts the numbers along x and y together; the last group may
    have fewer rows.

    `roles = {copy = 1}` adds one warp that only copies the operands of dots in
    loops; the `warps` warps compute. The copy warp runs up to `stages` blocks of
    each operand ahead. It waits for no barrier of the compute warps, and their
    loops do not copy these blocks. This takes more shared memory, as the copy
    warp has its own rings.

    `groups = 2` in place of `warps = 8` makes the warps work in groups of four,
    which multiply together where the target can (`wgmma`); elsewhere it is the same
    as 8 warps, with a warning. Then `roles` may also say how many registers a thread of each role
    has, where the copy warps are whole groups: `roles = {copy = 4 at 40, compute at
    232}`.

    `store = 1` among the roles adds a warp that adds to memory for the others
    (--tile-assign-stores): where a loop adds a block to a view, in turn or not,
    threads leave the block in shared memory and go on. One thread waits for the
    turn, lets the copy engine add the block, and passes the turn. The warp has the
    registers of the copying ones: `roles = {copy = 3 at 24, store = 1, compute at
    240}`.

    `early`, with one stage, gives each operand of a loop with several products a
    place of its own: a block is copied as soon as all have read the one before,
    beside the other products. It takes less memory than two stages, and one more
    barrier for each product.

    `ahead` fetches an iteration's first fragments of operands while the last
    products of the one before run, behind a barrier that stands in front of these
    (--tile-fetch-ahead). Warps wait less, and have a few more registers to hold.
    It needs warps, and no roles.

    `a = registers` lets warp groups read the first operands of their products from
    registers, also those that are loaded, and `a = shared` from shared memory, also
    those that are computed. Without it, each comes from where it is: loaded blocks
    from shared memory, computed ones from registers. It needs groups.

    `rotated` lets a product of the next iteration run beside what this one computes
    between two of its products, in loops whose operands a copying warp loads: the
    loop carries the second product's computed operand (--tile-rotate-loops). It
    needs groups, and roles.

    `turns` lets the groups start a loop's products one after the other, in turn
    (--tile-take-turns): while one group's products run, another one computes what
    follows its own. It needs two groups or more, and roles.

    `persistent` makes a launch start as many programs as run at once. Each does
    the work of several of the grid's, in the order of the raster, and the copying
    warps begin the next one's while the others store this one's results
    (--tile-make-persistent). The kernel needs a `tile.grid`, and a launch may have
    any number of programs, up to all of the grid's, along x.

    `cluster = 2` makes programs that a launch starts next to each other, along x,
    a cluster: 2, 4 or 8. A block that all of them copy in the same iteration is
    read once: each copies a part of its rows to the memory of all
    (--tile-assign-roles). The number of programs along x must be a multiple, and of
    a persistent kernel that of all programs. It needs roles, and a target with
    tensor maps; elsewhere, and where the programs have no block in common, there
    are no clusters.

    Example: `#tile.schedule<warps = 4, stages = 3, raster = 8x32>`,
    `#tile.schedule<warps = 4, stages = 1, early>`,
    `#tile.schedule<warps = 4, stages = 2, ahead>`,
    `#tile.schedule<warps = 4, stages = 3, roles = {copy = 1}>`,
    `#tile.schedule<groups = 2, stages = 4, roles = {copy = 4 at 40, compute at 232}>`,
    `#tile.schedule<groups = 2, stages = 2, roles = {copy = 3 at 24, store = 1, compute at 240}>`,
    `#tile.schedule<groups = 2, stages = 2, a = registers, roles = {copy = 4 at 40, compute at 232}>`,
    `#tile.schedule<groups = 2, stages = 2, rotated, roles = {copy = 4 at 40, compute at 232}>`,
    `#tile.schedule<groups = 2, stages = 2, rotated, turns, roles = {copy = 4 at 40, compute at 232}>`,
    `#tile.schedule<groups = 2, stages = 4, persistent, roles = {copy = 4 at 40, compute at 232}>`,
    `#tile.schedule<groups = 2, stages = 4, persistent, cluster = 2, roles = {copy = 4 at 40, compute at 232}>`
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "4">:$warps,
                        DefaultValuedParameter<"int64_t", "2">:$stages,
                        OptionalArrayRefParameter<"int64_t">:$raster,
                        DefaultValuedParameter<"int64_t", "0">:$copyWarps,
                        DefaultValuedParameter<"bool", "false">:$inGroups,
                        DefaultValuedParameter<"int64_t", "0">:$copyRegisters,
                        DefaultValuedParameter<"int64_t", "0">:$computeRegisters,
                        DefaultValuedParameter<"bool", "false">:$rotated,
                        DefaultValuedParameter<"bool", "false">:$persistent,
                        DefaultValuedParameter<"bool", "false">:$turns,
                        DefaultValuedParameter<"int64_t", "0">:$storeWarps,
                        DefaultValuedParameter<"int64_t", "1">:$cluster,
                        DefaultValuedParameter<"FirstOperand", "FirstOperand::WhereItIs">:$a,
                        DefaultValuedParameter<"bool", "false">:$early,
                        DefaultValuedParameter<"bool", "false">:$ahead);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "int64_t":$warps, "int64_t":$stages,
      CArg<"::llvm::ArrayRef<int64_t>", "{}">:$raster, CArg<"int64_t", "0">:$copyWarps), [{
    return $_get($_ctxt, warps, stages, raster, copyWarps, /*inGroups=*/false,
                 /*copyRegisters=*/0, /*computeRegisters=*/0, /*rotated=*/false,
                 /*persistent=*/false, /*turns=*/false, /*storeWarps=*/0,
                 /*cluster=*/1, FirstOperand::WhereItIs, /*early=*/false,
                 /*ahead=*/false);
  }]>];
  let extraClassDeclaration = [{
    /// Warps that multiply together, threads of them, and rows of a sum that an
    /// instruction of theirs computes.
    static constexpr int64_t groupWarps = 4, groupThreads = 128, groupRows = 64;
    /// All threads of a program, in any role.
    int64_t getThreads() const {
      return 32 * (getWarps() + getCopyWarps() + getStoreWarps());
    }
    /// Registers that a thread has at the start, of a file of so many: a multiple
    /// of 8.
    int64_t getEntryRegisters(int64_t file) const;
    /// The same schedule in which all warps compute.
    ScheduleAttr withoutRoles() const;
    /// The same schedule, with the storing warp among those that copy.
    ScheduleAttr withoutStores() const;
    /// The same schedule, with a loop's products in one iteration.
    ScheduleAttr withoutRotation() const;
    /// The same schedule, with groups that start products when they can.
    ScheduleAttr withoutTurns() const;
    /// The same schedule, with blocks that are copied when they are needed.
    ScheduleAttr withoutEarly() const;
    /// The same schedule, with fragments that are fetched when they are needed.
    ScheduleAttr withoutAhead() const;
    /// The same schedule, with programs in the order of their numbers.
    ScheduleAttr withoutRaster() const;
    /// The same schedule, with each program on its own.
    ScheduleAttr withoutCluster() const;
  }];
}

def Tile_GridAttr : Tile_Attr<"Grid", "grid"> {
  let summary = "a grid that follows from block sizes";
  let description = [{
    One to three axes, each a product of numbers. `200/M` is the number of blocks
    of M that cover 200; M is a block size of the kernel (`tile.block_sizes`).
    This replaces the numbers in a kernel's attribute `tile.grid`.

    Example: `#tile.grid<32 * 200/M, 160/N>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$numbers,
                        ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// x, y and z with these block sizes: numbers by name. Empty where one is
    /// missing, or where the product does not fit in 64 bits.
    ::llvm::SmallVector<int64_t> resolve(::mlir::DictionaryAttr sizes) const;
  }];
}

def Tile_TensorMapAttr : Tile_Attr<"TensorMap", "tensor_map"> {
  let summary = "what a launch tells the copy engine about an argument";
  let description = [{
    Kernels whose code copies by tensor maps (TMA) list them in
    `tile.tensor_maps`; each is a parameter of 128 bytes behind the kernel's own.
    `sizes` (in elements), `strides` (in bytes) and `box` (in elements) begin with the innermost dimension. `swizzle` is 0, 32, 64 or
    128 bytes.

    Example: `#tile.tensor_map<argument = 0, element = bf16, sizes = [4096, 512], strides = [2, 8192], box = [64, 128], swizzle = 128>`
  }];
  let parameters = (ins "int64_t":$argument, "::mlir::Type":$element,
    ArrayRefParameter<"int64_t">:$sizes, ArrayRefParameter<"int64_t">:$strides,
    ArrayRefParameter<"int64_t">:$box, "int64_t":$swizzle);
  let assemblyFormat = [{
    `<` `argument` `=` $argument `,` `element` `=` $element `,` `sizes` `=` `[` $sizes `]` `,`
    `strides` `=` `[` $strides `]` `,` `box` `=` `[` $box `]` `,` `swizzle` `=` $swizzle `>`
  }];
  let genVerifyDecl = 1;
}

def Tile_DigitAttr : Tile_Attr<"Digit", "digit"> {
  let summary = "one digit of a layout";
  let description = [{
    A number below `extent`. Adding one to it moves by `strides`, one stride per
    dimension of the block. If all strides are 0, the digit counts copies.
    Written inside `#tile.layout`.

    Example: `#tile.digit<2:(0,1)>`
  }];
  let parameters = (ins "int64_t":$extent, ArrayRefParameter<"int64_t">:$strides);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isCopy() const {
      return ::llvm::all_of(getStrides(), [](int64_t s) { return s == 0; });
    }
  }];
}

def Tile_LayoutAttr : Tile_Attr<"Layout", "layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "which thread holds which elements of a block";
  let description = [{
    The encoding of a tensor type. Registers, the lanes of a warp and the warps of
    a program are numbered. Each number is written in a mixed radix,
    `extent:(strides)` per digit, first digit fastest. Register r of lane l of
    warp w holds the element at the sum of digit times strides over all three
    numbers. The sums cover the block exactly once, except that digits whose
    strides are all 0 hold copies. The extents of the lane digits multiply to 32.
    `act/Layout/Distributed.h` computes with layouts.

    Extents need not be powers of two: 80 columns are `10:(0,8)` of `4:(0,2)` of
    `2:(0,1)`.

    Example: the accumulator of mma m16n8k16 on a block of 64x8, four warps:
    `#tile.layout<register = [2:(0,1), 2:(8,0)], lane = [4:(0,2), 8:(1,0)], warp = [4:(16,0)]>`
  }];
  let parameters = (ins OptionalArrayRefParameter<"::act::tile::DigitAttr">:$registers,
                        OptionalArrayRefParameter<"::act::tile::DigitAttr">:$lanes,
                        OptionalArrayRefParameter<"::act::tile::DigitAttr">:$warps);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Dimensions of the block.
    int64_t getRank() const;
    /// Registers of one thread, copies counted.
    int64_t getNumRegisters() const;
    int64_t getNumLanes() const;
    int64_t getNumWarps() const;
    /// The layout as a function, for a block of this shape; a message where it
    /// does not fit.
    ::act::Result<::act::layout::Distributed>
    getDistributed(::llvm::ArrayRef<int64_t> shape) const;
    static LayoutAttr get(::mlir::MLIRContext *context,
                          const ::act::layout::Distributed &layout);
  }];
}

def Tile_FirstOperand : I32EnumAttr<"FirstOperand", "where warp groups read first operands", [
  I32EnumAttrCase<"WhereItIs", 0, "where_it_is">, I32EnumAttrCase<"Registers", 1, "registers">,
  I32EnumAttrCase<"Shared", 2, "shared">]> {
  let cppNamespace = "::act::tile";
  let genSpecializedAttr = 0;
}

def Tile_GridAxis : I32EnumAttr<"GridAxis", "an axis of the grid", [
  I32EnumAttrCase<"X", 0, "x">, I32EnumAttrCase<"Y", 1, "y">,
  I32EnumAttrCase<"Z", 2, "z">]> {
  let cppNamespace = "::act::tile";
  let genSpecializedAttr = 0;
}
def Tile_GridAxisAttr : EnumAttr<Tile_Dialect, Tile_GridAxis, "axis"> {
  let assemblyFormat = "$value";
}

def Tile_CombineKind : I32EnumAttr<"CombineKind", "how two elements become one", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Mul", 3, "mul">,
  I32EnumAttrCase<"And", 4, "and">, I32EnumAttrCase<"Or", 5, "or">]> {
  let cppNamespace = "::act::tile";
  let genSpecializedAttr = 0;
}
def Tile_CombineKindAttr : EnumAttr<Tile_Dialect, Tile_CombineKind, "combine"> {
  let assemblyFormat = "$value";
}

def Tile_DotPrecision : I32EnumAttr<"DotPrecision", "how a dot of f32 blocks multiplies", [
  I32EnumAttrCase<"IEEE", 0, "ieee">, I32EnumAttrCase<"TF32", 1, "tf32">,
  I32EnumAttrCase<"BF16x3", 2, "bf16x3">]> {
  let cppNamespace = "::act::tile";
  let genSpecializedAttr = 0;
}
def Tile_DotPrecisionAttr : EnumAttr<Tile_Dialect, Tile_DotPrecision, "precision"> {
  let assemblyFormat = "$value";
}

def Tile_InstructionKind : I32EnumAttr<"InstructionKind", "an instruction of tensor cores", [
  I32EnumAttrCase<"MmaSync", 0, "mma_sync">, I32EnumAttrCase<"Wgmma", 1, "wgmma">]> {
  let cppNamespace = "::act::tile";
  let genSpecializedAttr = 0;
}

def Tile_InstructionAttr : Tile_Attr<"Instruction", "instruction"> {
  let summary = "the instruction of tensor cores that a dot becomes";
  let description = [{
    One instruction multiplies m x k by k x n elements of the type `element`. For
    blocks of f32 that is tf32, or bf16: then each operand is split into a sum of
    `parts` blocks of bf16. `--tile-select-instructions` chooses it by the target.

    `mma_sync` is for one warp, with operands in registers. `wgmma` is for a group
    of four warps; it reads b, and perhaps a, from shared memory, and runs
    asynchronously (`tile.dot_async`).

    Example: `#tile.instruction<mma_sync, m = 16, n = 8, k = 16, element = bf16>`,
    `#tile.instruction<wgmma, m = 64, n = 256, k = 16, element = bf16>`
  }];
  let parameters = (ins EnumParameter<Tile_InstructionKind>:$kind,
    "int64_t":$m, "int64_t":$n, "int64_t":$k, "::mlir::Type":$element,
    DefaultValuedParameter<"int64_t", "1">:$parts);
  let assemblyFormat = "`<` $kind `,` struct($m, $n, $k, $element, $parts) `>`";
  let genVerifyDecl = 1;
}
#endif
