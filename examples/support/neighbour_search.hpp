#pragma once
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include <wordloom/alignment.hpp>
#include <wordloom/evaluation/sentence_vectors.hpp>
#include <wordloom/wordloom.hpp>
#if WORDLOOM_HAS_HNSWLIB
#include <wordloom/nearest_index.hpp>
#endif

#include "command_line.hpp"

/// The options of `neighbours` for an index, sentences and a second space.
struct SearchOptions {
  std::string index, sentences, counts, align, dictionary;
  std::uint64_t search = 0;
  bool sif = false, zipf = false;

  bool empty() const { return index.empty() && align.empty() && sentences.empty(); }
};

inline void declare_search(CLI::App& app, SearchOptions& options) {
  auto* const index = app.add_option(
      "--index", options.index,
      "Answer single words by the index in this file, which may miss a neighbour; it is built and "
      "saved if there is no such file");
  app.add_option("--search", options.search,
                 "Candidates of a question to the index: more find more; 0: 100")
      ->check(whole_number)
      ->needs(index);
  auto* const align = app.add_option(
      "--align", options.align,
      "Other vectors, which are rotated to these: a line is a word of theirs, and the answers are "
      "the nearest of these words (translations, changes of meaning)");
  app.add_option(
         "--dictionary", options.dictionary,
         "Pairs for --align instead of the words that both share: lines 'word<TAB>word', of "
         "the other vectors and of these")
      ->needs(align);
  auto* const sentences = app.add_option(
      "--sentences", options.sentences,
      "A file of sentences or documents, one a line: a line of the input is a sentence, and the "
      "answers are the nearest of these, by the mean of their words");
  auto* const sif =
      app.add_flag("--sif", options.sif,
                   "By smooth inverse frequency instead (Arora et al. 2017), for which "
                   "words need counts: those of a model, --counts or --zipf");
  sif->needs(sentences);
  auto* const counts =
      app.add_option("--counts", options.counts, "A vocabulary, lines 'word count'")->needs(sif);
  app.add_flag("--zipf", options.zipf, "Counts by Zipf's law, for words in order of frequency")
      ->needs(sif)
      ->excludes(counts);
  align->excludes(index);
  sentences->excludes(index)->excludes(align);
}

/// A search that takes the place of the exact one; nothing: it is left to that.
using OtherSearch =
    std::function<std::optional<std::vector<wordloom::Neighbour>>(const std::vector<std::string>&)>;

/// Loads or builds the index of an options' file, and returns the search of single words by it.
template <class Words>
OtherSearch search_by_index(const Words& words, const SearchOptions& options, std::size_t count) {
#if WORDLOOM_HAS_HNSWLIB
  using wordloom::NearestIndex;
  const auto made = [&] {
    const wordloom::Embeddings known = words.in_vocabulary();
    if (std::filesystem::exists(options.index)) return NearestIndex::load(options.index, known);
    static_cast<void>(
        wordloom::AtomicFile{options.index});  // fails before it is built if it cannot be written
    const auto start = std::chrono::steady_clock::now();
    NearestIndex index(known);
    index.save(options.index);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr, "neighbours: built %s in %.1f s", options.index.c_str(), time.count());
    if (index.size() > 0)
      std::fprintf(stderr, ", recall of ten neighbours %.3f",
                   index.recall(10, 100, options.search));
    std::fputc('\n', stderr);
    return index;
  };
  return
      [index = made(), words, count, search = options.search](const std::vector<std::string>& asked)
          -> std::optional<std::vector<wordloom::Neighbour>> {
        if (asked.size() != 1) return std::nullopt;
        if (words.contains(asked[0])) return index.most_similar(asked[0], count, search);
        const auto& vector = words.vector(asked[0]);
        return index.most_similar(std::span<const float>(vector), count, search);
      };
