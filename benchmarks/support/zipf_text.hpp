#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/core/error.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/types.hpp>

/// A made-up text with the word frequencies of a language and nothing else of it, to measure speed.
///
/// Words are drawn independently from the law of Zipf and Mandelbrot: the word of rank r has weight
/// (r + shift)^-exponent. Each word of the vocabulary also occurs once at a random place, so that a
/// minimum count of 1 keeps them all: that share of the tokens, words / tokens, is uniform.
class ZipfText {
 public:
  /// The defaults are those of the 1 Billion Word Benchmark: its vocabulary, sentences of 25 words,
  /// and a law that keeps 0.69 of the tokens at a subsampling threshold of 1e-4.
  struct Options {
    std::size_t words = 1'115'011;    // of the vocabulary, 1 to 2^32 - 1
    std::size_t tokens = 20'000'000;  // at least `words`
    double exponent = 1.07;           // finite, not negative
    double shift = 2.7;               // finite, above -1
    std::size_t line_words = 25;      // the mean, at least 1
    bool fixed_lines = false;         // whether all lines are that long
    std::uint64_t seed = 1;
  };

  /// Throws InvalidArgument.
  explicit ZipfText(const Options& options)
      : options_(checked(options)), law_(weights(options)), names_(names(options.words)) {}

  /// Hands the text to `write(std::string_view)` in pieces, one line after another. The same
  /// options give the same bytes where std::pow is the same.
  template <class Write>
  void write(Write write) const {
    Random random(options_.seed), places(options_.seed, 1);
    // The words in the random order in which each occurs once.
    std::vector<WordId> once(options_.words);
    std::iota(once.begin(), once.end(), WordId{0});
    for (std::size_t i = once.size(); i > 1; --i) std::swap(once[i - 1], once[places.below(i)]);
    std::string piece;
    std::size_t left_in_line = line_length(places);
    for (std::size_t left = options_.tokens; left > 0; --left) {
      // Selection sampling (Knuth, volume 2, algorithm S): each choice of places is as likely.
      const WordId drawn = law_.draw(random);
      const bool is_place = places.below(left) < once.size();
      piece += name(is_place ? once.back() : drawn);
      if (is_place) once.pop_back();
      const bool ends_line = --left_in_line == 0 || left == 1;
      piece += ends_line ? '\n' : ' ';
      if (!ends_line) continue;
      left_in_line = line_length(places);
      if (piece.size() < piece_bytes) continue;
      write(std::string_view(piece));
      piece.clear();
    }
    write(std::string_view(piece));
  }

 private:
  using Random = wordloom::Random;
  using WordId = wordloom::WordId;
  static constexpr std::size_t piece_bytes = std::size_t{1} << 16;

  static const Options& checked(const Options& options) {
    using wordloom::InvalidArgument;
    if (options.words == 0 || options.words > UINT32_MAX)
      throw InvalidArgument{"the vocabulary has ", options.words,
                            " words, must be from 1 to 4294967295"};
    if (options.tokens < options.words)
      throw InvalidArgument{"a text of ", options.tokens, " tokens cannot hold each of ",
                            options.words, " words: ask for more tokens or fewer words"};
    if (!(options.exponent >= 0) || !std::isfinite(options.exponent))
      throw InvalidArgument{"the exponent is ", options.exponent,
                            ", must be finite and not negative"};
    if (!(options.shift > -1) || !std::isfinite(options.shift))
      throw InvalidArgument{"the shift is ", options.shift, ", must be finite and above -1"};
    if (options.line_words == 0) throw InvalidArgument("lines of 0 words: a line needs at least 1");
    return options;
  }

  static std::vector<double> weights(const Options& options) {
    std::vector<double> result(options.words);
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = std::pow(static_cast<double>(i + 1) + options.shift, -options.exponent);
    return result;
  }

  /// Returns a, b, ... z, aa, ab, ...: frequent words are short, as in a language.
  static std::vector<std::string> names(std::size_t count) {
    std::vector<std::string> result(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t n = i + 1; n > 0; n = (n - 1) / 26)
        result[i].insert(result[i].begin(), static_cast<char>('a' + (n - 1) % 26));
    }
    return result;
  }
  const std::string& name(WordId word) const { return names_[word]; }

  /// Draws the number of words of a line: that of sentences spreads like the sum of three numbers
  /// with geometric distributions. In 200,000 sentences of Wikipedia the mean is 26.3 and the
  /// standard deviation 14.2; three geometric distributions give 15.2, one 26.3.
  std::size_t line_length(Random& random) const {
    if (options_.fixed_lines) return options_.line_words;
    double length = 0;
    const double each = static_cast<double>(options_.line_words - 1) / 3;  // the mean
    if (each == 0) return 1;
    const double log_failure = std::log(each / (1 + each));
    for (int i = 0; i < 3; ++i) length += std::floor(std::log1p(-random.uniform()) / log_failure);
    return 1 + static_cast<std::size_t>(length);
  }

  Options options_;
  wordloom::detail::AliasTable law_;
  std::vector<std::string> names_;
};
