#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <vector>

#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/corpus_options.hpp>
#include <wordloom/corpus/sentence_splitter.hpp>
#include <wordloom/corpus/text_pieces.hpp>
#include <wordloom/corpus/vocabulary.hpp>

namespace wordloom::detail {

/// Lets threads do something in the order of an index. Any of them that leaves by an exception must
/// `abandon`, so that those whose turn never comes do not wait for ever.
class Turns {
 public:
  /// Waits for the turn of `index` and calls `work`; false, without calling it, when abandoned.
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
  SentenceSplitter split(options.max_sentence_length);
  Turns turns;
  std::vector<std::uint64_t> ends;
  std::uint64_t tokens = 0;
  const auto end_sentence = [&] { ends.push_back(tokens); };
  run_threads(resolve_threads(options.threads), [&](std::size_t) {
    std::vector<WordId> ids, words;
    try {
      while (const auto piece = pieces.next()) {
        ids.clear();
        encode(piece->text, vocabulary, ids);
        pieces.release(*piece);
        const bool going_on = turns.take(piece->index, [&] {
          words.clear();
          split(
              ids,
              [&](WordId id) {
                words.push_back(id);
                ++tokens;
              },
              end_sentence);
          if (!pieces.is_contiguous()) split.finish(end_sentence);
          append(words);
        });
        if (!going_on) return;
      }
    } catch (...) {
      turns.abandon();
      throw;
    }
  });
  split.finish(end_sentence);
  return ends;
}

}  // namespace wordloom::detail
