#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <wordloom/cuda/detail/sentence.hpp>
#include <wordloom/cuda/detail/shared_ring.hpp>

/// The two schemes of BIDMach on a GPU (Canny et al. 2015, "Machine Learning at the Limit"), as its
/// kernels word2vecPos and word2vecNeg: of each batch first all positives, then all negatives. The
/// changes of a row are scaled by scale_of(its word).
namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Returns the root of the rank of a word by its count: BIDMach's substitute for AdaGrad. The
/// learning rate is that of the most frequent word, 0.001 in the authors' script.
WORDLOOM_BOTH float scale_of(WordId word) { return std::sqrt(static_cast<float>(word + 1)); }

/// Trains the positives of a sentence, all pairs of a window at once (1 x n). Context rows are kept
/// while they are in the window: pairs are scored by the row as it was loaded, and its changes are
/// added to the model when it leaves.
struct BidMachPositives : RingScheme {
  template <class Task>
  static WORDLOOM_BOTH void train(const Task& task) {
    if (task.sentence.size < 2) return;
    SharedRing<Task> ring(task);
    for (std::uint32_t center = 0; center < task.sentence.size; ++center) {
      ring.move_to(center);
      const auto window = task.window(center, task.reach(center));
      const WordId word = task.sentence.words[center];
      float* const output = task.output_row(word);
      typename Task::Row x, y, change;
      task.team.load(y, output);
      clear_row(task.team, change);
      for (std::uint32_t context = window.first; context < window.end; ++context) {
        if (context == center) continue;
        task.team.load_own(x, ring.loaded(context));
        const float g = task.gradient(x, y, true, 1.0f);
        add_scaled(change, scale_of(word) * g, x);
        task.team.load_own(x, ring.current(context));
        add_scaled(x, scale_of(task.sentence.words[context]) * g, y);
        task.team.store_own(ring.current(context), x);
      }
      task.team.add(output, change);
    }
    ring.leave_all();
  }
};

/// The numbers below `size` in a random order that is a function of four keys: a Feistel network of
/// four rounds (Luby and Rackoff 1988), applied again to a result that is not below `size`.
class RandomOrder {
 public:
  WORDLOOM_BOTH RandomOrder(const Philox& keys, std::uint32_t size) : keys_(keys), size_(size) {
    while (std::uint64_t{1} << 2 * half_ < size) ++half_;
  }

  /// Returns the number at `place`, which must be below `size`.
  WORDLOOM_BOTH std::uint32_t operator[](std::uint32_t place) const {
    do place = permuted(place);
    while (place >= size_);
    return place;
  }

 private:
  WORDLOOM_BOTH std::uint32_t permuted(std::uint32_t number) const {
    const std::uint32_t mask = (std::uint32_t{1} << half_) - 1;
    std::uint32_t left = number >> half_, right = number & mask;
    WORDLOOM_UNROLL
    for (int round = 0; round < 4; ++round) {
      std::uint32_t mixed = (right ^ keys_.x[round]) * 0x9E3779B1u;
      mixed = (mixed ^ mixed >> 15) * 0x85EBCA77u;
      const std::uint32_t other = left ^ ((mixed ^ mixed >> 16) & mask);
      left = right;
      right = other;
    }
    return left << half_ | right;
  }

  Philox keys_;
  std::uint32_t size_, half_ = 1;  // bits of half a number
};

/// Trains the negatives of a batch: the context words of all its pairs in random order, each five
/// of them against K negatives of their own. All pairs of such a tile are scored before any changes
/// a row. A part of the batch is trained by a warp; its last tile may have fewer context words.
struct BidMachNegatives {
  static constexpr std::uint32_t contexts = 5;       // as BIDMach by default
  static constexpr std::uint32_t part_places = 256;  // words have 2 max_reach places for contexts

  static constexpr std::size_t floats_of_own(const Sampling& sampling, std::size_t row) {
    return (contexts + sampling.per_window) * row;
  }
  /// Returns the number of parts of a batch.
  static WORDLOOM_BOTH std::uint32_t parts(const Sampling& sampling, const BatchView& batch) {
    return (places(sampling, batch) + part_places - 1) / part_places;
  }

