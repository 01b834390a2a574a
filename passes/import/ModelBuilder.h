// SPDX-License-Identifier: Apache-2.0
//
// Building blocks of the model families: types from letters, parameters that
// are declared on first use, and the compound steps that families share. Every
// value carries a name, which the printer uses.
#ifndef ACT_PASSES_IMPORT_MODELBUILDER_H
#define ACT_PASSES_IMPORT_MODELBUILDER_H
#include "dialects/act/Types.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/import/ImportOptions.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace act {

/// A value with its argument name.
struct Named {
  std::string name;
  mlir::Value value;
};

/// Which keys a query may see.
struct Visible {
  bool causal = false;
  std::optional<int64_t> window;
};

/// How the weights of the layers' linear ops are quantised.
struct LinearQuantization {
  bool nested = false;
  /// Paths of layerLinears() that the config excludes.
  std::vector<std::string> skipped;
};

class ModelBuilder {
public:
  /// `options` have passed checkOptions().
  ModelBuilder(const hf::ModelConfig &config, const ImportOptions &options,
               mlir::MLIRContext *context);

  const hf::ModelConfig &config;
  const ImportOptions &options;
  mlir::OpBuilder b;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  // Types. A dimension is a monomial of letters: "h", "3*a*d".
  RankedTensorType type(llvm::ArrayRef<llvm::StringRef> dims,
                        mlir::Type element = {});
  /// The token dimensions, [b, s] or packed [t], followed by `dims`.
  RankedTensorType perToken(llvm::ArrayRef<llvm::StringRef> dims,
                            mlir::Type element = {});
  /// The letter of the dimension that positions index.
  llvm::StringRef sequence() const { return flat() ? "t" : "s"; }
  /// Whether the tokens of all rows are one dimension.
  bool flat() const { return options.packed || options.cache; }
  /// The letter that counts key and value heads.
  llvm::StringRef kvHeads() const {
    return config.kvHeads == config.heads ? "a" : "k";
  }
  mlir::Location at(llvm::StringRef name);

  // Functions.
  /// Starts @forward; its arguments are named inputs.
  void beginForward();
  /// Names of `trained` and patterns of `frozen` that no parameter has.
  std::vector<std::string> unmatched() const;
  /// Ends @forward with its result and the stacks that its layers return.
  void endForward(llvm::StringRef name, mlir::Value result);
  /// Starts a function of so many layers after the existing ones. Its arguments
  /// are x, the shared values, and with a cache each layer's keys and values of
  /// earlier tokens; shared() then returns these arguments.
  mlir::Value beginLayer(llvm::StringRef name, int64_t layers = 1);
  /// With `kvCache` or a cache the function also returns each layer's key and
  /// value, which its attention() has seen.
  void endLayer(mlir::Value result);
  /// Runs layers `from` to `from + count - 1`. Their results other than x
  /// become stacked results of @forward.
  mlir::Value repeat(llvm::StringRef callee, llvm::StringRef letter,
                     int64_t from, int64_t count, mlir::Value x);
  /// Makes a value of @forward visible to layers, as an argument.
  void share(llvm::StringRef name, mlir::Value value);
  mlir::Value shared(llvm::StringRef name) const;
  mlir::Value tokens, labels; // of @forward; no labels in mode infer

  // Parameters.
  mlir::Value parameter(llvm::StringRef symbol, const llvm::Twine &hfName,
                        llvm::ArrayRef<llvm::StringRef> dims,
                        InitKind init = InitKind::Normal,
                        llvm::ArrayRef<std::string> tied = {});

  // Computation.
  /// Rows of `table`. If `padded`, the row of the config's padding token gets
  /// no gradient.
  mlir::Value embedding(llvm::StringRef name, mlir::Value table,
                        mlir::Value ids, bool padded = false);
  /// A linear op of a layer; only here do LoRA and nf4 apply. `path` is one of
  /// layerLinears(), `symbol` names its weight and `name` the result.
  mlir::Value linear(llvm::StringRef name, llvm::StringRef symbol,
                     llvm::StringRef path, mlir::Value x, bool bias);
  /// `x` W^T + bias with a plain weight.
  mlir::Value plainLinear(llvm::StringRef name, mlir::Value x,
                          mlir::Value weight, mlir::Value bias,
                          llvm::StringRef out);
  /// A norm of x [.., dim].
  mlir::Value rmsNorm(llvm::StringRef symbol, const llvm::Twine &path,
                      mlir::Value x, llvm::StringRef dim = "h");
  /// cap * tanh(x / cap), or x without a cap.
  mlir::Value softcap(llvm::StringRef name, mlir::Value x,
                      std::optional<double> cap);
  mlir::Value layerNorm(llvm::StringRef symbol, const llvm::Twine &path,
                        mlir::Value x);
  mlir::Value activation(mlir::Value x);
  mlir::Value gated(mlir::Value gate, mlir::Value up);
  mlir::Value add(llvm::StringRef name, mlir::Value x, mlir::Value y);
  /// Returns x when not training or if p is 0. `site` must differ for every
  /// call.
  mlir::Value dropout(llvm::StringRef name, mlir::Value x, double p,
                      int64_t site);
  mlir::Value positions();
  /// [.., heads * d] -> [.., heads, d].
  mlir::Value splitHeads(llvm::StringRef name, mlir::Value x,
                         llvm::StringRef heads);
  /// softmax(q k^T / sqrt(d)) v of [.., heads, d]; the result is [.., a * d].
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v,
                        Visible visible, int64_t dropoutSite);
  /// With a cache only the last token of each row gets logits: those rows of
  /// `x`. Else all of them.
  mlir::Value answered(mlir::Value x);

  /// Ends a model with a vocabulary: with the logits, or the loss.
  void endWithLogits(mlir::Value logits);
  /// The token table of a model whose causal head may be tied to it, and the
  /// end of such a model: hidden states, or the head applied to them.
  mlir::Value causalTable(llvm::StringRef symbol, const llvm::Twine &hfName);
  void endCausal(mlir::Value hidden, mlir::Value table);
  /// The prefix of the bare model's names in a file of a model with a head.
  std::string prefix(llvm::StringRef headed) const;
  /// The prefix of the names of the layer that is built, layerPathOf(config). A
  /// function with several layers says which one is next: `{period l + first}`
  /// of `repetitions`. Their parameters end in `suffix`, and dropout's sites
  /// are apart.
  std::string layerPath;
  void nextLayer(int64_t period, int64_t first, int64_t repetitions,
                 llvm::StringRef suffix);

