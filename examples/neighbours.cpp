// Answers questions from trained vectors: a word gives its nearest words, three words an analogy.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/wordloom.hpp>

#include "any_vectors.hpp"
#include "command_line.hpp"
#include "distinct_files.hpp"
#include "lookup_options.hpp"
#include "neighbour_search.hpp"
#include "small_vectors.hpp"

using namespace wordloom;

namespace {

/// Prints words completely, whatever bytes they contain.
void print(const std::vector<Neighbour>& answers) {
  for (const auto& [word, score] : answers) {
    const std::size_t blanks = word.size() < 24 ? 24 - word.size() : 0;
    const std::string start = "  " + word + std::string(blanks, ' ');
    std::fwrite(start.data(), 1, start.size(), stdout);
    std::printf(" %.4f\n", static_cast<double>(score));
  }
}

/// Answers all lines of standard input by `answers(line)`, nothing for an empty line. Returns
/// whether any could be answered or none was asked.
template <class Answers>
bool answer_lines(const std::string& greeting, const Answers& answers) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (terminal) std::printf("%s\n", greeting.c_str());
  bool has_answered = false, has_failed = false;
  std::string line;
  while ((!terminal || std::printf("> ") > 0) && std::fflush(stdout) == 0 &&
         std::getline(std::cin, line)) {
    try {
      const auto found = answers(line);
      if (!found) continue;
      print(*found);
      has_answered = true;
    } catch (const Error& error) {
      std::cerr << "neighbours: " << error.what() << '\n';
      has_failed = true;
    }
  }
  if (std::ferror(stdin) != 0) throw IoError("cannot read standard input");
  return has_answered || !has_failed;
}

/// Questions about words and their answers.
template <class Words>
class Session {
 public:
  /// `other`: a search that is asked first, or null.
  Session(const Words& words, std::size_t count, LetterCase letter_case, OtherSearch other)
      : words_(words), count_(count), letter_case_(letter_case), other_(std::move(other)) {}

  bool run() const {
    return answer_lines(
        std::to_string(words_.size()) + " words of dimension " + std::to_string(words_.dimension()),
        [&](const std::string& line) -> std::optional<std::vector<Neighbour>> {
          const auto asked = words_of(line);
          return asked.empty() ? std::nullopt : std::optional(answers(asked));
        });
  }

 private:
  bool is_known(std::string_view word) const {
    return find_spelling(words_, word, letter_case_).has_value();
  }

  /// Returns the words of a line: it may be one word with blanks, or tabs may separate such words.
  std::vector<std::string> words_of(std::string_view line) const {
    constexpr std::string_view mark = "\xef\xbb\xbf", blanks = " \t\n\v\f\r";
    if (line.starts_with(mark)) line.remove_prefix(mark.size());  // a byte order mark
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    line = line.substr(0, line.find_last_not_of(blanks) + 1);
    std::vector<std::string> words;
    if (!line.empty() && is_known(line)) {
      words.emplace_back(line);
    } else if (line.find('\t') != line.npos) {
      for (std::size_t at = 0; at <= line.size();) {
        const std::size_t end = std::min(line.find('\t', at), line.size());
        if (end > at) words.emplace_back(line.substr(at, end - at));
        at = end + 1;
      }
    } else {
      for_each_token(
          line, [&](std::string_view word) { words.emplace_back(word); }, [] {});
    }
    return words;
  }

  /// Returns the word as the vectors spell it, or as it was asked.
  std::string spelling(const std::string& word) const {
    const auto id = find_spelling(words_, word, letter_case_);
    if (id) return std::string(words_.word(*id));
    return letter_case_ == LetterCase::lower ? lower_case(word) : word;
  }

  std::vector<Neighbour> answers(std::vector<std::string> asked) const {
    for (std::string& word : asked) word = spelling(word);
    if (other_)
      if (auto found = other_(asked)) return *found;
    if (asked.size() == 1) return words_.most_similar(asked[0], count_);
    if (asked.size() == 3)
      return words_.in_vocabulary().analogy(asked[0], asked[1], asked[2], count_);
    throw InvalidArgument("give one word, or three: 'a b c' answers the analogy a : b = c : ?");
  }

  const Words& words_;
  std::size_t count_;
  LetterCase letter_case_;
  OtherSearch other_;
};

