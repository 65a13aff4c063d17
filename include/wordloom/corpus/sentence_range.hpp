#pragma once
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <wordloom/core/types.hpp>

namespace wordloom {

/// An input range of std::span<const WordId> over what a reader finds; a span is valid until the
/// iterator moves on. `open()` makes a reader at the first sentence, as a shared_ptr;
/// `reader->next()` goes to the next one and returns false after the last; `reader->sentence()`
/// returns it. Each begin() opens a reader of its own.
template <class Open>
class SentenceRange {
  using Reader = std::invoke_result_t<const Open&>;

 public:
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = std::span<const WordId>;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    explicit iterator(Reader reader) : reader_(std::move(reader)) { ++*this; }
    value_type operator*() const { return reader_->sentence(); }
    iterator& operator++() {
      if (!reader_->next()) reader_.reset();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& it, std::default_sentinel_t) { return !it.reader_; }

   private:
    Reader reader_;
  };

  explicit SentenceRange(Open open) : open_(std::move(open)) {}
  iterator begin() const { return iterator(open_()); }
  std::default_sentinel_t end() const { return {}; }

 private:
  Open open_;
};

}  // namespace wordloom