  /// Trains a part of the batch. `task` has the random numbers of its first sentence.
  template <class Task>
  static WORDLOOM_BOTH void train_part(const Task& task, const BatchView& batch,
                                       std::uint32_t part) {
    const auto& team = task.team;
    const std::uint32_t size = places(task.sampling, batch), begin = part * part_places;
    const RandomOrder order(task.sentence.random(Purpose::order, 0), size);
    Context tile[std::size_t{contexts}];
    std::uint32_t count = 0, number = begin;  // of tiles: a part has fewer than places
    for (std::uint32_t first = begin; first < begin + part_places; first += 32) {
      const auto found = team.each([&](int l) {
        const std::uint32_t place = first + static_cast<std::uint32_t>(l);
        return place < size ? context_at(task.sampling, batch, order[place]) : Context{0, no_word};
      });
      const auto sentence = team.each([&](int l) { return team.own(found, l).sentence; });
      const auto word = team.each([&](int l) { return team.own(found, l).word; });
      const std::uint32_t bits =
          team.ballot(team.each([&](int l) { return team.own(word, l) != no_word; }));
      for (int l = 0; l < 32; ++l) {
        if ((bits >> l & 1u) == 0) continue;
        tile[count++] = {team.from(sentence, l), team.from(word, l)};
        if (count < contexts) continue;
        train_tile(task, batch, tile, count, number++);
        count = 0;
      }
    }
    if (count > 0) train_tile(task, batch, tile, count, number);
  }

 private:
  struct Context {
    std::uint32_t sentence;  // of the batch
    WordId word;             // or no_word
  };

  static WORDLOOM_BOTH std::uint32_t places(const Sampling& sampling, const BatchView& batch) {
    return batch.word_count() * 2 * sampling.max_reach;
  }
  /// Returns the context word at a place, if it is in the window.
  static WORDLOOM_BOTH Context context_at(const Sampling& sampling, const BatchView& batch,
                                          std::uint32_t place) {
    const std::uint32_t side = sampling.max_reach;
    const std::uint32_t word = place / (2 * side), at = place % (2 * side);
    const std::uint32_t i = batch.sentence_of(word), center = word - batch.begin(i);
    const Sentence sentence = batch.sentence(i);
    const std::uint32_t distance = at < side ? side - at : at - side + 1;
    const std::uint32_t context = at < side ? center - distance : center + distance;  // may wrap
    const bool is_there = center < sentence.size && context < sentence.size &&
                          distance <= sampling.reach(sentence.random, center);
    return {i, is_there ? sentence.words[context] : no_word};
  }

  template <class Task>
  static WORDLOOM_BOTH void train_tile(const Task& task, const BatchView& batch,
                                       const Context* tile, std::uint32_t count,
                                       std::uint32_t number) {
    const auto& team = task.team;
    const std::uint32_t negatives = task.sampling.per_window;
    const auto own = [&](std::uint32_t r) { return task.memory + r * Task::row_size; };
    const auto words = team.each([&](int l) {
      return task.sampling.negative(task.sentence.random,
                                    number * negatives + static_cast<std::uint32_t>(l), no_word);
    });
    const auto word_of = [&](std::uint32_t k) { return team.from(words, static_cast<int>(k)); };
    typename Task::Row x, y, change;
    for (std::uint32_t k = 0; k < negatives; ++k) {
      team.load(y, task.output_row(word_of(k)));
      team.store_own(own(contexts + k), y);
    }
    typename Task::Team::template Lanes<float> gradients[std::size_t{contexts}];  // of negative l
    WORDLOOM_UNROLL
    for (std::uint32_t c = 0; c < contexts; ++c) {
      gradients[c] = team.each([](int) { return 0.0f; });
      if (c >= count) continue;
      team.load(x, task.model.input_row(tile[c].word));
      team.store_own(own(c), x);
      const Sentence sentence = batch.sentence(tile[c].sentence);
      const Task of_context{team, task.model, task.sampling, sentence, task.memory, task.loss};
      for (std::uint32_t k = 0; k < negatives; ++k) {
        team.load_own(y, own(contexts + k));
        const float g = of_context.gradient(x, y, false, 0.0f);
        gradients[c] = team.each([&](int l) {
          return static_cast<std::uint32_t>(l) == k ? g : team.own(gradients[c], l);
        });
      }
    }
    const auto gradient_of = [&](std::uint32_t k, std::uint32_t c) {
      return team.from(gradients[c], static_cast<int>(k));
    };
    for (std::uint32_t k = 0; k < negatives; ++k) {
      const WordId word = word_of(k);
      clear_row(team, change);
      WORDLOOM_UNROLL
      for (std::uint32_t c = 0; c < contexts; ++c) {
        if (c >= count) break;
        team.load_own(x, own(c));
        add_scaled(change, scale_of(word) * gradient_of(k, c), x);
      }
      team.add(task.output_row(word), change);
    }
    WORDLOOM_UNROLL
    for (std::uint32_t c = 0; c < contexts; ++c) {
      if (c >= count) break;
      clear_row(team, change);
      for (std::uint32_t k = 0; k < negatives; ++k) {
        team.load_own(y, own(contexts + k));
        add_scaled(change, scale_of(tile[c].word) * gradient_of(k, c), y);
      }
      team.add(task.model.input_row(tile[c].word), change);
    }
  }
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
