#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <wordloom/core/atomic_file.hpp>
#include <wordloom/core/hash.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/corpus/text_pieces.hpp>

namespace wordloom::detail {

/// What determines an encoded text: the text (its size, time and a sample of its bytes), the part
/// of it that was read, the vocabulary and the way of splitting.
struct CorpusSource {
  std::uint64_t text_bytes = 0;
  std::int64_t text_modified_ns = 0;
  std::uint64_t text_sample = 0;
  std::uint64_t part_index = 0, part_count = 1;
  std::uint64_t vocabulary = 0;
  std::uint64_t max_sentence_length = 0;

  static CorpusSource of(const std::filesystem::path& text, std::uint64_t vocabulary,
                         std::uint64_t max_sentence_length, TextPart part) {
    const MappedFile file(text);
    return {file.size(), file.modified_ns(), sample(file.text()), part.index,
            part.count,  vocabulary,         max_sentence_length};
  }

  friend bool operator==(const CorpusSource&, const CorpusSource&) = default;

 private:
  /// Returns a hash of 64 stretches of 1 KiB, spread from the first byte to the last.
  static std::uint64_t sample(std::string_view text) {
    constexpr std::size_t stretches = 64, stretch = 1024;
    Hash hash;
    for (std::size_t i = 0; i < stretches; ++i) {
      const std::size_t last = text.size() - std::min(text.size(), stretch);
      hash.add(text.substr(last / (stretches - 1) * i, stretch));
    }
    return hash.value();
  }
};

/// The end of a corpus file, which holds ids [token_count] from byte 0, padded to 8 bytes, the ends
/// [sentence_count] of the sentences (in tokens), then this. Numbers are in the byte order of the
/// machine; a machine of the other order sees another `magic`.
struct CorpusFileEnd {
  static constexpr std::uint64_t expected_magic = 0x0032'5355'5052'4f43;  // "CORPUS2" and a zero
  CorpusSource source;
  std::uint64_t token_count = 0;
  std::uint64_t sentence_count = 0;
  std::uint64_t hash = 0;  // of all bytes before this end
  std::uint64_t magic = expected_magic;
};

/// Writes a corpus file as its ids come. The file appears as a whole with `finish`, or not at all.
class CorpusFileWriter {
 public:
  explicit CorpusFileWriter(const std::filesystem::path& path) : file_(path) {}

  void add(std::span<const WordId> ids) {
    tokens_ += ids.size();
    write(ids.data(), ids.size_bytes());
  }

  void finish(const CorpusSource& source, std::span<const std::uint64_t> ends) {
    if (tokens_ % 2 != 0) write("\0\0\0\0", 4);
    write(ends.data(), ends.size_bytes());
    CorpusFileEnd end;
    end.source = source;
    end.token_count = tokens_;
    end.sentence_count = ends.size();
    end.hash = hash_.value();
    write(&end, sizeof(end));
    file_.commit();
  }

 private:
  void write(const void* data, std::size_t bytes) {
    hash_.add(data, bytes);
    file_.write({static_cast<const char*>(data), bytes});
  }

  AtomicFile file_;
  Hash hash_;
  std::uint64_t tokens_ = 0;
};

/// A mapped corpus file.
struct CorpusFile {
  MappedFile file;
  std::span<const WordId> ids;          // [tokens]
  std::span<const std::uint64_t> ends;  // [sentences]

  /// Returns nothing if the file does not exist, was made from another source or is damaged: it
  /// must then be made again. Throws IoError if it exists and cannot be read.
  static std::optional<CorpusFile> open(const std::filesystem::path& path,
                                        const CorpusSource& source) {
    if (!std::filesystem::exists(path)) return std::nullopt;
    CorpusFile result;
    result.file = MappedFile(path);
    const std::size_t size = result.file.size();
    CorpusFileEnd end;
    if (size < sizeof(end)) return std::nullopt;
    std::memcpy(&end, result.file.data() + size - sizeof(end), sizeof(end));
    const std::uint64_t max_count = size / sizeof(WordId);
    if (end.magic != CorpusFileEnd::expected_magic || !(end.source == source) ||
        end.token_count > max_count || end.sentence_count > max_count)
      return std::nullopt;
    const std::size_t ids_bytes = (end.token_count + 1) / 2 * 2 * sizeof(WordId);
    if (size != ids_bytes + end.sentence_count * sizeof(std::uint64_t) + sizeof(end))
      return std::nullopt;
    result.ids = {reinterpret_cast<const WordId*>(result.file.data()), end.token_count};
    result.ends = {reinterpret_cast<const std::uint64_t*>(result.file.data() + ids_bytes),
                   end.sentence_count};
    Hash hash;
    hash.add(result.file.data(), size - sizeof(end));
    if (hash.value() != end.hash || !result.ends_rise()) return std::nullopt;
    return result;
  }

 private:
  bool ends_rise() const {
    std::uint64_t before = 0;
    for (const std::uint64_t end : ends) {
      if (end <= before) return false;
      before = end;
    }
    return before == ids.size();
  }
};

}  // namespace wordloom::detail
