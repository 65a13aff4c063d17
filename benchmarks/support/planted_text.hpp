#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>

/// A made-up text of any size with planted relations between its words, and the test sets that
/// ask for them, to measure the quality of training.
///
/// A content word is a stem in a form ("baten": the stem "bate", the form "n"). Each stem is in two
/// topics at random ranks. A sentence has a topic and a form, and each word of it is a function
/// word, a marker of the form, or a stem of the topic, usually in the sentence's form. A share of
/// the stems, from topic to topic between 0 and 0.6, strays from any topic, so that some relations
/// take more text to learn than others. Topics, stems of a topic and function words have weights
/// rank^-exponent. The test sets do not depend on the size of the text, of which a smaller one with
/// the same seed has the first words.
class PlantedText {
 public:
  struct Options {
    std::size_t tokens = 20'000'000;  // at least 1
    std::size_t stems = 5'000;        // 20 to 10^7, each in 4 forms; in topics of 20 stems
    std::uint64_t seed = 1;
  };

  /// Throws InvalidArgument.
  explicit PlantedText(const Options& options)
      : options_(checked(options)),
        topics_(options.stems / stems_of_topic * topics_of_stem),
        shares_(options.stems),
        frequencies_(options.stems),
        topic_law_(zipf(topics_.size(), topic_exponent)),
        function_law_(zipf(function_words, function_exponent)) {
    Random random(options.seed, 1);
    std::vector<std::size_t> places(topics_of_stem * options.stems);
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i % options.stems;
    for (std::size_t i = places.size(); i > 1; --i)
      std::swap(places[i - 1], places[random.below(i)]);
    for (std::size_t i = 0; i < places.size(); ++i)
      topics_[i % topics_.size()].stems.push_back(places[i]);
    const auto topic_weights = zipf(topics_.size(), topic_exponent);
    for (std::size_t t = 0; t < topics_.size(); ++t) {
      Topic& topic = topics_[t];
      const auto weights = zipf(topic.stems.size(), stem_exponent);
      topic.law = AliasTable(weights);
      topic.stray_share = max_stray_share * static_cast<double>(t % 8) / 7;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const double weight = topic_weights[t] * weights[i];
        shares_[topic.stems[i]].push_back({t, (1 - topic.stray_share) * weight});
        frequencies_[topic.stems[i]] += weight;
      }
    }
    for (std::size_t i = 0; i < function_words; ++i)
      functions_.push_back(std::string("o").append(syllables(i, 2)));
    for (std::size_t i = 0; i < forms * markers_of_form; ++i)
      markers_.push_back(std::string("u").append(syllables(i, 1)));
    std::size_t width = 1;
    for (std::size_t n = options.stems; n > 100; n = (n + 99) / 100) ++width;
    for (std::size_t i = 0; i < options.stems * forms; ++i)
      contents_.push_back(syllables(i / forms, width) + form_letters[i % forms]);
  }

  /// Hands the text to `write(std::string_view)` in pieces, one sentence a line. The same options
  /// give the same bytes where std::pow is the same.
  template <class Write>
  void write(Write write) const {
    Random random(options_.seed);
    std::string piece;
    for (std::size_t left = options_.tokens; left > 0;) {
      const Topic& topic = topics_[topic_law_.draw(random)];
      const std::size_t form = random.below(forms);
      const std::size_t length = std::min<std::size_t>(left, 5 + random.below(31));
      for (std::size_t i = 0; i < length; ++i) {
        piece += word(topic, form, random);
        piece += i + 1 < length ? ' ' : '\n';
      }
      left -= length;
      if (piece.size() < piece_bytes && left > 0) continue;
      write(std::string_view(piece));
      piece.clear();
    }
  }

  /// Returns about 1,000 lines of two stems in the same form and ten times the cosine of their
  /// distributions over topics (without strays), separated by tabs. As many pairs have a score from
  /// 0 to 1, from 1 to 2, and so on, as far as there are such pairs.
  std::string similarity() const { return pairs(std::numeric_limits<double>::infinity()); }

  /// Returns such lines of the rarer half of the stems.
  std::string similarity_of_rare_stems() const {
    std::vector<double> sorted = frequencies_;
    std::sort(sorted.begin(), sorted.end());
    return pairs(sorted[sorted.size() / 2]);
  }

  /// Returns 500 questions for each two forms, in sections: a stem in both forms, another stem in
  /// both.
  std::string analogies() const {
    Random random(options_.seed, 3);
    std::string lines;
    for (std::size_t to = 1; to < forms; ++to)
      for (std::size_t from = 0; from < to; ++from) {
        lines += std::string(": gram-") + form_letters[from] + "-to-" + form_letters[to] + '\n';
        for (int i = 0; i < 500; ++i) {
          const std::size_t a = any_stem(i % 2 == 0, random);
          std::size_t b = a;
          while (b == a) b = any_stem(i % 2 == 0, random);
          lines += content(a, from) + ' ' + content(a, to) + ' ' + content(b, from) + ' ' +
                   content(b, to) + '\n';
        }
      }
    return lines;
  }

 private:
  using Random = wordloom::Random;
  using AliasTable = wordloom::detail::AliasTable;
  struct Topic {
    std::vector<std::size_t> stems{};  // by rank
    AliasTable law{std::array{1.0}};   // of the ranks
    double stray_share = 0;            // of the content words of its sentences
  };
  struct Share {
    std::size_t topic;
    double weight;
  };
  static constexpr std::size_t piece_bytes = std::size_t{1} << 16;
  static constexpr std::string_view form_letters = "nrst";
  static constexpr std::size_t forms = form_letters.size(), topics_of_stem = 2, stems_of_topic = 20,
                               function_words = 200, markers_of_form = 20;
  // Chosen so that scores rise with the text from 2 to 32 million words (benchmarks/README.md).
  // With exponents of 0.7, same_form 0.8, marker_share 0.15 and no strays, 8 million words were
  // enough for 98.5 % of the analogies.
  static constexpr double topic_exponent = 1, stem_exponent = 0.9, function_exponent = 1,
                          function_share = 0.35, marker_share = 0.1, same_form = 0.6,
                          max_stray_share = 0.6;

  static const Options& checked(const Options& options) {
    using wordloom::InvalidArgument;
    if (options.tokens == 0) throw InvalidArgument("a text of 0 tokens: it needs at least 1");
    if (options.stems < 20 || options.stems > 10'000'000)
      throw InvalidArgument{"a text of ", options.stems, " stems, must be from 20 to 10000000"};
    return options;
  }

  static std::vector<double> zipf(std::size_t count, double exponent) {
    std::vector<double> weights(count);
    for (std::size_t i = 0; i < count; ++i)
      weights[i] = std::pow(static_cast<double>(i + 1), -exponent);
    return weights;
  }

  /// Returns `count` syllables of a consonant and a vowel, the digits of a number to the base 100.
  static std::string syllables(std::size_t number, std::size_t count) {
    std::string name;
    for (; count > 0; --count, number /= 100)
      name = std::string{"bcdfghjklmnprstvwxyz"[number % 100 / 5], "aeiou"[number % 5]} + name;
    return name;
  }

  static double cosine(const std::vector<Share>& a, const std::vector<Share>& b) {
    const auto product = [](const auto& first, const auto& second) {
      double sum = 0;
      for (const Share& x : first)
        for (const Share& y : second) sum += x.topic == y.topic ? x.weight * y.weight : 0;
      return sum;
    };
    return product(a, b) / std::sqrt(product(a, a) * product(b, b));
  }

  /// Draws a topic, and a stem, as often as in the text or each as likely. Test sets take both in
  /// turn, so that they hold frequent words, which are learned from little text, and rare ones.
  const Topic& any_topic(bool as_in_text, Random& random) const {
    return topics_[as_in_text ? topic_law_.draw(random) : random.below(topics_.size())];
  }
  std::size_t any_stem(bool as_in_text, Random& random) const {
    const Topic& topic = any_topic(as_in_text, random);
    return topic.stems[as_in_text ? topic.law.draw(random) : random.below(topic.stems.size())];
  }

  const std::string& content(std::size_t stem, std::size_t form) const {
    return contents_[stem * forms + form];
  }

  /// Returns the lines of stems up to a frequency.
  std::string pairs(double max_frequency) const {
    Random random(options_.seed, 2);
    std::array<std::size_t, 10> counts{};
    std::set<std::pair<std::size_t, std::size_t>> taken;
    std::string lines;
    for (int attempt = 0; attempt < 100'000; ++attempt) {
      // Two stems of a topic, because others rarely have one in common.
      const auto& stems = any_topic(attempt % 2 == 0, random).stems;
      std::size_t first = stems[random.below(stems.size())];
      std::size_t second = stems[random.below(stems.size())];
      if (attempt % 16 < 2) second = random.below(options_.stems);
      if (first > second) std::swap(first, second);
      if (first == second || std::max(frequencies_[first], frequencies_[second]) > max_frequency)
        continue;
      const double score = 10 * cosine(shares_[first], shares_[second]);
      std::size_t& count = counts[std::min<std::size_t>(9, static_cast<std::size_t>(score))];
      if (count == 100 || !taken.insert({first, second}).second) continue;
      ++count;
      const std::size_t form = random.below(forms);
      lines +=
          content(first, form) + '\t' + content(second, form) + '\t' + std::to_string(score) + '\n';
    }
    return lines;
  }

  const std::string& word(const Topic& topic, std::size_t form, Random& random) const {
    const double kind = random.uniform();
    if (kind < function_share) return functions_[function_law_.draw(random)];
    if (kind < function_share + marker_share)
      return markers_[form * markers_of_form + random.below(markers_of_form)];
    const Topic& source =
        random.uniform() < topic.stray_share ? topics_[topic_law_.draw(random)] : topic;
    const std::size_t stem = source.stems[source.law.draw(random)];
    if (random.uniform() >= same_form) form = (form + 1 + random.below(forms - 1)) % forms;
    return content(stem, form);
  }

  Options options_;
  std::vector<Topic> topics_;
  std::vector<std::vector<Share>> shares_;  // of the stems, in topics: two, or one with the sum
  std::vector<double> frequencies_;         // of the stems, up to a factor
  AliasTable topic_law_, function_law_;
  std::vector<std::string> functions_, markers_, contents_;
};
