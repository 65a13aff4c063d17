#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include <wordloom/core/parameters.hpp>
#include <wordloom/model/compressed_embeddings.hpp>
#include <wordloom/model/detail/compressed_rows.hpp>
#include <wordloom/model/detail/product_centres.hpp>
#include <wordloom/model/detail/usable_vectors.hpp>

// Embeddings::compress.
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// A file of compressed vectors that is being made, in zeroed memory on a 64-byte boundary.
struct CompressedImage {
  explicit CompressedImage(const CompressedHeader& h)
      : header(h), layout(h), memory(layout.size / 64, 16) {
    write_header();
  }

  /// Returns a section that begins at a byte of the layout.
  template <class Number>
  Number* at(std::size_t byte) {
    return reinterpret_cast<Number*>(reinterpret_cast<char*>(memory.data()) + byte);
  }
  void write_header() {
    header.hash = header.own_hash();
    std::memcpy(memory.data(), &header, sizeof header);
  }
  std::string_view content() const {
    return {reinterpret_cast<const char*>(memory.data()), layout.size};
  }

  CompressedHeader header;
  CompressedLayout layout;
  RowMatrix memory;
};

/// Writes words with their table, and counts.
WORDLOOM_FUNCTION void write_words(const Embeddings& embeddings, CompressedImage& image) {
  auto* const ends = image.at<std::uint32_t>(image.layout.ends);
  auto* const table = image.at<std::uint32_t>(image.layout.table);
  const std::size_t slot_count = image.layout.slot_count;
  char* const text = image.at<char>(image.layout.text);
  std::size_t end = 0;
  for (std::size_t id = 0; id < embeddings.size(); ++id) {
    const std::string_view word = embeddings.word(id);
    word.copy(text + end, word.size());
    ends[id] = static_cast<std::uint32_t>(end += word.size());
    if (embeddings.find(word) != id) continue;  // the first of duplicates is found
    std::size_t slot = CompressedFile::first_slot(word, slot_count);
    while (table[slot] != 0) slot = slot + 1 == slot_count ? 0 : slot + 1;
    table[slot] = static_cast<std::uint32_t>(id + 1);
  }
  std::ranges::copy(embeddings.counts(), image.at<std::uint64_t>(image.layout.counts));
}

/// Writes the numbers of a vector and returns their scale (1 for floats).
WORDLOOM_FUNCTION float write_vector(std::span<const float> vector, std::string_view word,
                                     Embeddings::Compression::Format format, char* to) {
  if (format == Embeddings::Compression::float32) {
    std::memcpy(to, vector.data(), vector.size_bytes());
  } else if (format == Embeddings::Compression::float16) {
    float largest = 0;
    for (const float x : vector) largest = (std::max)(largest, std::abs(x));
    if (largest > 0 && half_of(largest) == 0)
      throw InvalidArgument{"float16 makes all numbers of the vector of ", shown(word),
                            " 0: the largest is ", static_cast<double>(largest), "; use int8"};
    for (std::size_t i = 0; i < vector.size(); ++i) {
      const std::uint16_t half = half_of(vector[i]);
      if ((half & 0x7fff) == 0x7c00)
        throw InvalidArgument{"the vector of ", shown(word), " contains ",
                              static_cast<double>(vector[i]),
                              ", float16 has numbers up to 65504: use int8"};
      std::memcpy(to + 2 * i, &half, sizeof half);
    }
  } else {
    float largest = 0;
    for (const float x : vector) largest = (std::max)(largest, std::abs(x));
    const float scale = largest / 127;
    for (std::size_t i = 0; i < vector.size(); ++i) {
      const float code =
          scale > 0 ? std::clamp(std::nearbyint(vector[i] / scale), -127.0f, 127.0f) : 0.0f;
      to[i] = static_cast<char>(static_cast<std::int8_t>(code));
    }
    return scale;
  }
  return 1;
}