#else
  static_cast<void>(words), static_cast<void>(options), static_cast<void>(count);
  throw wordloom::InvalidArgument(
      "--index needs a build with hnswlib (Debian: libhnswlib-dev, WORDLOOM_ENABLE_HNSWLIB)");
#endif
}

inline bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\n\v\f\r") == line.npos;
}

/// Returns the search of a word of other vectors, rotated to `words`, and says how well these fit.
/// `other`: Embeddings, or vectors of any word, which are rotated as that is asked.
template <class Other>
OtherSearch search_from(const wordloom::Embeddings& words, const Other& other,
                        const SearchOptions& options, wordloom::LetterCase letter_case,
                        std::size_t count) {
  const wordloom::Embeddings known = other.in_vocabulary();
  wordloom::Alignment::Options alignment;
  if (!options.dictionary.empty())
    alignment.pairs = wordloom::Alignment::load_pairs(options.dictionary);
  const auto spell = [&](const wordloom::Embeddings& space, std::string& word) {
    const auto id = wordloom::find_spelling(space, word, letter_case);
    word = id ? space.word(*id) : "";  // which has no vector
  };
  for (auto& [first, second] : alignment.pairs) spell(known, first), spell(words, second);
  const auto rotation = std::make_shared<const wordloom::Alignment>(known, words, alignment);
  const std::size_t given = alignment.pairs.empty() ? rotation->pairs() : alignment.pairs.size();
  std::fprintf(stderr, "neighbours: aligned %zu of %zu pairs of words, residual %.4f (0 to 2)\n",
               rotation->pairs(), given, rotation->residual());
  return [=](const std::vector<std::string>& asked)
             -> std::optional<std::vector<wordloom::Neighbour>> {
    if (asked.size() != 1) throw wordloom::InvalidArgument("give one word of the other vectors");
    if constexpr (requires { other.has_vector(asked[0]); })
      if (!other.has_vector(asked[0])) throw wordloom::UnknownWord(asked[0]);
    const auto& vector = other.vector(asked[0]);
    return words.most_similar(rotation->apply(std::span<const float>(vector)), count);
  };
}

/// The sentences of a file, as answers to lines.
class SentenceSearch {
 public:
  template <class Words>
  SentenceSearch(const Words& words, const SearchOptions& options, wordloom::LetterCase letter_case)
      : lines_(wordloom::SentenceVectors::load_sentences(options.sentences)), vectors_([&] {
          std::vector<std::uint64_t> counts;
          if (!options.counts.empty()) counts = counts_of(words.words(), options.counts);
          using Vectors = wordloom::SentenceVectors;
          return Vectors(words, lines_,
                         {.method = options.sif ? Vectors::Method::sif : Vectors::Method::mean,
                          .counts = counts,
                          .zipf = options.zipf,
                          .letter_case = letter_case});
        }()) {
    if (vectors_.without_words() == lines_.size())
      throw wordloom::InvalidArgument(options.sentences + ": no word of it has a vector");
    if (vectors_.without_words() > 0)
      std::fprintf(stderr, "neighbours: %zu of %zu sentences have no word with a vector\n",
                   vectors_.without_words(), lines_.size());
  }

  std::size_t size() const { return lines_.size(); }
  std::vector<wordloom::Neighbour> answers(const std::string& line, std::size_t count) const {
    std::vector<wordloom::Neighbour> found;
    for (const auto& [sentence, score] : vectors_.most_similar(line, count))
      found.push_back({lines_[sentence], score});
    return found;
  }

 private:
  static std::vector<std::uint64_t> counts_of(const wordloom::WordList& words,
                                              const std::filesystem::path& path) {
    const auto vocabulary = wordloom::Vocabulary::load(path);
    std::vector<std::uint64_t> counts(words.size());
    for (std::size_t i = 0; i < words.size(); ++i)
      if (const auto id = vocabulary.find(words[i])) counts[i] = vocabulary.count(*id);
    return counts;
  }

  std::vector<std::string> lines_;
  wordloom::SentenceVectors vectors_;
};
