#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/evaluation/classifier.hpp>
#include <wordloom/evaluation/detail/test_file.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/model/embeddings.hpp>

/// Classification of sentences by the vectors of their words.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Returns the words of a sentence; see SentenceSet::load.
std::vector<std::string> sentence_words(std::string_view text, bool treebank);

}  // namespace detail

/// Labelled sentences, such as MR, CR, SUBJ and TREC.
struct SentenceSet {
  struct Sentence {
    std::uint32_t label;
    std::vector<std::string> words;
  };

  struct Options {
    LetterCase letter_case = LetterCase::fallback;
    LogisticOptions classifier = {};
    /// 0: all processors of the machine.
    std::size_t threads = 0;
  };

  struct Report {
    double accuracy = 0;                   // the mean over the folds
    std::vector<double> folds = {};        // the accuracy of each; one without cross-validation
    std::size_t used = 0;                  // sentences that were tested
    std::size_t without_words = 0;         // of all sentences: those of which no word has a vector
    std::vector<std::uint8_t> right = {};  // for each tested sentence, in order: 1 if it is right
  };

  /// A convolutional network that classifies the sentences; defined in sentence_network.hpp.
  struct Network;
  /// A recurrent network that classifies longer texts; defined in sentence_lstm.hpp.
  struct Lstm;

  std::vector<Sentence> sentences;
  /// The first so many sentences are trained on and the others tested; 0: each tenth of the
  /// sentences, number i modulo 10, is tested by training on the others.
  std::size_t trained = 0;

  /// Reads lines "label<TAB>sentence", the label a whole number. Words are as in Kim's (2014) code:
  /// in lower case, only ASCII letters, digits and (),!?'`, with ,!?() apart and 's, n't and the
  /// like split off, unless the text is `treebank`'s, which is split already. With several files,
  /// the last one is tested. Throws IoError, FormatError with the line, and InvalidArgument for one
  /// label alone.
  [[nodiscard]] static SentenceSet load(std::span<const std::filesystem::path> paths,
                                        bool treebank = false);

#if WORDLOOM_HAS_LIBLINEAR
  /// Classifies the mean of the vectors, as they are, of the known words of a sentence, by logistic
  /// regression, with more than two labels one against the rest; without known words it is 0.
  /// Memory: 16 (D + 2) bytes a sentence. Deterministic for any number of threads. Throws
  /// InvalidArgument for vectors that are not finite and options out of bounds.
  [[nodiscard]] Report evaluate(const Embeddings& embeddings, const Options& options) const;
  [[nodiscard]] Report evaluate(const Embeddings& embeddings) const {
    return evaluate(embeddings, Options{});
  }
#else
  template <class... Arguments>
  void evaluate(const Arguments&...) const {
    static_assert(sizeof...(Arguments) > 99,
                  "SentenceSet::evaluate needs LIBLINEAR: install it (Debian: liblinear-dev) and "
                  "configure with -DWORDLOOM_ENABLE_LIBLINEAR=ON");
  }
#endif
};

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

WORDLOOM_FUNCTION std::vector<std::string> sentence_words(std::string_view text, bool treebank) {
  constexpr std::string_view kept = "(),!?'`", apart = "(),!?";
  std::string cleaned;
  for (const char c : text) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    cleaned += is_plain || kept.find(c) != kept.npos ? c : ' ';
  }
  if (!treebank) {
    for (const std::string_view suffix : {"'s", "'ve", "n't", "'re", "'d", "'ll"})
      for (std::size_t at = 0; (at = cleaned.find(suffix, at)) != cleaned.npos;
           at += suffix.size() + 1)
        cleaned.insert(at, 1, ' ');
    std::string spaced;
    for (const char c : cleaned) {
      const bool is_apart = apart.find(c) != apart.npos;
      if (is_apart) spaced += ' ';
      spaced += c;
      if (is_apart) spaced += ' ';
    }
    cleaned = std::move(spaced);
  }
  std::vector<std::string> words;
  for_each_token(
      cleaned, [&](std::string_view word) { words.push_back(lower_case(word)); }, [] {});
  return words;
}

}  // namespace detail

WORDLOOM_FUNCTION SentenceSet SentenceSet::load(std::span<const std::filesystem::path> paths,
                                                bool treebank) {
  SentenceSet result;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (i > 0) result.trained = result.sentences.size();
    const detail::TestFile file(paths[i]);
    if (file.lines().empty()) file.refuse_empty("labelled sentences");
    for (const auto& line : file.lines()) {
      const std::size_t end = (std::min)(line.text.find('\t'), line.text.size());
      const std::string_view field = line.text.substr(0, end);
      const auto label = detail::number_in<std::uint32_t>(field);
      if (!label)
        file.refuse(line, 1, "a label, which is a whole number, a tab and a sentence",
                    detail::shown(field));
      result.sentences.push_back({*label, detail::sentence_words(line.text.substr(end), treebank)});
    }
  }
  const auto has_other_label = [&](const Sentence& s) {
    return s.label != result.sentences.front().label;
  };
  const auto end =
      result.sentences.begin() +
      static_cast<std::ptrdiff_t>(result.trained == 0 ? result.sentences.size() : result.trained);
  if (std::find_if(result.sentences.begin(), end, has_other_label) == end)
    throw InvalidArgument{paths.empty() ? std::filesystem::path() : paths[0],
                          ": all sentences have one label"};
  return result;
}

