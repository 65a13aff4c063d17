#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/kernel/detail/bf16_update.hpp>
#include <wordloom/kernel/detail/packed_rows.hpp>
#include <wordloom/kernel/detail/pair_weights.hpp>
#include <wordloom/kernel/detail/repeat_filter.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/objective/loss.hpp>
#include <wordloom/sampler/block.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

/// FusedKernel on rows of 16 bits: while it trains, each row of the model is D values of bfloat16
/// in half of its own memory, so that half as many cache lines move, and all three products are
/// computed by vdpbf16ps, two multiply-adds in each of 16 lanes. All sums are floats; a row is
/// rounded once a block, stochastically, so that small changes are kept in expectation.
///
/// Needs a processor with AVX512_BF16 (AMD from Zen 4 on, Intel from Sapphire Rapids on). For
/// blocks of rows (no bags, pairs or single sides), models of two matrices, and NoSync. Rows are
/// floats whenever other code reads them: in callbacks that take the model, in checkpoints, and
/// after training; each value is then exactly a bfloat16. A model whose training it continues is
/// first rounded to nearest.
///
/// One thread and one seed give the same bits: the random bits of a block are a hash of its rows,
/// gradients and learning rate. Several threads train without locks, as with FusedKernel, and have
/// no private rows.
struct Bf16Kernel {
  static constexpr Block::Features honours = {.weights = true};

  /// Returns whether this processor has AVX512_BF16 and WORDLOOM_TARGET allows it. Throws as
  /// InstructionSet::chosen() does.
  static bool runs_here() { return simd::bf16_functions().update != nullptr; }
  /// Throws UnsupportedProcessor if the kernel cannot run here, and as InstructionSet::chosen()
  /// does.
  static void require_processor();

  class Run;
  /// Throws as require_processor(), and InvalidArgument for a model of one matrix.
  Run start(Model& model) const;

  class Worker;
};

namespace simd {

/// The weights of all pairs in the order of Bf16Layout, kept for two kinds of blocks. The weights
/// of blocks without weights serve any number of inputs, because windows differ, so that the places
/// that fill up the last group have a weight too. The scratch memory of one thread.
class Bf16Weights {
 public:
  explicit Bf16Weights(Block::Shape most) : most_(most) {
    for (Kept& kept : kept_) kept.values = RowMatrix(1, Bf16Layout::most(most));
  }

  const float* of(const Block& block) noexcept {
    const bool is_plain = block.weights.empty();
    const Key key{is_plain ? nullptr : block.weights.values.data(), block.weights.version,
                  is_plain ? (most_.inputs + 3) / 4 * 4 : block.inputs.size(), block.outputs.size(),
                  is_plain ? block.positives : 0};
    if (is_plain || block.weights.version != 0)
      for (const Kept& kept : kept_)
        if (kept.key == key) return kept.values.data();
    Kept& next = kept_[std::exchange(next_, 1 - next_)];
    next.key = key;
    fill(block, {key.n, key.m}, next.values.data());
    return next.values.data();
  }

  /// Returns how many places with a weight other than 0 hold no pair. Their score is 0.
  static std::size_t padding(const Block& block) noexcept {
    return block.weights.empty() ? (4 - block.inputs.size() % 4) % 4 * block.outputs.size() : 0;
  }

 private:
  struct Key {
    const float* from = nullptr;  // null: no weights
    std::uint64_t version = 0;
    std::size_t n = 0, m = 0, positives = 0;
    bool operator==(const Key&) const = default;
  };
  struct Kept {
    RowMatrix values;
    Key key;
  };

  static void fill(const Block& block, Bf16Layout layout, float* to) noexcept {
    std::fill_n(to, layout.count() + vector_slack, 0.0f);
    for (std::size_t i = 0; i < layout.n; ++i)
      for (std::size_t j = 0; j < layout.m; ++j)
        to[layout.place(i, j)] = !block.weights.empty() ? block.weights.values[j * layout.n + i]
                                 : j < block.positives  ? 1.0f
                                                        : -1.0f;
  }

  Block::Shape most_;
  std::array<Kept, 2> kept_;
  std::size_t next_ = 0;
};

}  // namespace simd

/// The scratch of one thread.
class Bf16Kernel::Worker {
 public:
  Worker(const simd::Bf16Functions& functions, Block::Shape most)
      : functions_(functions),
        weights_(most),
        rows_(most.inputs + most.outputs),
        gradients_(1, simd::Bf16Layout::most(most)),
        pairs_(2, simd::Bf16Layout::most(most) / 2 + 16),
        change_(most.inputs + 1, 32),
        ahead_(2 * rows_.size()) {}

  template <bool with_loss>
  LossSum update(Model& model, const Block& block, float learning_rate) noexcept {
    score(model, block, learning_rate);
    return apply<with_loss>(model);
  }

