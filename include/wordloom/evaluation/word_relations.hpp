#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/evaluation/detail/test_file.hpp>
#include <wordloom/evaluation/letter_case.hpp>
#include <wordloom/model/embeddings.hpp>

#if WORDLOOM_HAS_BLAS
#include <wordloom/encoder/detail/sequence_network.hpp>
#include <wordloom/evaluation/detail/word_table.hpp>
#include <wordloom/kernel/detail/one_blas_thread.hpp>
#endif

/// Relations of two words in a sentence.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// Sentences with two marked words and the name of their relation, such as SemEval-2010 task 8
/// (Hendrickx et al. 2010): nine relations with a direction, "Cause-Effect(e1,e2)", and "Other".
struct WordRelations {
  struct Sentence {
    std::string relation;
    std::vector<std::string> words;  // in lower case
    std::size_t places[2];           // of the last words of both marked parts
  };

  /// The network of Zeng et al. (2014, "Relation Classification via Convolutional Deep Neural
  /// Network") without lexical features: words, and the distances to both marked words as trained
  /// vectors of 50 numbers; filters over 3 words, tanh of the maximum over time, a softmax; Adam.
  struct Options {
    /// Filters, 1 to 65536.
    std::size_t filters = 100;
    /// The share of features that are left out at random in training, 0 to 0.99.
    double dropout = 0.25;
    /// Sentences between two steps, 1 to 1000000.
    std::size_t batch = 64;
    /// Passes over the sentences, 1 to 10000.
    std::size_t epochs = 20;
    std::uint64_t seed = 1;
    LetterCase letter_case = LetterCase::fallback;

    template <class Visit>
    void visit_parameters(Visit&& visit) const {
      visit("filters", filters, 1, 65536);
      visit("dropout", dropout, 0.0, 0.99);
      visit("batch", batch, 1, 1'000'000);
      visit("epochs", epochs, 1, 10'000);
    }
  };

  struct Report {
    double f1 = 0;                     // the official score, as a share
    std::vector<std::string> guesses;  // for each tested sentence
    std::size_t words = 0, known = 0;  // different words of all sentences, and those with a vector
  };

  std::vector<Sentence> trained, tested;

  /// Reads lines "number<TAB>relation<TAB>sentence", in which `<e1>...</e1>` and `<e2>...</e2>`
  /// mark the words. Words are runs of ASCII letters and digits; every other character is one,
  /// too.
  /// Throws IoError, FormatError with line and column, and InvalidArgument if there is one
  /// relation.
  [[nodiscard]] static WordRelations load(const std::filesystem::path& trained,
                                          const std::filesystem::path& tested);

