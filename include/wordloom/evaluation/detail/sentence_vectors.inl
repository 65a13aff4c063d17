#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>

#include <wordloom/algebra/detail/blocks.hpp>
#include <wordloom/algebra/detail/dense_rows.hpp>
#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/parameters.hpp>
#include <wordloom/evaluation/detail/test_file.hpp>
#include <wordloom/evaluation/sentence_vectors.hpp>
#include <wordloom/evaluation/word_similarity.hpp>
#include <wordloom/query/nearest_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// Returns the weights a / (a + p(w)) of words [V].
inline std::vector<float> sif_weights(const Embeddings& known,
                                      const SentenceVectors::Options& options) {
  check_parameter("smoothing", options.smoothing, 1e-6, 1.0);
  const auto counts = options.counts.empty() ? known.counts() : options.counts;
  if (!options.counts.empty() && counts.size() != known.size())
    throw InvalidArgument{"sentence vectors need one count for each of ", known.size(),
                          " words, got ", counts.size()};
  if (counts.empty() && !options.zipf)
    throw InvalidArgument(
        "sif needs the counts of words, which these vectors do not have: give them, or ask for "
        "Zipf's law if the words are in order of frequency");
  std::vector<double> shares(known.size());
  for (std::size_t i = 0; i < shares.size(); ++i)
    shares[i] = counts.empty() ? 1.0 / static_cast<double>(i + 1) : static_cast<double>(counts[i]);
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (!(total > 0)) throw InvalidArgument("sif needs counts, all of these are 0");
  std::vector<float> weights(shares.size());
  std::ranges::transform(shares, weights.begin(), [&](double share) {
    return static_cast<float>(options.smoothing / (options.smoothing + share / total));
  });
  return weights;
}

}  // namespace detail

WORDLOOM_FUNCTION SentenceVectors::SentenceVectors(Embeddings known, Lookup lookup,
                                                   std::span<const std::string> sentences,
                                                   const Options& options)
    : known_(std::move(known)),
      lookup_(std::move(lookup)),
      letter_case_(options.letter_case),
      vectors_(sentences.size(), known_.dimension()) {
  const bool is_sif = options.method == Method::sif;
  if (is_sif) weights_ = detail::sif_weights(known_, options);
  std::vector<char> has_words(sentences.size());
  detail::for_blocks(sentences.size(), 64, resolve_threads(options.threads),
                     [&](std::size_t, std::size_t first, std::size_t last) {
                       for (std::size_t i = first; i < last; ++i)
                         has_words[i] = compose(sentences[i], vectors_.row(i));
                     });
  without_words_ = static_cast<std::size_t>(std::ranges::count(has_words, 0));
  if (is_sif) {
    if (sentences.size() - without_words_ < 2)
      throw InvalidArgument{"sif needs at least two sentences with known words, ",
                            sentences.size() - without_words_, " of ", sentences.size(),
                            " have any"};
    const auto eigen = detail::symmetric_eigen(detail::gram(vectors_, options.threads));
    common_.resize(known_.dimension());
    for (std::size_t d = 0; d < common_.size(); ++d)
      common_[d] = static_cast<float>(eigen.vectors(0, d));
    for (std::size_t i = 0; i < sentences.size(); ++i) remove_common(vectors_.row(i));
  }
  inverse_lengths_ = detail::inverse_lengths(vectors_);
}

WORDLOOM_FUNCTION bool SentenceVectors::compose(std::string_view sentence,
                                                std::span<float> sum) const {
  std::size_t count = 0;
  std::vector<float> composed(lookup_ ? sum.size() : 0);
  for_each_token(
      sentence,
      [&](std::string_view word) {
        std::span<const float> vector = composed;
        float weight = 1;
        if (const auto id = find_spelling(known_.words(), word, letter_case_)) {
          vector = known_.vector(*id);
          if (!weights_.empty()) weight = weights_[*id];
        } else if (!lookup_ || !lookup_(letter_case_ == LetterCase::exact ? std::string(word)
                                                                          : lower_case(word),
                                        composed)) {
          return;
        }
        ++count;
        for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += weight * vector[d];
      },
      [] {});
  for (float& x : sum) x /= static_cast<float>((std::max<std::size_t>)(count, 1));
  return count > 0;
}