private:
  mlir::Value visibleMask(Visible visible);
  /// The elements of a block of a layer's keys or values, as a dimension.
  std::string ofBlock() const;
  mlir::Value withCache(llvm::StringRef name, mlir::Value fresh,
                        mlir::Value blocks);
  mlir::Value inOneOperator(mlir::Operation *op);
  struct Declaration {
    InitKind init = InitKind::Normal;
    double deviation = 0;
    bool frozen = false;
    std::vector<std::string> tied;
  };
  mlir::Value declare(llvm::StringRef symbol, const llvm::Twine &hfName,
                      RankedTensorType type, Declaration how);
  bool isFrozen(llvm::StringRef hfName, const Declaration &how);
  mlir::func::FuncOp addFunction(llvm::StringRef name,
                                 llvm::ArrayRef<std::string> names,
                                 llvm::ArrayRef<mlir::Type> types,
                                 mlir::Operation *before);
  mlir::FloatAttr number(double value) { return b.getF64FloatAttr(value); }

  mlir::Type element;
  std::optional<LinearQuantization> quantization;
  llvm::StringMap<int64_t> sizes;
  llvm::StringSet<> symbolic, declared;
  llvm::StringSet<> matched; // of options.trained and options.frozen
  mlir::func::FuncOp forward, layer;
  mlir::OpBuilder::InsertPoint resume; // in @forward, while a layer is built
  std::vector<Named> outer, inner;     // shared values there and in the layer
  std::vector<Named> kept;             // stacks that @forward returns
  std::vector<mlir::Value> returned; // of the layers that are built: key, value
  llvm::StringMap<std::vector<mlir::Type>> cached; // by function: of `returned`
  std::vector<mlir::Value> earlier; // key, value blocks of the layers' caches
  bool perRow = false;              // there is one token of each row
  mlir::Value seed, step;           // of @forward
  llvm::StringMap<mlir::Value> ofForward; // more of its inputs, by name
  mlir::Value layerIndex;
  int64_t repetitions = 0, firstSite = 0;
  std::string suffix; // of the symbols of a layer's parameters
};

/// The letters of a model's dimensions and their sizes, in a readable order.
std::vector<std::pair<std::string, int64_t>>
dimensionLetters(const hf::ModelConfig &config, const ImportOptions &options);

/// A linear op of a layer: its module path, and the letters of its input and
/// output.
struct LayerLinear {
  llvm::StringRef path, in, out;
};
std::vector<LayerLinear> layerLinears(const hf::ModelConfig &config);

/// The prefix of a layer's names in files: "model.layers.{l}.".
std::string layerPathOf(const hf::ModelConfig &config);

/// Whether a LoRA target names the module at `path`: by its whole path, the end
/// of it, or the short form of either (q for q_proj and query).
bool namesModule(llvm::StringRef target, llvm::StringRef path);

/// The targets in force.
std::vector<std::string> loraTargets(const hf::ModelConfig &config,
                                     const ImportOptions &options);

/// From the option or the config; empty if nothing is quantised.
std::optional<LinearQuantization>
linearQuantization(const hf::ModelConfig &config, const ImportOptions &options);

/// Rejects quantisation that the option or config requests but act cannot do.
Status checkQuantization(const hf::ModelConfig &config,
                         const ImportOptions &options,
                         std::vector<std::string> &warnings);

/// Rejects options that contradict each other or the config.
Status checkOptions(const hf::ModelConfig &config, const ImportOptions &options,
                    std::vector<std::string> &warnings);

/// Whether training uses dropout, anywhere or inside layers.
bool dropsAnywhere(const hf::ModelConfig &config, const ImportOptions &options);
bool dropsInLayers(const hf::ModelConfig &config, const ImportOptions &options);

int64_t sequenceLength(const hf::ModelConfig &config,
                       const ImportOptions &options);
/// Of a packed batch a sequence may be as long as one row; of one with a cache,
/// as long as that.
int64_t longestSequence(const hf::ModelConfig &config,
                        const ImportOptions &options);

// The families. Each builds @forward and its layers.
void buildDecoder(ModelBuilder &m); // with rms norms, as llama
void buildGpt2(ModelBuilder &m);
void buildBert(ModelBuilder &m);

/// `text` as a symbol name that prints without quotes.
std::string symbolName(llvm::StringRef text);

} // namespace act
#endif