/// Answers the lines of standard input by the search that the options ask for.
template <class Words>
bool answer(const Words& words, std::size_t count, LetterCase letter_case,
            const SearchOptions& options, const LoadOptions& loading) {
  if (!options.sentences.empty()) {
    const SentenceSearch sentences(words, options, letter_case);
    return answer_lines(std::to_string(sentences.size()) + " sentences",
                        [&](const std::string& line) -> std::optional<std::vector<Neighbour>> {
                          if (is_blank(line)) return std::nullopt;
                          return sentences.answers(line, count);
                        });
  }
  if (!options.align.empty()) {
    const Embeddings known = words.in_vocabulary();
    bool is_answered = true;
    with_vectors_in(options.align, "", loading, [&](const auto& other) {
      const auto search = search_from(known, other, options, letter_case, count);
      is_answered = Session(other, count, letter_case, search).run();
    });
    return is_answered;
  }
  OtherSearch by_index;
  if (!options.index.empty()) by_index = search_by_index(words, options, count);
  return Session(words, count, letter_case, std::move(by_index)).run();
}

}  // namespace

int main(int argc, char** argv) try {
  report_too_large_files();
  CLI::App app(
      "Nearest words and analogies. A line of one word gives its nearest words, a line of\n"
      "three, a b c, the words that are to c as b is to a; tabs between words that have blanks.\n"
      "Lines that cannot be answered, such as unknown words, are named on standard error; the\n"
      "exit code is 1 if no line could be answered.");
  app.set_version_flag("--version", "neighbours of Wordloom " + std::string(wordloom::version));
  std::string path, format;
  std::size_t count = 10;
  LookupOptions lookup;
  app.add_option("vectors", path, "Vectors in any format that Wordloom writes, or a model")
      ->required();
  app.add_option("--count", count, "Answers to a question")
      ->check(whole_number)
      ->capture_default_str();
  declare_case(app, lookup);
  app.add_option("--format", format, "Instead of detecting it: " + VectorFile::format_names());
  SearchOptions search;
  declare_search(app, search);
  LoadOptions loading;
  declare_load_options(app, loading, "neighbours");
  SmallVectorOptions small;
  declare_small_vectors(app, small);
  set_rules_of_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help or --version
    return end_parsing(app, done);
  } catch (const CLI::ParseError& error) {
    throw InvalidArgument(std::string(error.what()) + " (--help lists the options)");
  }
  if (count == 0) throw InvalidArgument("--count 0: a question has at least one answer");
  warn("neighbours", warnings_of_repeated(app));
  bool is_answered = true;
  const auto answer_with = [&](const auto& words) {
    is_answered = answer(words, count, lookup.chosen_case(), search, loading);
  };
  const auto answer_small = [&](const auto& words) {
    if constexpr (requires { words.decoded(); }) {
      if (!search.empty()) return answer_with(words.decoded());
      is_answered = Session(words, count, lookup.chosen_case(), OtherSearch()).run();
    } else {
      answer_with(words);
    }
  };
  if (!small.output.empty() && !search.empty())
    throw InvalidArgument(
        "with --output nothing is answered: leave out --index, --sentences and --align");
  if (!search.align.empty() && small.changes_vectors())
    throw InvalidArgument(
        "--pca and --remove-top would change one of the two files that --align compares: write "
        "both first, with --compress float32 --output FILE");
  require_distinct({{"the vectors", path}, {"--output", small.output, true}});
  if (small.output.empty())
    for (const auto& [option, read] : {std::pair{"the vectors", path},
                                       {"--align", search.align},
                                       {"--dictionary", search.dictionary},
                                       {"--sentences", search.sentences},
                                       {"--counts", search.counts},
                                       {"--index", search.index}})
      if (read == "-" || read == "/dev/stdin")
        throw InvalidArgument(std::string(option) + " '" + read +
                              "' is standard input, which has the questions: give a file");
  const VectorFile file(path);
  if (file.format() == VectorFormat::compressed && format.empty() && loading.limit == 0 &&
      small.empty()) {
    const auto words = file.compressed();
    if (search.empty()) words.validate();  // decoded() does so, too
    answer_small(words);
  } else {
    with_vectors_in(file, format, loading, [&](const auto& words) {
      if (small.empty()) return answer_with(words);
      if constexpr (requires { words.has_vector(std::string_view()); })
        warn("neighbours", {"smaller vectors are those of known words alone, without subwords"});
      small.apply(words.in_vocabulary(), answer_small);
    });
  }
  end_output();
  return is_answered ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "neighbours: error: " << message_of(error, "neighbours", argc, argv) << '\n';
  return 1;
}
