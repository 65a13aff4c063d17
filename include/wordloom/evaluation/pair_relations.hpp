#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/evaluation/analogies.hpp>
#include <wordloom/evaluation/classifier.hpp>
#include <wordloom/evaluation/detail/row_blocks.hpp>
#include <wordloom/model/embeddings.hpp>

/// Relations of words, learned from pairs.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// A tested pair of a relation: the row of its word, and the classifier of the others' answers.
struct RelationTest {
  WordId source = 0;
  std::vector<WordId> answers = {};  // any of which is right
  std::vector<float> weights = {};   // [D]
  float bias = 0;
};

/// Returns the row with the highest product of the classifier's probability and the cosine with the
/// source, for each test; the source is left out.
std::vector<WordId> likely_answers(const Embeddings& embeddings,
                                   std::span<const RelationTest> tests, std::size_t threads);

/// Returns the pairs of a section, those of its questions too, each once.
std::vector<KnownPair> relation_pairs(const WordList& words, const AnalogySection& section,
                                      LetterCase letter_case);

}  // namespace detail

/// LRCos (Drozd, Gladkova and Matsuoka 2016), as the library vecto has it: is the answer to a word
/// near to it, and of the kind that the other pairs' answers are?
struct PairRelations {
  struct Options {
    LetterCase letter_case = LetterCase::fallback;
    /// True if as many random words as there are sources are negative examples, too.
    bool random_words = true;
    /// The seed of the random words, which are drawn anew for each section.
    std::uint64_t seed = 1;
    LogisticOptions classifier = {.balanced = true};
    /// 0: as many as the relations need.
    std::size_t threads = 0;
  };

#if WORDLOOM_HAS_LIBLINEAR
  /// Tests each pair of each section, and each pair of its questions, by the other pairs: a
  /// logistic regression on vectors of length 1 learns their first answers (positive), their
  /// sources, each four times, and random words (negative). The answer is the word, except the
  /// source, with the highest product of probability and cosine with the source; any listed answer
  /// is right. A pair whose source or first answer is unknown is skipped: Count::accuracy_of_all()
  /// counts it as wrong, as published figures do. Deterministic for any number of threads. Throws
  /// InvalidArgument for vectors that are not finite and options out of bounds.
  [[nodiscard]] static AnalogyReport evaluate(const Embeddings& embeddings,
                                              std::span<const AnalogySection> sections,
                                              const Options& options);
  [[nodiscard]] static AnalogyReport evaluate(const Embeddings& embeddings,
                                              std::span<const AnalogySection> sections) {
    return evaluate(embeddings, sections, Options{});
  }
#else
  template <class... Arguments>
  static void evaluate(const Arguments&...) {
    static_assert(sizeof...(Arguments) > 99,
                  "PairRelations::evaluate needs LIBLINEAR: install it (Debian: liblinear-dev) and "
                  "configure with -DWORDLOOM_ENABLE_LIBLINEAR=ON");
  }
#endif
};

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION std::vector<KnownPair> relation_pairs(const WordList& words,
                                                        const AnalogySection& section,
                                                        LetterCase letter_case) {
  std::vector<AnalogySection::Pair> pairs = section.pairs;
  WordList seen;
  for (const auto& [a, b, c, d] : section.questions)
    for (const auto& [source, answer] : {std::pair{&a, &b}, std::pair{&c, &d}}) {
      const std::string both = *source + '\n' + *answer;
      if (seen.find(both)) continue;
      seen.append(both);
      pairs.push_back({*source, {*answer}});
    }
  std::vector<KnownPair> known;
  for (const auto& pair : pairs)
    known.push_back(KnownPair::of(
        pair, [&](const std::string& text) { return find_spelling(words, text, letter_case); }));
  return known;
}

WORDLOOM_FUNCTION std::vector<WordId> likely_answers(const Embeddings& embeddings,
                                                     std::span<const RelationTest> tests,
                                                     std::size_t requested) {
  const RowQueries queries{embeddings.vectors(), embeddings.inverse_lengths()};
  // Row 2 i is the source of test i, row 2 i + 1 its weights.
  RowMatrix vectors = vectors_to_multiply(2 * tests.size(), embeddings.dimension());
  for (std::size_t i = 0; i < tests.size(); ++i) {
    queries.add_unit(tests[i].source, 1, vectors.row(2 * i));
    std::copy(tests[i].weights.begin(), tests[i].weights.end(), vectors.row_data(2 * i + 1));
  }
  const std::size_t threads =
      threads_for(embeddings.size() * vectors.rows() * vectors.stride(), requested);
  BestRows best(threads, tests.size());
  for_each_block(
      vectors, queries.vectors, queries.inverse_lengths, embeddings.size(), threads,
      [&](std::size_t thread, const RowBlock& block) {
        for (std::size_t t = 0; t < tests.size(); ++t) {
          BestRow& found = best.at(thread, t);
          const float *const cosines = block.of(2 * t), *const decisions = block.of(2 * t + 1);
          // A score above 0 is at most its cosine, as a probability is at most 1.
          if (found.score >= 0 && !any_above(found.score, [&](std::size_t i) {
                return *reinterpret_cast<const FourFloats*>(cosines + i);
              }))
            continue;
          for (std::size_t i = 0; i < block.size; ++i) {
            if (found.score >= 0 && !(cosines[i] > found.score)) continue;
            const auto row = static_cast<WordId>(block.begin + i);
            const float score = cosines[i] / (1 + std::exp(-(decisions[i] + tests[t].bias)));
            if (score > found.score && row != tests[t].source) found = {score, row};
          }
        }
      });
  std::vector<WordId> answers;
  for (std::size_t t = 0; t < tests.size(); ++t) answers.push_back(best.best(t).row);
  return answers;
}

}  // namespace detail