/// Writes all vectors in a form, and their lengths.
WORDLOOM_FUNCTION void write_vectors(const Embeddings& embeddings,
                                     const Embeddings::Compression& options, std::size_t threads,
                                     CompressedImage& image) {
  const std::size_t dimension = embeddings.dimension();
  const CompressedLayout& layout = image.layout;
  const bool is_product = options.format == Embeddings::Compression::product;
  auto* const scales = image.at<float>(layout.scales);
  auto* const inverse = image.at<float>(layout.inverse_lengths);
  const std::size_t row_bytes = image.header.row_bytes();
  // Directions are divided into parts: the lengths of words are their scales.
  ProductCentres centres({image.at<float>(layout.centres), is_product ? dimension * 256 : 0},
                         image.header.parts);
  if (is_product)
    centres.train(embeddings.vectors(), embeddings.inverse_lengths(), options.seed, threads);
  const CompressedFile file(image.content(), {});
  const CompressedRows rows(file);
  for_word_blocks(embeddings.size(), threads, [&](std::size_t first, std::size_t last) {
    RowMatrix units(is_product ? last - first : 0, dimension);
    std::vector<float> decoded(dimension);
    for (std::size_t id = first; id < last; ++id) {
      const auto vector = embeddings.vector(id);
      if (is_product) {
        const float scale = embeddings.inverse_lengths()[id];
        scales[id] = scale > 0 ? 1 / scale : 0;
        std::transform(vector.begin(), vector.end(), units.row(id - first).begin(),
                       [scale](float x) { return x * scale; });
      } else {
        const float scale = write_vector(vector, embeddings.word(id), options.format,
                                         image.at<char>(layout.rows + id * row_bytes));
        if (options.format == Embeddings::Compression::int8) scales[id] = scale;
      }
    }
    if (is_product)
      centres.encode(units.data(), units.stride(), last - first,
                     image.at<std::uint8_t>(layout.rows + first * row_bytes));
    for (std::size_t id = first; id < last; ++id) {
      rows.decode(id, decoded);
      inverse[id] = static_cast<float>(inverse_length(decoded));
    }
  });
}

}  // namespace detail

WORDLOOM_FUNCTION CompressedEmbeddings Embeddings::compress(const Compression& options) const {
  const bool is_product = options.format == Compression::product;
  if (!is_product && options.bytes != 0)
    throw InvalidArgument(
        "bytes is for product quantisation, other formats have bytes of their own");
  if (is_product) check_parameter("bytes", options.bytes, std::size_t{0}, dimension());
  check_parameter("dimension", dimension(), 1, 1 << 24);
  detail::require_usable(*this);
  const std::size_t threads =
      (std::min)(resolve_threads(options.threads), (std::max<std::size_t>)(1, size() / 64));
  detail::CompressedHeader header{};
  detail::CompressedHeader::kind.copy(header.magic, sizeof header.magic);
  header.version = detail::CompressedHeader::current_version;
  header.format = options.format;
  header.words = size();
  header.dimension = dimension();
  if (is_product) header.parts = options.bytes == 0 ? (dimension() + 3) / 4 : options.bytes;
  header.has_counts = counts().empty() ? 0 : 1;
  for (std::size_t id = 0; id < size(); ++id) header.text_bytes += word(id).size();
  if (header.text_bytes > (std::numeric_limits<std::uint32_t>::max)())
    throw InvalidArgument("compressed vectors hold words of at most 4 GiB of text");
  const auto image = std::make_shared<detail::CompressedImage>(header);
  detail::write_words(*this, *image);
  detail::write_vectors(*this, options, threads, *image);
  const detail::CompressedFile file(image->content(), {});
  image->header.words_hash = file.words_hash();
  image->header.vectors_hash = file.vectors_hash();
  image->write_header();
  return {image, image->content(), {}};
}

}}  // namespace wordloom::WORDLOOM_ABI