  /// Does the first half of an update, see kernel/concept.hpp.
  void score(Model& model, const Block& block, float learning_rate) noexcept {
    const std::size_t n = block.inputs.size(), m = block.outputs.size();
    if (n == 0 || m == 0) return;
    std::uint8_t** const outputs = rows_.data() + n;
    std::uint32_t hash = std::bit_cast<std::uint32_t>(learning_rate);
    const bool inputs_repeat = find_rows(model.input, block.inputs, rows_.data(), hash);
    const bool outputs_repeat = find_rows(model.output, block.outputs, outputs, hash);
    scored_ = {.inputs = rows_.data(),
               .outputs = outputs,
               .n = n,
               .m = m,
               .bytes = simd::packed_bytes(model.dimension()),
               .gradients = gradients_.data(),
               .pairs_of_inputs = reinterpret_cast<std::uint32_t*>(pairs_.row_data(0)),
               .pairs_of_outputs = reinterpret_cast<std::uint32_t*>(pairs_.row_data(1)),
               .change = change_.data(),
               .may_repeat = inputs_repeat || outputs_repeat,
               .hash = hash,
               .ahead = {}};
    pair_weights_ = weights_.of(block);
    padding_ = simd::Bf16Weights::padding(block);
    learning_rate_ = learning_rate;
    functions_.score(scored_);
  }
  template <bool with_loss>
  LossSum apply(Model&) noexcept {
    if (scored_.n == 0) return {};
    LossSum loss = functions_.gradients[with_loss](scored_.gradients, pair_weights_,
                                                   simd::Bf16Layout{scored_.n, scored_.m}.count(),
                                                   learning_rate_);
    scored_.ahead = {ahead_.data(), std::exchange(ahead_count_, 0)};
    functions_.update(scored_);
    scored_.n = 0;
    // Each place without a pair was counted as log(2).
    if (with_loss && padding_ > 0)
      loss += LossSum(-0.69314718055994531 * static_cast<double>(padding_));
    return loss;
  }

  void prefetch(const Model& model, std::span<const RowId> inputs,
                std::span<const RowId> outputs) noexcept {
    for (const RowId id : inputs) prefetch(model.input, id);
    for (const RowId id : outputs) prefetch(model.output, id);
  }

 private:
  /// Remembers a row for the next second half, if there is room.
  void prefetch(const RowMatrix& matrix, RowId id) noexcept {
    if (ahead_count_ < ahead_.size()) ahead_[ahead_count_++] = simd::packed_row(matrix, id);
  }

  /// Finds the rows of `ids` and adds them to `hash`. Returns whether some may be duplicates.
  bool find_rows(const RowMatrix& matrix, std::span<const RowId> ids, std::uint8_t** rows,
                 std::uint32_t& hash) noexcept {
    filter_.begin();
    bool repeats = false;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      rows[i] = simd::packed_row(matrix, ids[i]);
      repeats |= filter_.seen(ids[i]);
      hash = (hash ^ ids[i]) * 0x9e3779b1u;
    }
    return repeats;
  }

  simd::Bf16Functions functions_;
  simd::Bf16Weights weights_;
  simd::Bf16Block scored_{};  // n is 0 if there is none
  const float* pair_weights_ = nullptr;
  std::size_t padding_ = 0;
  float learning_rate_ = 0.0f;
  std::vector<std::uint8_t*> rows_;  // [N] inputs, then [M] outputs of the current block
  RowMatrix gradients_, pairs_;
  RowMatrix change_;  // [N x 32] of an update over several tiles
  simd::RepeatFilter filter_;
  std::vector<const std::uint8_t*> ahead_;  // of two blocks; more are ignored
  std::size_t ahead_count_ = 0;
};

/// Packs and unpacks rows; threads share it. Workers train packed rows.
class Bf16Kernel::Run {
 public:
  explicit Run(const simd::Bf16Functions& functions) : functions_(functions) {}

  Worker worker(const Model&, Block::Shape most) const { return {functions_, most}; }

  /// Rounds rows [first, last) to nearest, in place. Values that are already bfloat16 do not
  /// change.
  void pack(RowMatrix& matrix, std::size_t first, std::size_t last) const;
  /// Converts packed rows to floats, in place.
  void unpack(RowMatrix& matrix, std::size_t first, std::size_t last) const;

 private:
  simd::Bf16Functions functions_;
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void Bf16Kernel::require_processor() {
  if (!runs_here())
    throw UnsupportedProcessor(
        "rows of 16 bits need a processor with AVX512_BF16 (AMD Zen 4, Intel Sapphire Rapids, or "
        "newer), and a WORDLOOM_TARGET of avx512 where that is set: use FusedKernel (--kernel "
        "fused)");
}

WORDLOOM_FUNCTION Bf16Kernel::Run Bf16Kernel::start(Model& model) const {
  require_processor();
  if (model.has_one_matrix())
    throw InvalidArgument(
        "Bf16Kernel trains models of two matrices, this one has one for both sides: use "
        "FusedKernel");
  return Run(simd::bf16_functions());
}

WORDLOOM_FUNCTION void Bf16Kernel::Run::pack(RowMatrix& matrix, std::size_t first,
                                             std::size_t last) const {
  std::vector<std::uint16_t> packed(simd::packed_bytes(matrix.columns()) / 2);
  for (std::size_t i = first; i < last; ++i) {
    const std::span<const float> row = matrix.row(i);
    for (std::size_t c = 0; c < row.size(); ++c) {
      const auto bits = std::bit_cast<std::uint32_t>(row[c]);
      // NaN stays NaN, which the carry could change.
      const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
      const std::uint32_t nearest = is_nan ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u);
      packed[c] = static_cast<std::uint16_t>(nearest >> 16);
    }
    std::memcpy(simd::packed_row(matrix, i), packed.data(), packed.size() * 2);
  }
}

WORDLOOM_FUNCTION void Bf16Kernel::Run::unpack(RowMatrix& matrix, std::size_t first,
                                               std::size_t last) const {
  std::vector<std::uint16_t> packed(matrix.columns());
  for (std::size_t i = first; i < last; ++i) {
    std::memcpy(packed.data(), simd::packed_row(matrix, i), packed.size() * 2);
    float* const row = matrix.row_data(i);
    for (std::size_t c = 0; c < packed.size(); ++c)
      row[c] = std::bit_cast<float>(std::uint32_t{packed[c]} << 16);
    std::fill(row + packed.size(), row + matrix.stride(), 0.0f);  // packed rows may be here
  }
}

#endif

static_assert(UpdateKernel<Bf16Kernel> && detail::PacksRows<detail::KernelRun<Bf16Kernel>>);

}}  // namespace wordloom::WORDLOOM_ABI
