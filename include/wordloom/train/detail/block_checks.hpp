#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/concept.hpp>
#include <wordloom/train/detail/checkpoint.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Tells types of the library by their names. (A class: in a function of this namespace, GCC leaves
/// the namespace out of names of its types.)
struct Names {
  template <class T>
  static constexpr bool is_ours() {
    constexpr std::string_view function = __PRETTY_FUNCTION__;
    return function.substr(function.find("T = ") + 4).starts_with("wordloom::");
  }
};
/// True for policies of the library, except those with an argument that is a host's.
template <class T>
inline constexpr bool is_ours = Names::is_ours<T>();
template <template <class...> class Policy, class... Arguments>
inline constexpr bool is_ours<Policy<Arguments...>> = Names::is_ours<Policy<Arguments...>>() &&
                                                      (is_ours<Arguments> && ...);

/// True for samplers whose blocks trainers check by default. Those of the library are tested
/// instead: they train as fast in debug builds, and trainers in wordloom::precompiled fit all
/// programs.
template <class Sampler>
inline constexpr bool checks_blocks = WORDLOOM_CHECKED && !is_ours<Sampler>;

/// Checks the blocks of a sampler in one thread. Throws InvalidArgument that says which block has
/// which value, and what its bound is. Blocks and threads are counted from 1.
class BlockChecks {
 public:
  /// The number of rows that blocks may name on each side.
  struct Rows {
    std::size_t inputs, outputs;
    bool one_matrix = false;  // as OneMatrixSampler
  };

  /// `sampler`: its name; `used`: the features that it declares; `thread`: 0 if there is but one.
  BlockChecks(std::string sampler, Block::Features used, const Rows& rows, std::size_t thread)
      : sampler_(std::move(sampler)), used_(used), rows_(rows), thread_(thread) {}

  /// Sets the side that the blocks of a ColumnSampler change from here on.
  void begin_step(Block::Sides step) noexcept { step_ = step; }
  /// Checks the next block.
  void operator()(const Block& block);
  /// Checks rows that are announced before the next block.
  void check_announced(std::span<const RowId> inputs, std::span<const RowId> outputs) const;

 private:
  [[noreturn]] void fail(std::initializer_list<MessagePart> what, const char* when = "") const;
  void require_rows(std::span<const RowId> inputs, std::span<const RowId> outputs,
                    const char* when = "") const;
  void check_features(const Block& block) const;
  void check_bags(const Block& block) const;
  void check_labels(const Block& block) const;

  std::string sampler_;
  Block::Features used_;
  Rows rows_;
  std::size_t thread_;
  std::uint64_t blocks_ = 0;
  std::optional<Block::Sides> step_;
};

/// The place of BlockChecks in runs without checks.
struct NoBlockChecks {};

