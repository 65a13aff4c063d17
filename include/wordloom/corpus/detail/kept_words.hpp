#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/corpus_ids.hpp>
#include <wordloom/corpus/detail/nothing_to_train.hpp>
#include <wordloom/corpus/subsampling.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The words of one epoch of a corpus that subsampling keeps, as ids whose highest bit marks the
/// end of a sentence: 4 bytes a word. Sentences of one word are left out.
struct KeptWords {
  /// Marks the last word of a sentence. No id is this large.
  static constexpr WordId end_mark = WordId{1} << 31;
  /// The number of parts is fixed, so that the sentences of a part do not depend on the threads.
  static constexpr std::size_t part_count = 64;

  std::array<std::vector<WordId>, part_count> parts;  // whole sentences, in the corpus's order

  /// Reads the corpus once, with all threads, whose number does not change the result. Throws
  /// InvalidArgument for a vocabulary of more than 2^31 words, CorpusError if no word is kept or an
  /// id is not in the vocabulary, and what reading the corpus throws.
  template <Corpus C>
  static KeptWords of(const C& corpus, const Vocabulary& vocabulary, double subsample,
                      std::uint64_t seed, std::size_t threads) {
    if (vocabulary.size() > end_mark)
      throw InvalidArgument{"the vocabulary has ", vocabulary.size(), " words, must have at most ",
                            end_mark};
    const Subsampling subsampling(vocabulary, subsample);
    KeptWords kept;
    std::atomic<std::size_t> next{0};
    std::atomic<bool> contexts{false};
    run_threads((std::min)(resolve_threads(threads), part_count), [&](std::size_t) {
      std::vector<WordId> buffer, part;
      for (std::size_t i = next++; i < part_count; i = next++) {
        part.clear();
        Random random(seed ^ own_streams, i);
        for (const std::span<const WordId> sentence :
             corpus.sentences(Shard{i, part_count, 0, seed})) {
          check_ids(sentence, vocabulary.size());
          const auto words = subsampling(sentence, random, buffer);
          if (words.size() < 2) continue;
          if (!contexts && has_contexts(words)) contexts = true;
          part.insert(part.end(), words.begin(), words.end());
          part.back() |= end_mark;
        }
        kept.parts[i].assign(part.begin(), part.end());  // without the capacity to grow
      }
    });
    if (!contexts) throw nothing_trained(corpus, subsample, seed);
    return kept;
  }

  std::size_t size() const noexcept {
    std::size_t words = 0;
    for (const auto& part : parts) words += part.size();
    return words;
  }

 private:
  // Makes these streams of random numbers differ from those of corpora and samplers.
  static constexpr std::uint64_t own_streams = 0x6b656570776f7264;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