#endif

#if WORDLOOM_HAS_LIBLINEAR
namespace detail {

/// Trains the classifier of one tested pair; `random_words`: negative examples.
inline void learn_relation(const RowQueries& queries, std::span<const KnownPair> pairs,
                           std::size_t tested, std::span<const WordId> random_words,
                           const LogisticOptions& options, RelationTest& test) {
  const std::size_t dimension = queries.vectors.columns();
  FeatureRows features(dimension);
  std::vector<std::uint8_t> positive;
  std::vector<float> unit(dimension);
  const auto add = [&](WordId word, bool is_positive, std::size_t times = 1) {
    std::fill(unit.begin(), unit.end(), 0.0f);
    queries.add_unit(word, 1, unit);
    for (std::size_t i = 0; i < times; ++i) {
      features.append(unit);
      positive.push_back(is_positive);
    }
  };
  features.reserve(5 * pairs.size() + random_words.size());
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (i != tested && pairs[i].first) add(*pairs[i].first, true);
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (i != tested && pairs[i].word) add(*pairs[i].word, false, 4);
  for (const WordId word : random_words) add(word, false);
  const auto classifier = LogisticRegression::fit(features, positive, options);
  for (const double weight : classifier.weights())
    test.weights.push_back(static_cast<float>(weight));
  test.bias = static_cast<float>(classifier.bias());
}

/// Returns the outcome for each pair of a relation.
inline std::vector<AnalogyReport::Outcome> relation_outcomes(
    const Embeddings& embeddings, std::span<const KnownPair> pairs,
    const PairRelations::Options& options) {
  constexpr std::size_t tests_at_once = 256;  // bounds the memory
  const RowQueries queries{embeddings.vectors(), embeddings.inverse_lengths()};
  const auto count = [&](auto member) {
    return static_cast<std::size_t>(std::count_if(
        pairs.begin(), pairs.end(), [&](const auto& p) { return (p.*member).has_value(); }));
  };
  const std::size_t sources = count(&KnownPair::word), firsts = count(&KnownPair::first);
  Random random = Random::from_state(options.seed, 0x9e3779b97f4a7c15);  // plain SplitMix64
  std::vector<AnalogyReport::Outcome> outcomes(pairs.size());
  for (std::size_t begin = 0; begin < pairs.size(); begin += tests_at_once) {
    std::vector<RelationTest> tests;
    std::vector<std::size_t> places;
    std::vector<std::vector<WordId>> random_words;
    for (std::size_t i = begin; i < (std::min)(begin + tests_at_once, pairs.size()); ++i) {
      const auto& [source, first, answers] = pairs[i];
      std::vector<WordId> drawn(options.random_words ? sources - source.has_value() : 0);
      for (WordId& word : drawn) word = static_cast<WordId>(random() % embeddings.size());
      if (!source || !first || sources < 2 || firsts < 2) continue;
      places.push_back(i);
      tests.push_back({*source, answers});
      random_words.push_back(std::move(drawn));
    }
    // A training passes about 50 times over its rows.
    const std::size_t work = tests.size() * 300 * pairs.size() * embeddings.dimension();
    const std::size_t threads =
        (std::min)(threads_for(work, options.threads), (std::max<std::size_t>)(1, tests.size()));
    std::atomic<std::size_t> next{0};
    run_threads(threads, [&](std::size_t) {
      for (std::size_t t; (t = next.fetch_add(1)) < tests.size();)
        learn_relation(queries, pairs, places[t], random_words[t], options.classifier, tests[t]);
    });
    const auto answers = likely_answers(embeddings, tests, options.threads);
    for (std::size_t t = 0; t < tests.size(); ++t) {
      const auto& right = tests[t].answers;
      const bool is_right = std::find(right.begin(), right.end(), answers[t]) != right.end();
      outcomes[places[t]] =
          is_right ? AnalogyReport::Outcome::right : AnalogyReport::Outcome::wrong;
    }
  }
  return outcomes;
}

}  // namespace detail

inline AnalogyReport PairRelations::evaluate(const Embeddings& embeddings,
                                             std::span<const AnalogySection> sections,
                                             const Options& options) {
  AnalogyReport report;
  for (const AnalogySection& section : sections) {
    const auto pairs = detail::relation_pairs(embeddings.words(), section, options.letter_case);
    report.add(section, detail::relation_outcomes(embeddings, pairs, options));
  }
  return report;
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
