#pragma once
#include <cstddef>
#include <mutex>
#include <span>
#include <vector>
#include <wordloom/core/error.hpp>
#include <wordloom/kernel/concept.hpp>
#include <wordloom/sampler/concept.hpp>

/// Policies that record what a trainer does with them.
namespace wordloom_test {

using namespace wordloom;

/// The sentences that samplers were given.
struct Seen {
  std::mutex guard;
  std::vector<std::vector<WordId>> sentences;
};

/// Makes a block of each word with itself and records what it sees.
struct RecordingSampler {
  Seen* seen = nullptr;

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    Seen* seen;
    Block::Shape max_block() const { return {1, 1}; }
    template <class Sink>
    void sample(std::span<const WordId> sentence, Random&, Sink&& sink) {
      if (seen != nullptr) {
        const std::lock_guard lock(seen->guard);
        seen->sentences.emplace_back(sentence.begin(), sentence.end());
      }
      for (std::size_t i = 0; i < sentence.size(); ++i)
        sink(Block{.inputs = sentence.subspan(i, 1),
                   .outputs = sentence.subspan(i, 1),
                   .positives = 1,
                   .examples = 1});
    }
  };
  Worker start(const Vocabulary&) const { return {seen}; }
};

/// The calls of a WatchedKernel, and the loss that it returns.
struct Watch {
  double loss = 1.0;
  std::vector<float> rates = {};
};

/// A loss and rates to look at instead of an update, of one thread.
struct WatchedKernel {
  Watch* watch = nullptr;

  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    Watch* watch;
    template <bool with_loss>
    double update(Model&, const Block&, float rate) {
      if (watch->rates.empty() || watch->rates.back() != rate) watch->rates.push_back(rate);
      return with_loss ? watch->loss : 0.0;
    }
  };
  Worker worker(const Model&, Block::Shape) const { return {watch}; }
};

struct ThrowingKernel {
  struct Worker {
    template <bool>
    double update(Model&, const Block& block, float) {
      if (block.inputs[0] == 7) throw IoError("word seven");
      return 0.0;
    }
  };
  Worker worker(const Model&, Block::Shape) const { return {}; }
};

}  // namespace wordloom_test
