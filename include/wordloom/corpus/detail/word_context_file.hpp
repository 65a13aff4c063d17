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
#include <system_error>
#include <vector>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
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
    const auto first = static_cast<std::size_t>((begin + at) % words);
    size = std::min(count - at, words - first);
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

/// The first 8 bytes of a file of contexts; the first 6 are those of all versions.
inline constexpr std::string_view word_context_magic("WORDCX2\0", 8);

/// The header, after the magic bytes. After it: the words with contexts [word_count] of 4 bytes,
/// their contexts [columns x word_count] of `id_bytes`, both padded to 8 bytes, and the hash of all
/// bytes before it. Numbers are little-endian.
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

/// Writes a file of contexts. The file appears as a whole with `finish`, or not at all.
class WordContextFileWriter {
 public:
  /// Throws IoError.
  explicit WordContextFileWriter(const std::filesystem::path& path) : file_(path) {}

  /// Writes the contexts of one epoch with all threads. Memory: 16 MiB. Throws IoError.
  void finish(const WordContextSource& source, const WordContextLists& lists, std::size_t columns,
              std::size_t threads);

 private:
  template <class Id>
  void write_contexts(const WordContextLists& lists, std::size_t columns, std::size_t threads) {
    const std::uint64_t total = std::uint64_t{lists.words().size()} * columns;
    constexpr std::size_t longest = (std::size_t{16} << 20) / sizeof(Id);
    std::vector<Id> block(std::min<std::uint64_t>(longest, total));
    for (std::uint64_t begin = 0; begin < total; begin += block.size()) {
      block.resize(std::min<std::uint64_t>(block.size(), total - begin));
      run_threads(threads, [&](std::size_t thread) {
        const auto [first, last] = part_of(block.size(), thread, threads);
        fill(lists, begin + first, std::span(block).subspan(first, last - first));
      });
      write(block.data(), block.size() * sizeof(Id));
    }
  }

  /// Writes the contexts from the `begin`-th on, counted column by column, to `block`.
  template <class Id>
  static void fill(const WordContextLists& lists, std::uint64_t begin, std::span<Id> block) {
    for_each_run(lists.words().size(), begin, block.size(),
                 [&](std::uint64_t column, std::size_t first, std::size_t size, std::size_t at) {
                   std::array<WordId, 1024> ids;
                   for (std::size_t i = 0; i < size; i += ids.size()) {
                     const auto some = std::span(ids).first(std::min(ids.size(), size - i));
                     lists.contexts(column, first + i, some.size(), some);
                     for (std::size_t k = 0; k < some.size(); ++k)
                       block[at + i + k] = static_cast<Id>(some[k]);
                   }
                 });
  }

  void write(const void* data, std::size_t bytes) {
    hash_.add(data, bytes);
    file_.write({static_cast<const char*>(data), bytes});
    bytes_ += bytes;
  }
  void pad() { write("\0\0\0\0\0\0\0", (8 - bytes_ % 8) % 8); }

  AtomicFile file_;
  Hash hash_;
  std::uint64_t bytes_ = 0;
};

/// Maps a file of contexts. Returns nothing if the file does not exist, is empty, was made from
/// another source or is damaged: it must then be made again. Throws IoError if it exists and cannot
/// be read, and FormatError if it is not a file of contexts, because it must not be replaced.
std::optional<WordContextFile> open_word_context_file(const std::filesystem::path& path,
                                                      const WordContextSource& source);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void WordContextFileWriter::finish(const WordContextSource& source,
                                                     const WordContextLists& lists,
                                                     std::size_t columns, std::size_t threads) {
  const bool is_short = !lists.short_ids().empty();
  const WordContextHeader header{source, lists.words().size(), columns, is_short ? 2u : 4u};
  write(word_context_magic.data(), word_context_magic.size());
  write(&header, sizeof(header));
  write(lists.words().data(), lists.words().size_bytes());
  pad();
  if (is_short)
    write_contexts<std::uint16_t>(lists, columns, resolve_threads(threads));
  else
    write_contexts<WordId>(lists, columns, resolve_threads(threads));
  pad();
  const std::uint64_t hash = hash_.value();
  write(&hash, sizeof(hash));
  file_.commit();
}

WORDLOOM_FUNCTION std::optional<WordContextFile> open_word_context_file(
    const std::filesystem::path& path, const WordContextSource& source) {
  if (std::error_code ignored; !std::filesystem::exists(path, ignored)) return std::nullopt;
  const auto file = std::make_shared<const MappedFile>(path);
  const std::string_view text = file->text();
  if (text.empty()) return std::nullopt;
  if (!text.starts_with(word_context_magic.substr(0, 6)))
    throw FormatError{"'", path,
                      "' is not a word-context matrix and was not overwritten: name another file, ",
                      "or remove it"};
  WordContextHeader header;
  std::uint64_t hash = 0;
  constexpr std::size_t begin = word_context_magic.size() + sizeof(header);
  if (!text.starts_with(word_context_magic) || text.size() < begin + sizeof(hash) ||
      text.size() % 8 != 0)
    return std::nullopt;
  std::memcpy(&header, text.data() + word_context_magic.size(), sizeof(header));
  std::memcpy(&hash, text.data() + text.size() - sizeof(hash), sizeof(hash));
  const auto& [of, words, columns, id_bytes] = header;
  const std::size_t size = text.size() - begin - sizeof(hash);
  if (!(of == source) || (id_bytes != 2 && id_bytes != 4) || words == 0 || columns == 0 ||
      words > size / sizeof(WordId) || columns > size / (words * id_bytes))
    return std::nullopt;
  const auto padded = [](std::size_t bytes) { return (bytes + 7) / 8 * 8; };
  const std::size_t words_bytes = padded(words * sizeof(WordId));
  if (size != words_bytes + padded(words * columns * id_bytes) ||
      Hash::of(text.substr(0, text.size() - sizeof(hash))) != hash)
    return std::nullopt;
  const char* const at = text.data() + begin;
  return WordContextFile{{reinterpret_cast<const WordId*>(at), words},
                         at + words_bytes,
                         columns,
                         id_bytes,
                         hash,
                         file};
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
