#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/detail/nothing_to_train.hpp>
#include <wordloom/corpus/detail/sentence_batch.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The sentences of a shard as batches for a device. Sentences that stay in memory are not copied.
/// A large shard of a corpus that splits is read as up to 64 smaller ones, each by a reader of its
/// own: each batch has a run of sentences of every reader, in order. Several threads then fill the
/// next batch while the caller uses the last one. The number of readers depends on the number of
/// words alone, so that batches do not depend on the number of threads. Other corpora are read by
/// the caller's thread. Not thread-safe.
template <class Corpus>
class BatchFeed {
 public:
  /// A batch has `batch_words` words or a few more. `words`: those of the shard, nearly; `longest`:
  /// see SentenceBatch::add; `threads`: see resolve_threads. Reading ends when `stopped()` returns
  /// true, which is called by all threads. The corpus must outlive the feed.
  BatchFeed(const Corpus& corpus, const Shard& shard, std::uint64_t words, std::size_t batch_words,
            std::size_t longest, std::size_t threads, std::function<bool()> stopped)
      : stopped_(std::move(stopped)), holds_(holds_sentences(corpus)), longest_(longest) {
    const std::size_t count = splits(corpus) ? reader_count(words, batch_words) : 1;
    threads_ = count == 1 ? 1 : (std::min)(count, resolve_threads(threads));
    share_ = (batch_words + count - 1) / count;
    readers_.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      readers_.push_back(std::make_unique<Reader>(
          corpus, Shard{shard.index * count + i, shard.count * count, shard.epoch, shard.seed}));
  }
  BatchFeed(const BatchFeed&) = delete;
  BatchFeed& operator=(const BatchFeed&) = delete;
  ~BatchFeed() {
    stops_ = true;
    if (filling_.valid()) filling_.wait();
  }

  /// Replaces `batch` by the next one, which is valid until the next call, and returns false if no
  /// sentence is left or reading has been stopped. Throws what the corpus throws, and
  /// InvalidArgument if the system cannot start the threads.
  bool next(SentenceBatch& batch) {
    batch.clear();
    if (filling_.valid())
      filling_.get();
    else
      fill();
    current_ = filled_;
    for (const auto& reader : readers_) {
      batch.hold(reader->parts[current_]);
      has_contexts_ = has_contexts_ || reader->has_contexts;
    }
    if (batch.ends.empty() || stopped_()) return false;
    if (readers_.size() > 1) fill_ahead();
    return true;
  }

  /// Returns whether a word of the batches so far has a context.
  bool has_contexts() const noexcept { return has_contexts_; }

 private:
  using Sentences = decltype(std::declval<const Corpus&>().sentences(Shard{}));

  struct Reader {
    Reader(const Corpus& corpus, const Shard& shard) : sentences(corpus.sentences(shard)) {}

    Sentences sentences;
    std::optional<decltype(std::begin(std::declval<Sentences&>()))> at = {};
    SentenceBatch parts[2];  // of the current batch and the next one
    bool has_contexts = false;
  };

  static std::size_t reader_count(std::uint64_t words, std::size_t batch_words) {
    // Fewer words of a batch would take less time than to start the threads.
    constexpr std::size_t most = 64, min_words = std::size_t{1} << 18, min_part = 1 << 14;
    return static_cast<std::size_t>(
        std::clamp<std::uint64_t>((std::min)(words / min_words, batch_words / min_part), 1, most));
  }

  void fill_ahead() try {
    filled_ = 1 - current_;
    filling_ = std::async(std::launch::async, [this] { fill(); });
  } catch (const std::system_error& error) {
    throw InvalidArgument{"cannot start a thread that reads the corpus: ", error.what()};
  }

  void fill() {
    std::atomic<std::size_t> next{0};
    run_threads(threads_, [&](std::size_t) {
      for (std::size_t i; (i = next++) < readers_.size();) read(*readers_[i]);
    });
  }

  void read(Reader& reader) const {
    SentenceBatch& part = reader.parts[filled_];
    part.clear();
    if (!holds_) part.words.reserve(share_);
    if (!reader.at) reader.at.emplace(std::begin(reader.sentences));
    auto& at = *reader.at;
    for (; !(at == std::end(reader.sentences)) && part.word_count() < share_; ++at) {
      if (stops_ || stopped_()) return;
      const std::span<const WordId> sentence = *at;
      reader.has_contexts = reader.has_contexts || detail::has_contexts(sentence);
      if (holds_)
        part.hold(sentence, longest_);
      else
        part.add(sentence, longest_);
    }
  }

  const std::function<bool()> stopped_;
  const bool holds_;
  const std::size_t longest_;
  std::size_t threads_, share_;  // words of a batch for each reader
  std::vector<std::unique_ptr<Reader>> readers_;
  std::size_t current_ = 0, filled_ = 0;  // the parts that the caller uses, those that are filled
  bool has_contexts_ = false;
  std::atomic<bool> stops_{false};
  std::future<void> filling_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