#endif

#if WORDLOOM_HAS_LIBLINEAR
namespace detail {

/// Classifies the sentences of a set.
class SentenceClassification {
 public:
  SentenceClassification(const SentenceSet& set, const Embeddings& embeddings,
                         const SentenceSet::Options& options)
      : set_(set), options_(options), features_(embeddings.dimension()) {
    means_ = RowMatrix(set.sentences.size(), embeddings.dimension());
    features_.reserve(set.sentences.size());
    for (std::size_t i = 0; i < set.sentences.size(); ++i) {
      std::size_t known = 0;
      const std::span<float> mean = means_.row(i);
      for (const auto& word : set.sentences[i].words)
        if (const auto id = find_spelling(embeddings.words(), word, options.letter_case)) {
          for (std::size_t d = 0; d < mean.size(); ++d) mean[d] += embeddings.vector(*id)[d];
          ++known;
        }
      for (float& x : mean) x /= static_cast<float>((std::max<std::size_t>)(known, 1));
      report_.without_words += known == 0;
      features_.append(mean);
    }
  }

  SentenceSet::Report run() {
    const std::size_t size = set_.sentences.size();
    std::vector<Split> splits(set_.trained == 0 ? (std::min<std::size_t>)(10, size) : 1);
    std::vector<std::pair<std::size_t, std::uint32_t>> jobs;  // split and label
    for (std::size_t s = 0; s < splits.size(); ++s) {
      for (std::uint32_t i = 0; i < size; ++i) {
        const bool is_tested = set_.trained == 0 ? i % 10 == s : i >= set_.trained;
        (is_tested ? splits[s].tested : splits[s].trained).push_back(i);
      }
      for (const std::uint32_t i : splits[s].trained)
        splits[s].scores[set_.sentences[i].label].resize(splits[s].tested.size());
      for (const auto& [label, scores] : splits[s].scores) jobs.emplace_back(s, label);
    }
    std::atomic<std::size_t> next{0};
    run_threads((std::min)(resolve_threads(options_.threads), jobs.size()), [&](std::size_t) {
      for (std::size_t job; (job = next.fetch_add(1)) < jobs.size();)
        score(splits[jobs[job].first], jobs[job].second);
    });
    report_.right.resize(size - set_.trained);
    for (const Split& split : splits) {
      std::size_t right = 0;
      for (std::size_t t = 0; t < split.tested.size(); ++t) {
        const auto best = std::max_element(
            split.scores.begin(), split.scores.end(),
            [t](const auto& a, const auto& b) { return a.second[t] < b.second[t]; });
        const bool is_right = best->first == set_.sentences[split.tested[t]].label;
        report_.right[split.tested[t] - set_.trained] = is_right;
        right += is_right;
      }
      report_.used += split.tested.size();
      report_.folds.push_back(static_cast<double>(right) /
                              static_cast<double>(split.tested.size()));
      report_.accuracy += report_.folds.back() / static_cast<double>(splits.size());
    }
    return report_;
  }

 private:
  struct Split {
    std::vector<std::uint32_t> trained, tested;
    std::map<std::uint32_t, std::vector<double>> scores;  // of the tested ones, by label
  };

  /// Scores one label against the rest; of two labels, only the second is trained.
  void score(Split& split, std::uint32_t label) const {
    const std::size_t labels = split.scores.size();
    if (labels <= 2 && label == split.scores.begin()->first) return;  // 0, the other's threshold
    std::vector<std::uint8_t> positive;
    for (const std::uint32_t i : split.trained)
      positive.push_back(set_.sentences[i].label == label);
    const auto classifier =
        LogisticRegression::fit(features_, split.trained, positive, options_.classifier);
    std::vector<double>& scores = split.scores.find(label)->second;
    for (std::size_t t = 0; t < scores.size(); ++t)
      scores[t] = classifier.decision(means_.row(split.tested[t]));
  }

  const SentenceSet& set_;
  const SentenceSet::Options& options_;
  FeatureRows features_;  // [sentences x D]
  RowMatrix means_;       // the same
  SentenceSet::Report report_;
};

}  // namespace detail

inline SentenceSet::Report SentenceSet::evaluate(const Embeddings& embeddings,
                                                 const Options& options) const {
  return detail::SentenceClassification(*this, embeddings, options).run();
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
