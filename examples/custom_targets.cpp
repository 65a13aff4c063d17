// Custom targets: negatives that are about as frequent as the centre, so harder to tell from
// it. Any such type is Targets (wordloom/sampler/targets.hpp). Usage: custom_targets TEXT
#include <exception>
#include <iostream>
#include <span>
#include <vector>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

/// A centre and K negatives, uniform among the words of up to `reach` ranks above or below it. An
/// id is a rank: word 0 is the most frequent.
struct NeighbouringRanks {
  std::size_t negatives = 5, reach = 50;

  static NeighbouringRanks from(const Hyperparameters& p) { return {.negatives = p.negatives}; }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("negatives", negatives, 1, 1000);
    visit("reach", reach, 1, 1'000'000);
  }

  /// The state that the threads of a run share, and, with slots, the scratch memory of each.
  struct Run {
    std::size_t k, reach, words;
    std::vector<RowId> drawn = {};  // [slots][1 + K]

    std::size_t output_rows() const { return words; }
    std::size_t max_outputs() const { return 1 + k; }
    std::size_t first(WordId center) const { return center < reach ? 0 : center - reach; }
    std::size_t end(WordId center) const {
      return center + reach < words ? center + reach + 1 : words;
    }
    std::size_t others(WordId center) const { return end(center) - first(center) - 1; }

    /// The mean size of a set and how often each row is in one, for training by several ranks.
    double expected_size(const WordRates&) const { return static_cast<double>(1 + k); }
    std::vector<double> expected_outputs(const WordRates& rates) const {
      std::vector<double> result = rates.kept;
      for (WordId center = 0; center < words; ++center) {
        const auto share = static_cast<double>(k) / static_cast<double>(others(center));
        for (std::size_t word = first(center); word < end(center); ++word)
          if (word != center) result[word] += rates.kept[center] * share;
      }
      return result;
    }

    Run worker(std::size_t slots, std::size_t) const {
      return {k, reach, words, std::vector<RowId>(slots * (1 + k))};
    }
    void draw(WordId center, std::size_t slot, Random& random) {
      drawn[slot * (1 + k)] = center;
      for (std::size_t i = 1; i <= k; ++i) {
        const auto word = static_cast<RowId>(first(center) + random.below(others(center)));
        drawn[slot * (1 + k) + i] = word < center ? word : word + 1;
      }
    }
    void begin_draw(std::span<const WordId>, Random&) {}  // no memory to wait for
    void end_draw(std::span<const WordId> centers, std::size_t slot, Random& random) {
      for (const WordId center : centers) draw(center, slot++, random);
    }
    TargetSet at(std::size_t slot) const {
      return {.outputs = std::span(drawn).subspan(slot * (1 + k), 1 + k), .positives = 1};
    }
  };
  Run start(const Vocabulary& vocabulary) const {
    if (vocabulary.size() < 2) throw CorpusError("negatives need at least 2 words");
    return {negatives, reach, vocabulary.size()};
  }
};

int main(int argc, char** argv) try {
  if (argc != 2) throw InvalidArgument("usage: custom_targets TEXT");
  const auto vocabulary = Vocabulary::from_text(argv[1]);
  const auto corpus = EncodedCorpus::from_text(argv[1], vocabulary);
  Trainer<BasicSharedNegative<NeighbouringRanks>, FusedKernel> trainer({.epochs = 2});
  trainer.fit(corpus, vocabulary);
  std::cout << "loss: neighbouring ranks " << trainer.report().loss << '\n';
} catch (const std::exception& error) {
  std::cerr << "custom_targets: " << error.what() << '\n';
  return 1;
}
