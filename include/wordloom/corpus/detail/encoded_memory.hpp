#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include <wordloom/core/types.hpp>
#include <wordloom/corpus/detail/corpus_file.hpp>
#include <wordloom/corpus/text_corpus.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Ids in memory that realloc can grow in place: a vector would need twice the memory while it
/// grows.
class GrowingIds {
 public:
  void push_back(WordId id) {
    if (size_ == capacity_) reallocate((std::max)(std::size_t{1024}, size_ / 2 * 3));
    data_[size_++] = id;
  }
  void append(std::span<const WordId> more) {
    if (size_ + more.size() > capacity_) reallocate((std::max)(size_ + more.size(), size_ / 2 * 3));
    std::copy(more.begin(), more.end(), data_.get() + size_);
    size_ += more.size();
  }
  /// Keeps the first `size` ids and frees the memory of the others.
  void truncate(std::size_t size) {
    size_ = size;
    reallocate((std::max)(size, std::size_t{1}));
  }
  std::size_t size() const noexcept { return size_; }
  std::span<WordId> span() noexcept { return {data_.get(), size_}; }
  std::span<const WordId> span() const noexcept { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(WordId* p) const noexcept { std::free(p); }
  };

  void reallocate(std::size_t capacity);

  std::unique_ptr<WordId[], Free> data_;
  std::size_t size_ = 0, capacity_ = 0;
};

/// Sentences of word ids that a corpus in memory owns.
struct EncodedMemory {
  GrowingIds ids;
  std::vector<std::uint64_t> ends;  // of the sentences, in ids

  static EncodedText text(const std::shared_ptr<const EncodedMemory>& memory,
                          std::uint64_t words_read) {
    return {memory->ids.span(), memory->ends, words_read, memory};
  }

  /// Takes `end_of_line`, which follows each sentence, out of `ids`, and sets `ends`. Sentences of
  /// more than `max_length` ids are split, empty ones left out.
  void split(std::size_t max_length);
  /// Replaces each number in `ids` by its id: `id_of` [numbers] has `end_of_line` for words to be
  /// left out. Then does the same.
  void split(std::size_t max_length, std::span<const WordId> id_of);
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void GrowingIds::reallocate(std::size_t capacity) {
  void* const moved = std::realloc(data_.get(), capacity * sizeof(WordId));
  if (moved == nullptr) throw std::bad_alloc();
  static_cast<void>(data_.release());
  data_.reset(static_cast<WordId*>(moved));
  capacity_ = capacity;
}

WORDLOOM_FUNCTION void EncodedMemory::split(std::size_t max_length) {
  constexpr std::size_t piece = 4096;
  SentenceSplitter splitter(max_length);
  std::vector<WordId> words;
  std::span<const WordId> rest = ids.span();
  std::size_t kept = 0;
  ends.reserve(static_cast<std::size_t>(std::count(rest.begin(), rest.end(), end_of_line)));
  while (!rest.empty()) {
    auto open = rest.first((std::min)(piece, rest.size()));
    rest = rest.subspan(open.size());
    words.clear();
    while (splitter.next(open, words)) ends.push_back(kept + words.size());
    std::copy(words.begin(), words.end(), ids.span().data() + kept);  // before `rest`
    kept += words.size();
  }
  ids.truncate(kept);
}

WORDLOOM_FUNCTION void EncodedMemory::split(std::size_t max_length, std::span<const WordId> id_of) {
  std::size_t kept = 0;
  const auto numbers = ids.span();
  for (const WordId number : numbers) {
    const WordId id = number == end_of_line ? number : id_of[number];
    if (number == end_of_line || id != end_of_line) numbers[kept++] = id;
  }
  ids.truncate(kept);
  split(max_length);
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
