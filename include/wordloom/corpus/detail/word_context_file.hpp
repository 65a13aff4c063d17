#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/word_context_lists.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Calls `use(column, first, size, at)` for each run of words of one column in the `count` contexts
/// from the `begin`-th on, counted column by column; `at` is the number of contexts in the runs
/// before.
template <class Use>
void for_each_run(std::size_t words, std::uint64_t begin, std::size_t count, Use&& use) {
  for (std::size_t at = 0, size = 0; at < count; at += size) {
    const std::size_t first = (begin + at) % words;
    size = (std::min)(count - at, words - first);
    use((begin + at) / words, first, size, at);
  }
}

/// Everything that determines the contexts: hashes of the vocabulary, the corpus (0 if it has none)
/// and the options, and the number of words of the corpus.
struct WordContextSource {
  std::uint64_t vocabulary = 0, corpus = 0, options = 0;
  std::uint64_t corpus_tokens = 0;

  friend bool operator==(const WordContextSource&, const WordContextSource&) = default;
};

inline constexpr std::string_view word_context_magic("WORDCX2\0", 8);

/// The beginning of the content of a file of contexts (CacheFile). After it: the words with
/// contexts [word_count] of 4 bytes, and their contexts [columns x word_count] of `id_bytes`, both
/// padded to 8 bytes.
struct WordContextHeader {
  WordContextSource source;
  std::uint64_t word_count = 0, columns = 0;
  std::uint64_t id_bytes = 0;  // 2 or 4
};

/// The contexts of one epoch in a mapped file.
struct WordContextFile {
  std::span<const WordId> words;
  const char* contexts = nullptr;  // [columns x words]
  std::uint64_t columns = 0, id_bytes = 0;
  std::uint64_t hash = 0;              // of the file
  std::shared_ptr<const void> memory;  // holds all of it

  /// See WordContextMatrix.
  void read(std::uint64_t column, std::size_t first, std::span<WordId> to) const noexcept {
    const std::size_t at = (column % columns) * words.size() + first;
    if (id_bytes == sizeof(WordId))
      std::copy_n(reinterpret_cast<const WordId*>(contexts) + at, to.size(), to.begin());
    else
      std::copy_n(reinterpret_cast<const std::uint16_t*>(contexts) + at, to.size(), to.begin());
  }
};

/// Writes the contexts of one epoch to a new file with all threads, and commits it. Memory: 16 MiB.
/// Throws IoError.
void write_word_contexts(HashedWriter& file, const WordContextSource& source,
                         const WordContextLists& lists, std::size_t columns, std::size_t threads);

/// Maps a file of contexts. Returns nothing if it must be made again: as open_cache_file, or
/// because it was made from another source. Throws as open_cache_file.
std::optional<WordContextFile> open_word_context_file(const std::filesystem::path& path,
                                                      const WordContextSource& source);

#if WORDLOOM_DEFINES_FUNCTIONS

/// Writes the contexts from the `begin`-th on, counted column by column, to `block`.
template <class Id>
void fill_contexts(const WordContextLists& lists, std::uint64_t begin, std::span<Id> block) {
  for_each_run(lists.words().size(), begin, block.size(),
               [&](std::uint64_t column, std::size_t first, std::size_t size, std::size_t at) {
                 std::array<WordId, 1024> ids;
                 for (std::size_t i = 0; i < size; i += ids.size()) {
                   const auto some = std::span(ids).first((std::min)(ids.size(), size - i));
                   lists.contexts(column, first + i, some.size(), some);
                   std::ranges::transform(some, &block[at + i],
                                          [](WordId id) { return static_cast<Id>(id); });
                 }
               });
}

WORDLOOM_FUNCTION void write_word_contexts(HashedWriter& file, const WordContextSource& source,
                                           const WordContextLists& lists, std::size_t columns,
                                           std::size_t threads) {
  threads = resolve_threads(threads);
  const auto write_all = [&]<class Id>(Id) {
    const WordContextHeader header{source, lists.words().size(), columns, sizeof(Id)};
    file.array(word_context_magic);
    file.write(&header, sizeof header);
    file.array(lists.words());
    file.pad();
    const std::uint64_t total = std::uint64_t{lists.words().size()} * columns;
    constexpr std::size_t longest = (std::size_t{16} << 20) / sizeof(Id);
    std::vector<Id> block((std::min<std::uint64_t>)(longest, total));
    for (std::uint64_t begin = 0; begin < total; begin += block.size()) {
      block.resize((std::min<std::uint64_t>)(block.size(), total - begin));
      run_threads(threads, [&](std::size_t thread) {
        const auto [first, last] = detail::part_of(block.size(), thread, threads);
        fill_contexts(lists, begin + first, std::span(block).subspan(first, last - first));
      });
      file.array(block);
    }
    file.pad();
  };
  lists.short_ids().empty() ? write_all(WordId{}) : write_all(std::uint16_t{});
  file.end_section();
  file.commit();
}

WORDLOOM_FUNCTION std::optional<WordContextFile> open_word_context_file(
    const std::filesystem::path& path, const WordContextSource& source) {
  const auto cache = open_cache_file(path, word_context_magic, "a word-context matrix");
  WordContextHeader header;
  if (!cache || cache->content.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, cache->content.data(), sizeof header);
  const auto& [of, words, columns, id_bytes] = header;
  const std::size_t size = cache->content.size() - sizeof header;
  if (!(of == source) || (id_bytes != 2 && id_bytes != 4) || words == 0 || columns == 0 ||
      words > size / sizeof(WordId) || columns > size / (words * id_bytes))
    return std::nullopt;
  const auto padded = [](std::size_t bytes) { return (bytes + 7) / 8 * 8; };
  const std::size_t words_bytes = padded(words * sizeof(WordId));
  if (size != words_bytes + padded(words * columns * id_bytes)) return std::nullopt;
  const char* const at = cache->content.data() + sizeof header;
  return WordContextFile{{reinterpret_cast<const WordId*>(at), words},
                         at + words_bytes,
                         columns,
                         id_bytes,
                         cache->hash,
                         cache->file};
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
