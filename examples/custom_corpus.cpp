// A custom corpus: a text that is cut into other sentences in every epoch.
// Any type with these members is a Corpus (wordloom/corpus/concept.hpp). Usage: custom_corpus TEXT
#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <vector>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

/// The words of a text in sentences of random length, 1 to `max_length` words. Which words form a
/// sentence is a function of the shard alone, so that a run can be resumed.
class RandomCuts {
 public:
  static constexpr bool repeats = false;  // a device must not keep the sentences of an epoch

  RandomCuts(const EncodedCorpus& text, std::size_t max_length)
      : fingerprint_(text.vocabulary_fingerprint()), max_length_(max_length) {
    auto words = std::make_shared<std::vector<WordId>>();
    words->reserve(text.token_count());
    for (const auto sentence : text.sentences({}))
      words->insert(words->end(), sentence.begin(), sentence.end());
    words_ = std::move(words);
  }

  std::uint64_t token_count() const { return words_->size(); }
  std::uint64_t vocabulary_fingerprint() const { return fingerprint_; }

  auto sentences(const Shard& shard) const {
    return SentenceRange([words = words_, shard, max_length = max_length_] {
      const auto [first, end] = shard.part_of(words->size());
      // Another seed than the trainer's: its own stream is (seed, index, epoch).
      return Reader{words, std::span(*words).subspan(first, end - first), max_length,
                    Random(~shard.seed, shard.index, shard.epoch)};
    });
  }

 private:
  struct Reader {
    std::shared_ptr<const std::vector<WordId>> owner;
    std::span<const WordId> rest;
    std::size_t max_length;
    Random random;

    std::optional<std::span<const WordId>> operator()() {
      if (rest.empty()) return std::nullopt;
      const auto sentence =
          rest.first(std::min<std::size_t>(1 + random.below(max_length), rest.size()));
      rest = rest.subspan(sentence.size());
      return sentence;
    }
  };

  std::shared_ptr<const std::vector<WordId>> words_;
  std::uint64_t fingerprint_;
  std::size_t max_length_;
};

int main(int argc, char** argv) try {
  if (argc != 2) throw InvalidArgument("usage: custom_corpus TEXT");
  const auto vocabulary = Vocabulary::from_text(argv[1]);
  const auto text = EncodedCorpus::from_text(argv[1], vocabulary);

  DefaultTrainer mine({.epochs = 2}), usual({.epochs = 2});
  mine.fit(RandomCuts(text, 40), vocabulary);
  usual.fit(text, vocabulary);

  std::cout << "loss: random cuts " << mine.report().loss << ", the text's own sentences "
            << usual.report().loss << '\n';
} catch (const std::exception& error) {
  std::cerr << "custom_corpus: " << error.what() << '\n';
  return 1;
}
