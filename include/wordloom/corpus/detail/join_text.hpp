#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <wordloom/core/files.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/detail/phrase_joiner.hpp>
#include <wordloom/corpus/detail/turns.hpp>
#include <wordloom/corpus/detail/unicode_spaces.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/corpus/text_pieces.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A word of a text, or with an empty text the end of a line. `id`: the word if phrases have it,
/// otherwise end_of_line.
struct TextToken {
  std::string_view text;
  WordId id;
};

/// Writes the words of a text to strings, with phrases joined.
class TextJoiner {
 public:
  /// `phrases` must outlive the joiner. They may have the words of phrases alone: other words of a
  /// text end a phrase as the end of a line does.
  explicit TextJoiner(const PhraseIds& phrases) : phrases_(phrases), joiner_(phrases) {}

  /// Appends the tokens of a text.
  void tokens(std::string_view text, bool unicode_spaces, std::vector<TextToken>& tokens) const;

  /// Appends what the next tokens complete to `out`.
  void take(const std::vector<TextToken>& tokens, std::string& out);
  /// Appends the rest.
  void finish(std::string& out);

 private:
  void write(std::string_view word, std::string& out) {
    if (!begins_line_) out += ' ';
    out += word;
    begins_line_ = false;
  }

  const PhraseIds& phrases_;
  PhraseJoiner joiner_;
  bool begins_line_ = true;
};

/// Appends a line with its phrases joined to `out`.
void join_line(const PhraseIds& phrases, std::string_view line, std::string& out);

/// Writes a text with its phrases joined. Threads look up words; they take turns to join and write.
void join_text(const PhraseIds& phrases, const std::filesystem::path& text, AtomicFile& output,
               const CorpusOptions& reading);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void TextJoiner::tokens(std::string_view text, bool unicode_spaces,
                                          std::vector<TextToken>& tokens) const {
  for_each_word(
      text, unicode_spaces,
      [&](std::string_view word) {
        tokens.push_back({word, phrases_.words().find(word).value_or(end_of_line)});
      },
      [&] {
        tokens.push_back({{}, end_of_line});
      });
}

WORDLOOM_FUNCTION void TextJoiner::take(const std::vector<TextToken>& tokens, std::string& out) {
  const auto use = [&](WordId id) { write(phrases_.words()[id], out); };
  for (const TextToken& token : tokens) {
    if (token.id != end_of_line) {
      joiner_.push(token.id, use);
      continue;
    }
    joiner_.flush(use);
    if (!token.text.empty()) {
      write(token.text, out);
    } else {
      out += '\n';
      begins_line_ = true;
    }
  }
}

WORDLOOM_FUNCTION void TextJoiner::finish(std::string& out) {
  joiner_.flush([&](WordId id) { write(phrases_.words()[id], out); });
}

WORDLOOM_FUNCTION void join_line(const PhraseIds& phrases, std::string_view line,
                                 std::string& out) {
  TextJoiner joiner(phrases);
  std::vector<TextToken> tokens;
  joiner.tokens(line, false, tokens);
  joiner.take(tokens, out);
  joiner.finish(out);
}

WORDLOOM_FUNCTION void join_text(const PhraseIds& phrases, const std::filesystem::path& text,
                                 AtomicFile& output, const CorpusOptions& reading) {
  constexpr std::size_t largest_piece = std::size_t{1} << 20;
  TextPieces pieces(text, (std::min)(reading.piece_bytes, largest_piece), reading.part,
                    reading.before_piece);
  TextJoiner joiner(phrases);
  std::string joined;
  Turns turns;
  run_threads(pieces.threads(reading.threads), [&](std::size_t) {
    std::vector<TextToken> tokens;
    try {
      while (const auto piece = pieces.next()) {
        tokens.clear();
        joiner.tokens(piece->text, reading.unicode_spaces, tokens);
        const bool goes_on = turns.take(piece->index, [&] {
          joined.clear();
          joiner.take(tokens, joined);
          output.write(joined);
        });
        if (!goes_on) return;
      }
    } catch (...) {
      turns.fail();
      throw;
    }
  });
  joined.clear();
  joiner.finish(joined);
  output.write(joined);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
