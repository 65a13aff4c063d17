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
#include <system_error>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
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

/// The first 8 bytes of a corpus file; the first 6 are those of all versions.
inline constexpr std::string_view corpus_magic("CORPUS4\0", 8);

/// The end of a corpus file, which holds `corpus_magic`, ids [token_count], padded to 8 bytes, the
/// ends [sentence_count] of the sentences (in tokens), then this. Numbers are little-endian.
struct CorpusFileEnd {
  CorpusSource source;
  std::uint64_t token_count = 0;
  std::uint64_t words_read = 0;  // of the text, also those that the vocabulary lacks
  std::uint64_t sentence_count = 0;
  std::uint64_t hash = 0;  // of all bytes before it
};

/// Writes a corpus file while its ids arrive. The file appears as a whole with `finish`, or not at
/// all.
class CorpusFileWriter {
 public:
  explicit CorpusFileWriter(const std::filesystem::path& path) : file_(path) {
    write(corpus_magic.data(), corpus_magic.size());
  }

  void append(std::span<const WordId> ids) {
    tokens_ += ids.size();
    write(ids.data(), ids.size_bytes());
  }

  void finish(const CorpusSource& source, std::span<const std::uint64_t> ends,
              std::uint64_t words_read);

 private:
  void write(const void* data, std::size_t bytes) {
    hash_.add(data, bytes);
    file_.write({static_cast<const char*>(data), bytes});
  }

  AtomicFile file_;
  Hash hash_;
  std::uint64_t tokens_ = 0;
};

/// A text as word ids.
struct EncodedText {
  std::span<const WordId> ids;          // [tokens]
  std::span<const std::uint64_t> ends;  // [sentences], in tokens, ascending
  std::uint64_t words_read;             // of the text, also those that the vocabulary lacks
  std::shared_ptr<const void> memory;   // holds both
};

/// Maps a corpus file. Returns nothing if the file does not exist, is empty, was made from another
/// source or is damaged: it must then be made again. Throws IoError if it exists and cannot be
/// read, and FormatError if it is not a corpus file, because it must not be replaced.
std::optional<EncodedText> open_corpus_file(const std::filesystem::path& path,
                                            const CorpusSource& source);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION CorpusSource CorpusSource::of(const std::filesystem::path& path,
                                                std::uint64_t vocabulary,
                                                std::uint64_t max_sentence_length, TextPart part) {
  const MappedFile file(path);
  // The sample: 64 pieces of 1 KiB, spread from the first byte to the last.
  constexpr std::size_t stretches = 64, stretch = 1024;
  const std::size_t last = file.size() - std::min(file.size(), stretch);
  Hash sample;
  for (std::size_t i = 0; i < stretches; ++i)
    sample.add(file.text().substr(last / (stretches - 1) * i, stretch));
  return {file.size(), file.changed_ns(), sample.value(),     part.index,
          part.count,  vocabulary,        max_sentence_length};
}

WORDLOOM_FUNCTION void CorpusFileWriter::finish(const CorpusSource& source,
                                                std::span<const std::uint64_t> ends,
                                                std::uint64_t words_read) {
  if (tokens_ % 2 != 0) write("\0\0\0\0", 4);
  write(ends.data(), ends.size_bytes());
  const CorpusFileEnd end{source, tokens_, words_read, ends.size()};
  write(&end, offsetof(CorpusFileEnd, hash));
  const std::uint64_t hash = hash_.value();
  write(&hash, sizeof(hash));
  file_.commit();
}

WORDLOOM_FUNCTION std::optional<EncodedText> open_corpus_file(const std::filesystem::path& path,
                                                              const CorpusSource& source) {
  if (std::error_code ignored; !std::filesystem::exists(path, ignored)) return std::nullopt;
  const auto file = std::make_shared<const MappedFile>(path);
  const std::string_view text = file->text();
  if (text.empty()) return std::nullopt;
  if (!text.starts_with(corpus_magic.substr(0, 6)))
    throw FormatError{"'", path,
                      "' is not an encoded corpus and was not overwritten: name another file as ",
                      "the cache, or remove it"};
  CorpusFileEnd end;
  if (!text.starts_with(corpus_magic) || text.size() < corpus_magic.size() + sizeof(end))
    return std::nullopt;
  const std::size_t size = text.size() - corpus_magic.size() - sizeof(end);
  std::memcpy(&end, text.data() + text.size() - sizeof(end), sizeof(end));
  if (!(end.source == source) || end.token_count > size / sizeof(WordId) ||
      end.sentence_count > size / sizeof(std::uint64_t))
    return std::nullopt;
  const std::size_t ids_bytes = (end.token_count + 1) / 2 * 2 * sizeof(WordId);
  if (size != ids_bytes + end.sentence_count * sizeof(std::uint64_t) ||
      Hash::of(text.substr(0, text.size() - sizeof(end.hash))) != end.hash)
    return std::nullopt;
  const char* const ids = text.data() + corpus_magic.size();
  return EncodedText{{reinterpret_cast<const WordId*>(ids), end.token_count},
                     {reinterpret_cast<const std::uint64_t*>(ids + ids_bytes), end.sentence_count},
                     end.words_read,
                     file};
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