  /// Returns the official score of the task, as a share: the mean over relations, without "Other",
  /// of F1, where a guess is right only in the right direction and both directions are counted
  /// together. 0 if there is no relation.
  [[nodiscard]] static double macro_f1(std::span<const std::string> truth,
                                       std::span<const std::string> guesses);

#if WORDLOOM_HAS_BLAS
  /// Trains the network and classifies the tested sentences as after the epoch that is best on a
  /// tenth of the training sentences, which are held out. The vectors of words are not trained;
  /// words without one have one that is drawn from +- 0.25. One thread. Deterministic. Throws
  /// InvalidArgument for options out of bounds and vectors that are not finite.
  [[nodiscard]] Report evaluate(const Embeddings& embeddings, const Options& options) const;
  [[nodiscard]] Report evaluate(const Embeddings& embeddings) const {
    return evaluate(embeddings, Options{});
  }
#endif
};

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Reads a sentence with two marked parts; returns whether both are there and hold a word.
inline bool read_marked(std::string_view text, WordRelations::Sentence& sentence) {
  std::size_t open = 0, closed = 0;  // bits of the parts
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  std::size_t first_words[2] = {};
  for (std::size_t at = 0; at < text.size();) {
    bool is_mark = false;
    for (const std::size_t part : {0u, 1u}) {
      const std::string name = part == 0 ? "e1>" : "e2>";
      if (text.substr(at).starts_with("<" + name)) {
        if ((open >> part & 1) != 0) return false;
        open |= std::size_t{1} << part;
        first_words[part] = sentence.words.size();
        at += 1 + name.size();
        is_mark = true;
      } else if (text.substr(at).starts_with("</" + name)) {
        if ((open >> part & 1) == 0 || (closed >> part & 1) != 0 ||
            sentence.words.size() == first_words[part])
          return false;
        closed |= std::size_t{1} << part;
        sentence.places[part] = sentence.words.size() - 1;
        at += 2 + name.size();
        is_mark = true;
      }
    }
    if (is_mark) continue;
    std::size_t end = at + 1;
    const auto goes_on = [&](char c) {
      return is_plain(text[at]) ? is_plain(c) : (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    };
    while (end < text.size() && goes_on(text[end])) ++end;
    if (white_space.find(text[at]) == white_space.npos)
      sentence.words.push_back(lower_case(text.substr(at, end - at)));
    at = end;
  }
  return closed == 3;
}

inline std::vector<WordRelations::Sentence> load_relations(const std::filesystem::path& path) {
  const TestFile file(path);
  if (file.lines().empty()) file.refuse_empty("sentences with relations");
  std::vector<WordRelations::Sentence> sentences;
  for (const auto& line : file.lines()) {
    constexpr auto expected =
        "a number, a relation and a sentence with <e1>, </e1>, <e2> and </e2>";
    const std::size_t first = line.text.find('\t');
    const std::size_t second = first == line.text.npos ? first : line.text.find('\t', first + 1);
    if (second == line.text.npos) file.refuse(line, 1, expected, shown(line.text));
    WordRelations::Sentence sentence{};
    sentence.relation = std::string(line.text.substr(first + 1, second - first - 1));
    if (!read_marked(line.text.substr(second + 1), sentence))
      file.refuse(line, second + 2, expected, shown(line.text.substr(second + 1)));
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace detail

WORDLOOM_FUNCTION WordRelations WordRelations::load(const std::filesystem::path& trained,
                                                    const std::filesystem::path& tested) {
  WordRelations result{detail::load_relations(trained), detail::load_relations(tested)};
  for (const Sentence& sentence : result.trained)
    if (sentence.relation != result.trained[0].relation) return result;
  throw InvalidArgument{trained, ": all sentences have one relation"};
}

WORDLOOM_FUNCTION double WordRelations::macro_f1(std::span<const std::string> truth,
                                                 std::span<const std::string> guesses) {
  if (truth.size() != guesses.size())
    throw InvalidArgument{"macro_f1 needs one guess for each relation, got ", guesses.size(),
                          " for ", truth.size()};
  struct Count {
    double right = 0, guessed = 0, actual = 0;
  };
  std::map<std::string, Count> counts;
  const auto name = [](const std::string& relation) {
    return relation.substr(0, relation.find('('));
  };
  for (std::size_t i = 0; i < truth.size(); ++i) {
    counts[name(truth[i])].actual += 1;
    counts[name(truth[i])].right += truth[i] == guesses[i];
    counts[name(guesses[i])].guessed += 1;
  }
  counts.erase("Other");
  double sum = 0, relations = 0;
  for (const auto& [relation, count] : counts) {
    if (count.actual == 0) continue;  // only guessed
    sum += 2 * count.right / (count.guessed + count.actual);
    relations += 1;
  }
  return relations == 0 ? 0 : sum / relations;
}

#endif

#if WORDLOOM_HAS_BLAS

inline WordRelations::Report WordRelations::evaluate(const Embeddings& embeddings,
                                                     const Options& options) const {
  validate_parameters(options);
  constexpr std::ptrdiff_t farthest = 31;  // greater distances are equal to this
  detail::WordTable table(embeddings, options.letter_case, options.seed, [&](const auto& call) {
    for (const auto* const sentences : {&trained, &tested})
      for (const Sentence& sentence : *sentences)
        for (const std::string& word : sentence.words) call(word);
  });
  Report report;
  report.words = table.rows().rows() - 1;
  report.known = table.known();
  Random random(options.seed, 2);
  RowMatrix distances[2] = {RowMatrix(2 * farthest + 2, 50), RowMatrix(2 * farthest + 2, 50)};
  for (RowMatrix& rows : distances)
    for (std::size_t row = 1; row < rows.rows(); ++row)
      for (float& x : rows.row(row)) x = static_cast<float>((random.uniform() - 0.5) / 10);
  std::map<std::string, std::uint32_t> classes;
  for (const Sentence& sentence : trained) classes.try_emplace(sentence.relation, 0);
  std::vector<std::string> names;
  for (auto& [name, number] : classes) {
    number = static_cast<std::uint32_t>(names.size());
    names.push_back(name);
  }
  std::vector<std::vector<std::uint32_t>> symbols;
  std::vector<std::uint32_t> labels, trains, tests;
  for (const auto* const sentences : {&trained, &tested})
    for (const Sentence& sentence : *sentences) {
      (sentences == &trained ? trains : tests)
          .push_back(static_cast<std::uint32_t>(symbols.size()));
      const auto known = classes.find(sentence.relation);
      labels.push_back(known == classes.end() ? 0 : known->second);
      auto& tokens = symbols.emplace_back();
      for (std::size_t i = 0; i < sentence.words.size(); ++i) {
        tokens.push_back(table.symbol(sentence.words[i]));
        for (const std::size_t place : sentence.places) {
          const auto far = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(place);
          tokens.push_back(
              static_cast<std::uint32_t>(std::clamp(far, -farthest, farthest) + farthest + 1));
        }
      }
    }
  const detail::OneBlasThread one_thread;
  detail::SequenceNetwork network({{table.rows()}, {distances[0], true}, {distances[1], true}},
                                  {.classes = names.size(),
                                   .min_width = 3,
                                   .max_width = 3,
                                   .filters = options.filters,
                                   .padding = 1,
                                   .dropout = options.dropout,
                                   .has_tanh = true,
                                   .rule = detail::NetworkParameter::Rule::adam,
                                   .max_norm = 0,
                                   .spread = 0.05,
                                   .seed = options.seed});
  const auto names_of = [&](const std::vector<std::uint32_t>& numbers) {
    std::vector<std::string> result;
    for (const std::uint32_t number : numbers) result.push_back(names[number]);
    return result;
  };
  const detail::HeldOut held_out(trains);
  const auto truth = names_of(detail::chosen_of<std::uint32_t>(labels, held_out.decides));
  const std::vector<detail::Symbols> sequences(symbols.begin(), symbols.end());
  report.guesses = names_of(detail::classes_at_best_epoch(
      network, std::span(sequences), std::span<const std::uint32_t>(labels), held_out, tests,
      options.epochs, options.batch,
      [&](const auto& found) { return macro_f1(truth, names_of(found)); }));
  std::vector<std::string> tested_truth;
  for (const Sentence& sentence : tested) tested_truth.push_back(sentence.relation);
  report.f1 = macro_f1(tested_truth, report.guesses);
  return report;
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
