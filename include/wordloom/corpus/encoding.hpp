#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/text.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/text_pieces.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom {

/// How a text becomes a corpus.
struct CorpusOptions {
  /// A line with more in-vocabulary words is split, so that no word is lost. word2vec: 1000.
  std::size_t max_sentence_length = 1000;
  /// Threads that encode; 0 = all that the machine offers.
  std::size_t threads = 0;
  /// EncodedCorpus: the file in which the encoded text is kept; empty: in memory.
  std::filesystem::path cache = {};
  /// Bytes of text that a thread takes at a time.
  std::size_t piece_bytes = TextPieces::default_piece_bytes;
  /// The part of the text that is read, which may have no word: see RankCorpus.
  TextPart part = {};

  /// Throws InvalidArgument.
  void validate() const {
    if (max_sentence_length == 0)
      throw InvalidArgument("max_sentence_length is 0, must be above 0");
    if (piece_bytes == 0) throw InvalidArgument("piece_bytes is 0, must be above 0");
    if (part.index >= part.count)
      throw InvalidArgument("part.index is " + std::to_string(part.index) +
                            ", must be below part.count, which is " + std::to_string(part.count));
  }
};

namespace detail {

/// The id that stands for \n; no vocabulary is so large.
inline constexpr WordId end_of_line = std::numeric_limits<WordId>::max();

/// Appends the ids of the known words of `text`, and `end_of_line` for each \n.
inline void encode(std::string_view text, const Vocabulary& vocabulary, std::vector<WordId>& ids) {
  for_each_token(
      text,
      [&](std::string_view word) {
        if (const auto id = vocabulary.find(word)) ids.push_back(*id);
      },
      [&] { ids.push_back(end_of_line); });
}

/// Cuts the ids of a text into sentences: a line, or `max_length` known words of a longer one.
/// Needs the ids in order, in pieces of any size.
class SentenceSplitter {
 public:
  explicit SentenceSplitter(std::size_t max_length) : max_length_(max_length) {}

  /// Moves words from the front of `ids` to the end of `words` until a sentence is complete.
  /// Returns false if `ids` is used up before that: the sentence is still open.
  bool next(std::span<const WordId>& ids, std::vector<WordId>& words) {
    while (!ids.empty()) {
      const auto rest = ids.first(std::min(ids.size(), max_length_ - length_));
      const auto end = std::find(rest.begin(), rest.end(), end_of_line);
      words.insert(words.end(), rest.begin(), end);
      length_ += static_cast<std::size_t>(end - rest.begin());
      ids = ids.subspan(static_cast<std::size_t>(end - rest.begin()) + (end != rest.end()));
      if ((end != rest.end() || length_ == max_length_) && finish()) return true;
    }
    return false;
  }

  /// Completes the sentence that is open; returns false if none is.
  bool finish() noexcept { return std::exchange(length_, 0) > 0; }

 private:
  std::size_t max_length_;
  std::size_t length_ = 0;  // of the open sentence
};

/// Lets threads do something in the order of an index. A thread that leaves by an exception must
/// call `abandon`, or those whose turn never comes would wait for ever.
class Turns {
 public:
  /// Waits for the turn of `index` and calls `work`; returns false, without calling it, after
  /// `abandon`.
  template <class Work>
  bool take(std::size_t index, Work&& work) {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [&] { return index == next_ || abandoned_; });
    if (abandoned_) return false;
    work();
    ++next_;
    changed_.notify_all();
    return true;
  }

  void abandon() {
    const std::lock_guard lock(guard_);
    abandoned_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  std::size_t next_ = 0;
  bool abandoned_ = false;
};

/// Encodes a text with all threads and calls `append(ids)` with its in-vocabulary words, in order,
/// one thread at a time. Returns the ends of the sentences, in words from the start; the same for
/// any number of threads. Throws what TextPieces and `append` throw.
template <class Append>
std::vector<std::uint64_t> encode_in_order(const std::filesystem::path& path,
                                           const Vocabulary& vocabulary,
                                           const CorpusOptions& options, Append&& append) {
  TextPieces pieces(path, options.piece_bytes, options.part);
  SentenceSplitter splitter(options.max_sentence_length);
  Turns turns;
  std::vector<std::uint64_t> ends;
  std::uint64_t tokens = 0;  // of the pieces before
  run_threads(resolve_threads(options.threads), [&](std::size_t) {
    std::vector<WordId> ids, words;
    try {
      while (const auto piece = pieces.next()) {
        ids.clear();
        encode(piece->text, vocabulary, ids);
        pieces.release(*piece);
        const bool going_on = turns.take(piece->index, [&] {
          words.clear();
          std::span<const WordId> rest = ids;
          while (splitter.next(rest, words)) ends.push_back(tokens + words.size());
          tokens += words.size();
          if (!pieces.is_contiguous() && splitter.finish()) ends.push_back(tokens);
          append(words);
        });
        if (!going_on) return;
      }
    } catch (...) {
      turns.abandon();
      throw;
    }
  });
  if (splitter.finish()) ends.push_back(tokens);
  return ends;
}

}  // namespace detail
}  // namespace wordloom
