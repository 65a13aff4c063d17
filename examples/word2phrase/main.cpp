// Joins the words of phrases in a text: a replacement for word2phrase with additional options.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include <wordloom/corpus/phrases.hpp>
#include <wordloom/wordloom.hpp>

#include "distinct_files.hpp"
#include "foreign_names.hpp"
#include "program.hpp"

namespace {

using namespace wordloom;

/// The options of the command line.
struct Options {
  std::string train, output, save_phrases, read_phrases, scoring = "word2vec";
  Phrases::Options phrases;
  std::optional<double> threshold;
  std::optional<bool> across_lines;
  std::string connectors;
  bool unicode_spaces = false, stream = false, quiet = false;
  int debug = 2;
};

/// Options of similar programs, with the replacement for each.
const ForeignNames foreign_options{{"size", "vectors are trained by word2vec --phrases"},
                                   {"max-vocab-size", "write --max-pairs"},
                                   {"connector-words", "write --connectors"},
                                   {"common-terms", "write --connectors"},
                                   {"workers", "write --threads"},
                                   {"corpus", "write --train"},
                                   {"save", "write --save-phrases"},
                                   {"load", "write --read-phrases"}};

void declare(CLI::App& app, Options& options) {
  app.add_option("--train,--input", options.train, "Text, plain or .gz; - is standard input");
  app.add_option("--output", options.output,
                 "File for the text with its phrases joined; - is standard output");
  app.add_option("--save-phrases", options.save_phrases, "File for the phrases and their scores");
  app.add_option("--read-phrases", options.read_phrases,
                 "Join the phrases of this file instead of learning any");
  app.add_option("--min-count,--min_count", options.phrases.min_count,
                 "Words and phrases rarer than this are not joined")
      ->check(whole_number)
      ->capture_default_str();
  app.add_option("--threshold", options.threshold,
                 "Phrases score above this; 100, with --scoring gensim 10, npmi 0.5");
  app.add_option("--passes", options.phrases.passes,
                 "Learn so many times, on the text joined before: phrases of up to 2^N words")
      ->check(whole_number)
      ->capture_default_str();
  app.add_option("--scoring", options.scoring,
                 "word2vec | gensim (gensim's default score) | npmi (gensim's; from -1 to 1)")
      ->check(CLI::IsMember({"word2vec", "gensim", "npmi"}))
      ->capture_default_str();
  app.add_option("--across-lines", options.across_lines,
                 "1: the last word of a line and the first of the next count as a pair, as in "
                 "word2phrase; 0: not, as in gensim. Default: that of --scoring");
  app.add_option("--connectors", options.connectors,
                 "Words that may be inside of phrases, such as \"of the and\"");
  app.add_option("--delimiter", options.phrases.delimiter, "Joins the words of a phrase")
      ->capture_default_str();
  app.add_option("--max-pairs", options.phrases.max_pairs,
                 "Drop rare pairs of words if there are more different ones; a million takes 21 to "
                 "43 MB")
      ->check(whole_number)
      ->capture_default_str();
  app.add_option("--threads,--thread", options.phrases.threads, "Threads, 0: all processors")
      ->check(whole_number)
      ->capture_default_str();
  app.add_flag("--unicode-spaces", options.unicode_spaces,
               "Unicode's spaces, such as U+00A0 and U+3000, separate words too");
  app.add_flag("--stream", options.stream,
               "Read the text several times instead of holding 4 bytes a word");
  app.add_flag("--quiet", options.quiet, "Print errors and warnings only");
  app.add_option("--debug", options.debug, "0: as --quiet");
}

/// Throws InvalidArgument for options that parse but cannot be honoured, and completes the others.
void check(const CLI::App& app, const std::vector<std::string>& arguments, Options& options) {
  if (options.train.empty())
    throw InvalidArgument("--train is required (--help lists the options)");
  if (options.output.empty() && options.save_phrases.empty())
    throw InvalidArgument("nothing would be written: give --output or --save-phrases");
  static const std::set<std::string> with_read{
      "--train",   "--input",  "--output", "--read-phrases", "--save-phrases",
      "--threads", "--thread", "--quiet",  "--debug",        "--unicode-spaces"};
  if (!options.read_phrases.empty())
    for (const auto& [name, typed] : given_options(app, arguments))
      if (!with_read.contains(name))
        throw InvalidArgument(typed + " has no effect with --read-phrases");
  auto& phrases = options.phrases;
  if (options.scoring != "word2vec") {
    const auto gensim = Phrases::Options::gensim();
    phrases.scoring = options.scoring == "npmi" ? Phrases::Scoring::npmi : Phrases::Scoring::gensim;
    phrases.threshold = options.scoring == "npmi" ? 0.5 : gensim.threshold;
    phrases.across_sentences = gensim.across_sentences;
  }
  phrases.threshold = options.threshold.value_or(phrases.threshold);
  phrases.across_sentences = options.across_lines.value_or(phrases.across_sentences);
  for_each_token(
      options.connectors, [&](std::string_view word) { phrases.connectors.emplace_back(word); },
      [] {});
  try {
    phrases.validate();
  } catch (const InvalidArgument& error) {  // the options have the names of the parameters
    std::string message = error.what();
    for (char& c : message) {
      if (c == ' ') break;
      if (c == '_') c = '-';
    }
    throw InvalidArgument((message.starts_with("the ") ? "" : "--") + message);
  }
  if (options.debug == 0) options.quiet = true;
  require_distinct({{"--train", options.train},
                    {"--read-phrases", options.read_phrases},
                    {"--output", options.output, true},
                    {"--save-phrases", options.save_phrases, true}});
}

/// Learns the phrases of --train, and reports counts.
Phrases learn(const Options& options) {
  const CorpusOptions reading{.max_sentence_length = static_cast<std::size_t>(-1),
                              .threads = options.phrases.threads,
                              .before_piece = check_signals,
                              .unicode_spaces = options.unicode_spaces};
  const auto words =
      Vocabulary::from_text(options.train, {.min_count = 1,
                                            .threads = options.phrases.threads,
                                            .before_piece = check_signals,
                                            .unicode_spaces = options.unicode_spaces});
  if (!options.quiet)
    std::cerr << "Text: " << words.total_count() << " words, " << words.size() << " different\n";
  return options.stream
             ? Phrases::learn(TextCorpus(options.train, words, reading), words, options.phrases)
             : Phrases::learn(EncodedCorpus::from_text(options.train, words, reading), words,
                              options.phrases);
}

int run(int argc, char** argv, Cluster&) {
  CLI::App app(
      "Joins the words of phrases in a text, such as new_york: words that follow each other more\n"
      "often than by chance. Long options may be written with one dash, as word2phrase's.");
  app.name("word2phrase");
  Options options;
  declare(app, options);
  const auto arguments = with_double_dashes(app, argc, argv);
  if (arguments.empty()) {
    std::cout << app.help();
    return 0;
  }
  refuse_foreign_names(arguments, {}, foreign_options);
  if (const auto code = parse(app, arguments)) return *code;
  check(app, arguments, options);
  warn("word2phrase", warnings_of_repeated(app));
  catch_signals();
  try {
    std::optional<AtomicFile> output, saved;
    if (!options.output.empty()) output.emplace(options.output);
    if (!options.save_phrases.empty()) saved.emplace(options.save_phrases);
    const auto phrases =
        options.read_phrases.empty() ? learn(options) : Phrases::load(options.read_phrases);
    if (!options.quiet) std::cerr << "Phrases: " << phrases.size() << '\n';
    if (phrases.dropped() > 0)
      warn("word2phrase",
           {"more than --max-pairs " + std::to_string(options.phrases.max_pairs) +
            " different pairs: those counted at most " + std::to_string(phrases.dropped()) +
            " times were dropped, so counts may be too low; give a higher --max-pairs"});
    if (saved) {
      phrases.write(*saved);
      saved->commit();
    }
    if (output) {
      phrases.join_text(options.train, *output,
                        {.threads = options.phrases.threads,
                         .before_piece = check_signals,
                         .unicode_spaces = options.unicode_spaces});
      output->commit();
    }
  } catch (const Interrupted&) {
    std::cerr << "word2phrase: interrupted, no text written\n";
    return exit_code_of_signal();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_program("word2phrase", run, argc, argv); }
