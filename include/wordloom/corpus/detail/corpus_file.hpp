#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/text_pieces.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Everything that determines an encoded text: the text (its size, a sample of its bytes and the
/// time of the last change of the file, which no program can set back), the part of it that was
/// read, the vocabulary and the way of splitting.
struct CorpusSource {
  std::uint64_t text_bytes = 0;
  std::int64_t text_changed_ns = 0;
  std::uint64_t text_sample = 0;
  std::uint64_t part_index = 0, part_count = 1;
  std::uint64_t vocabulary = 0;
  std::uint64_t max_sentence_length = 0;

  static CorpusSource of(const std::filesystem::path& path, std::uint64_t vocabulary,
                         std::uint64_t max_sentence_length, TextPart part);

  friend bool operator==(const CorpusSource&, const CorpusSource&) = default;
};

inline constexpr std::string_view corpus_magic("CORPUS4\0", 8);

/// The end of the content of a corpus file (CacheFile), after the ids [token_count], padded to 8
/// bytes, and the ends [sentence_count] of the sentences (in tokens).
struct CorpusFileEnd {
  CorpusSource source;
  std::uint64_t token_count = 0;
  std::uint64_t words_read = 0;  // of the text, also those that the vocabulary lacks
  std::uint64_t sentence_count = 0;
};

/// A text as word ids.
struct EncodedText {
  std::span<const WordId> ids;          // [tokens]
  std::span<const std::uint64_t> ends;  // [sentences], in tokens, ascending
  std::uint64_t words_read;             // of the text, also those that the vocabulary lacks
  std::shared_ptr<const void> memory;   // holds both
};

/// Completes a corpus file, to which all ids have been written. Throws IoError.
void finish_corpus_file(HashedWriter& file, const CorpusSource& source,
                        std::span<const std::uint64_t> ends, std::uint64_t words_read);

/// Maps a corpus file. Returns nothing if it must be made again: as open_cache_file, or because it
/// was made from another source. Throws as open_cache_file.
std::optional<EncodedText> open_corpus_file(const std::filesystem::path& path,
                                            const CorpusSource& source);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION CorpusSource CorpusSource::of(const std::filesystem::path& path,
                                                std::uint64_t vocabulary,
                                                std::uint64_t max_sentence_length, TextPart part) {
  const MappedFile file(path);
  // The sample: 64 pieces of 1 KiB, spread from the first byte to the last.
  constexpr std::size_t stretches = 64, stretch = 1024;
  const std::size_t last = file.size() - (std::min)(file.size(), stretch);
  Hash sample;
  for (std::size_t i = 0; i < stretches; ++i)
    sample.add(file.text().substr(last / (stretches - 1) * i, stretch));
  return {file.size(), file.changed_ns(), sample.value(),     part.index,
          part.count,  vocabulary,        max_sentence_length};
}

WORDLOOM_FUNCTION void finish_corpus_file(HashedWriter& file, const CorpusSource& source,
                                          std::span<const std::uint64_t> ends,
                                          std::uint64_t words_read) {
  file.pad();
  file.array(ends);
  const CorpusFileEnd end{source, ends.empty() ? 0 : ends.back(), words_read, ends.size()};
  file.write(&end, sizeof end);
  file.end_section();
  file.commit();
}

WORDLOOM_FUNCTION std::optional<EncodedText> open_corpus_file(const std::filesystem::path& path,
                                                              const CorpusSource& source) {
  const auto cache = open_cache_file(path, corpus_magic, "an encoded corpus");
  CorpusFileEnd end;
  if (!cache || cache->content.size() < sizeof end) return std::nullopt;
  const std::size_t size = cache->content.size() - sizeof end;
  std::memcpy(&end, cache->content.data() + size, sizeof end);
  if (!(end.source == source) || end.token_count > size / sizeof(WordId) ||
      end.sentence_count > size / sizeof(std::uint64_t))
    return std::nullopt;
  const std::size_t ids_bytes = (end.token_count + 1) / 2 * 2 * sizeof(WordId);
  if (size != ids_bytes + end.sentence_count * sizeof(std::uint64_t)) return std::nullopt;
  const char* const ids = cache->content.data();
  return EncodedText{{reinterpret_cast<const WordId*>(ids), end.token_count},
                     {reinterpret_cast<const std::uint64_t*>(ids + ids_bytes), end.sentence_count},
                     end.words_read,
                     cache->file};
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
