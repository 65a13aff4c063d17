#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/sampler/block.hpp>
#include <wordloom/sampler/negative_sampling.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Outputs of the groups of centres of a sentence, one group after the other: the centres, then H
/// negatives that they share. The negatives of a group are drawn while the group before it is in
/// use. One object for each thread.
class SharedOutputs {
 public:
  using Group = std::span<const RowId>;

  /// Makes room for groups of at most `max_centers` centres, of which the last `slot_count` are
  /// kept.
  SharedOutputs(const NegativeSampling::Run& tables, std::size_t max_centers, std::size_t shared,
                std::size_t slot_count = 2)
      : negatives_(tables.distribution(), shared, tables.pool()),
        shared_(shared),
        max_outputs_(max_centers + shared),
        slots_(slot_count),
        rows_(slot_count * max_outputs_) {}

  std::size_t shared() const noexcept { return shared_; }
  std::size_t max_outputs() const noexcept { return max_outputs_; }

  void begin_epoch(const Random& stream, std::uint64_t picks) noexcept {
    negatives_.begin_epoch(stream, picks);
  }
  std::uint64_t picks() const noexcept { return negatives_.picks(); }

  /// Must be called before the first group of a sentence.
  void begin_draw(std::span<const WordId>, Random& random) noexcept {
    negatives_.begin_draw(random, shared_);
  }

  /// Returns the outputs of the next group, valid until `slot_count` more calls. `following`: the
  /// words of the group after it, empty if there is none.
  Group next(std::span<const WordId> centers, std::span<const WordId> following,
             Random& random) noexcept {
    slot_ = (slot_ + 1) % slots_;
    const auto outputs = std::span(rows_).subspan(slot_ * max_outputs_, centers.size() + shared_);
    std::copy(centers.begin(), centers.end(), outputs.begin());
    negatives_.end_draw(outputs.subspan(centers.size()));
    if (!following.empty()) negatives_.begin_draw(random, shared_);
    return outputs;
  }

 private:
  NegativeBatch negatives_;
  std::size_t shared_;       // H
  std::size_t max_outputs_;  // G + H
  std::size_t slots_, slot_ = 0;
  std::vector<RowId> rows_;  // [slot_count][G + H]
};

/// The weights [M x N] of the blocks of one worker, with the version by which kernels recognize
/// them.
class WeightMatrix {
 public:
  /// Floats past the end of the weights that may be written, so that rows can be filled this many
  /// at a time.
  static constexpr std::size_t slack = 8;

  explicit WeightMatrix(Block::Shape most) : values_(most.inputs * most.outputs + slack) {}

  /// Returns the weights for changes, and gives later blocks another version.
  float* change() noexcept {
    ++version_;
    return values_.data();
  }
  const float* data() const noexcept { return values_.data(); }
  Block::Weights of(std::size_t inputs, std::size_t outputs) const noexcept {
    return {std::span(values_).first(inputs * outputs), version_};
  }

 private:
  std::vector<float> values_;
  std::uint64_t version_ = 0;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