/// Returns the checks of a sampler's blocks in thread `thread`, from 0. `run`: of the sampler.
template <class Sampler, bool checked, class Run>
auto block_checks([[maybe_unused]] const Run& run, [[maybe_unused]] const Model& model,
                  [[maybe_unused]] std::size_t thread, [[maybe_unused]] std::size_t threads) {
  if constexpr (checked) {
    // Inputs are words where bags replace them.
    const std::size_t inputs = HasSubwords<Run> ? model.vocabulary.size() : model.input.rows();
    const bool one_matrix = uses_one_matrix<Run>();
    return BlockChecks(name_of<Sampler>(), Block::Features::used_by<Sampler>(),
                       {inputs, one_matrix ? inputs : model.output.rows(), one_matrix},
                       threads > 1 ? thread + 1 : 0);
  } else {
    return NoBlockChecks();
  }
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void BlockChecks::fail(std::initializer_list<MessagePart> what,
                                         const char* when) const {
  const std::string of_thread = thread_ == 0 ? "" : joined({" of thread ", thread_});
  throw InvalidArgument{"sampler ", sampler_,  ": ", when,        "block ",
                        blocks_,    of_thread, ": ", joined(what)};
}

WORDLOOM_FUNCTION void BlockChecks::require_rows(std::span<const RowId> inputs,
                                                 std::span<const RowId> outputs,
                                                 const char* when) const {
  for (const RowId row : inputs)
    if (row >= rows_.inputs) fail({"input ", row, " of ", rows_.inputs, " rows"}, when);
  for (const RowId row : outputs)
    if (row >= rows_.outputs) fail({"output ", row, " of ", rows_.outputs, " rows"}, when);
}

WORDLOOM_FUNCTION void BlockChecks::operator()(const Block& block) {
  ++blocks_;
  require_rows(block.inputs, block.outputs);
  if (rows_.one_matrix)
    for (const RowId row : block.inputs)
      if (std::find(block.outputs.begin(), block.outputs.end(), row) != block.outputs.end())
        fail({"row ", row, " is an input and an output"});
  check_features(block);
  check_bags(block);
  check_labels(block);
}

WORDLOOM_FUNCTION void BlockChecks::check_announced(std::span<const RowId> inputs,
                                                    std::span<const RowId> outputs) const {
  require_rows(inputs, outputs, "rows announced after ");
}

WORDLOOM_FUNCTION void BlockChecks::check_features(const Block& block) const {
  const auto require = [&](bool is_used, bool is_declared, const char* what) {
    if (is_used && !is_declared) fail({what, " set, which its Block::Features do not name"});
  };
  require(block.has_bags(), used_.bags, "bag_ends or left_out is");
  require(!block.weights.empty(), used_.weights, "weights are");
  require(block.update != Block::Sides::both, used_.one_side, "update is");
  require(block.paired != 0, used_.pairs, "paired is");
  if (block.in_turn && (block.has_bags() || !block.weights.empty() || block.paired != 0 ||
                        block.update != Block::Sides::both))
    fail({"in_turn is set together with bags, weights, paired or a single side"});
  if (step_ && block.update != *step_)
    fail({"update is not Block::Sides::", *step_ == Block::Sides::inputs ? "inputs" : "outputs",
          ", the side of the step"});
}

WORDLOOM_FUNCTION void BlockChecks::check_bags(const Block& block) const {
  const std::size_t members = block.inputs.size();
  if (!block.bag_ends.empty() && !block.left_out.empty()) fail({"bag_ends and left_out are set"});
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < block.bag_ends.size(); ++i) {
    const std::uint32_t end = block.bag_ends[i];
    if (end <= before) fail({"bag_ends[", i, "] is ", end, ", and the bag begins at ", before});
    before = end;
  }
  if (!block.bag_ends.empty() && before != members)
    fail({"the last bag ends at ", before, " of ", members, " inputs"});
  if (block.left_out.size() > block.outputs.size())
    fail({block.left_out.size(), " of left_out for ", block.outputs.size(), " outputs"});
  for (std::size_t i = 0; i < block.left_out.size(); ++i)
    if (block.left_out[i] >= members)
      fail({"left_out[", i, "] is ", block.left_out[i], " of ", members, " inputs"});
  if ((!block.left_out.empty() || block.stands_for_parts) && members < 2)
    fail({members, " inputs, at least 2 are needed to leave one out"});
}

WORDLOOM_FUNCTION void BlockChecks::check_labels(const Block& block) const {
  const std::size_t n = block.input_count(), m = block.outputs.size();
  const auto [fewer, more] = std::minmax({n, m});
  if (block.paired != 0 && block.paired != fewer)
    fail({"paired is ", block.paired, ", and must be 0 or ", fewer});
  const std::span<const float> weights = block.weights.values;
  const std::size_t needed = block.paired != 0 ? more : block.left_out.empty() ? n * m : m;
  if (!weights.empty() && weights.size() != needed)
    fail({weights.size(), " weights, and ", needed, " are needed"});
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!is_finite(weights[i])) fail({"weight ", i, " is ", double{weights[i]}});
  if (weights.empty() && block.paired == 0 && block.positives > m)
    fail({block.positives, " positives of ", m, " outputs"});
  if (block.examples > n * m) fail({block.examples, " examples of ", n * m, " pairs"});
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