WORDLOOM_FUNCTION void SentenceVectors::remove_common(std::span<float> vector) const {
  if (common_.empty()) return;
  const double along = detail::dot_in_double(vector, common_);
  for (std::size_t d = 0; d < vector.size(); ++d)
    vector[d] -= static_cast<float>(along * static_cast<double>(common_[d]));
}

WORDLOOM_FUNCTION std::vector<float> SentenceVectors::vector(std::string_view sentence) const {
  std::vector<float> result(known_.dimension());
  if (compose(sentence, result)) remove_common(result);
  return result;
}

WORDLOOM_FUNCTION std::vector<SentenceVectors::Match> SentenceVectors::most_similar(
    std::string_view sentence, std::size_t k) const {
  RowMatrix question(1, known_.dimension());
  if (!compose(sentence, question.row(0)))
    throw InvalidArgument{"no word of ", detail::shown(sentence), " has a vector"};
  remove_common(question.row(0));
  detail::scale_to_unit(question.row(0));
  const auto skip = [&](std::size_t, std::size_t row) { return inverse_lengths_[row] == 0; };
  const auto found =
      detail::nearest_rows(detail::MatrixCosines(vectors_, inverse_lengths_), vectors_.rows(),
                           question, 1, k, detail::CosineScore(), skip);
  std::vector<Match> result;
  for (const auto& [row, score] : found.front()) result.push_back({row, score});
  return result;
}

WORDLOOM_FUNCTION std::vector<std::string> SentenceVectors::load_sentences(
    const std::filesystem::path& path) {
  const detail::InputFile file(path, detail::Content::text);
  std::vector<std::string> sentences;
  for (detail::LineReader reader(file); reader.next();)
    if (!detail::trimmed(reader.line()).empty()) sentences.emplace_back(reader.line());
  if (sentences.empty()) throw FormatError::at_line(path, 1, 1, "a sentence", "no line with words");
  return sentences;
}

WORDLOOM_FUNCTION std::vector<SentenceVectors::Pair> SentenceVectors::Pair::load(
    const std::filesystem::path& path) {
  const detail::TestFile file(path);
  constexpr std::string_view expected = "a score, a tab, a sentence, a tab and a sentence";
  std::vector<Pair> pairs;
  for (const auto& line : file.lines()) {
    const std::size_t first = line.text.find('\t');
    const std::size_t second = first == line.text.npos ? first : line.text.find('\t', first + 1);
    if (second == line.text.npos)
      file.refuse(line, 1, expected,
                  detail::joined({detail::TestFile::count(line.text, '\t'), " tabs"}));
    const std::string_view field = line.text.substr(0, first);
    const std::string_view rest = line.text.substr(second + 1);
    if (field.find_first_not_of(detail::white_space) == field.npos) continue;
    const auto score = detail::number_in<double>(field);
    if (!score || !detail::is_finite(*score)) file.refuse(line, 1, expected, detail::shown(field));
    pairs.push_back({std::string(line.text.substr(first + 1, second - first - 1)),
                     std::string(rest.substr(0, rest.find('\t'))), *score});
  }
  if (pairs.empty()) file.refuse_empty("pairs of sentences with scores");
  return pairs;
}

WORDLOOM_FUNCTION SentenceVectors::Report SentenceVectors::report_of(
    std::span<const Pair> pairs) const {
  Report report;
  std::vector<double> people, cosines;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const std::size_t a = 2 * i, b = a + 1;
    if (inverse_lengths_[a] == 0 || inverse_lengths_[b] == 0) {
      ++report.without_words;
      continue;
    }
    people.push_back(pairs[i].score);
    cosines.push_back(detail::dot_in_double(vectors_.row(a), vectors_.row(b)) *
                      static_cast<double>(inverse_lengths_[a]) *
                      static_cast<double>(inverse_lengths_[b]));
  }
  report.used = people.size();
  report.pearson = detail::pearson(people, cosines);
  report.spearman = detail::spearman(people, cosines);
  return report;
}

}}  // namespace wordloom::WORDLOOM_ABI
