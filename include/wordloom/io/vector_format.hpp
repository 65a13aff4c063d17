#pragma once
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/error.hpp>

namespace wordloom {

/// The formats of vectors that can be written and read.
enum class VectorFormat { word2vec_binary, word2vec_text, glove_text, npy, projector_tsv };

namespace detail {
inline constexpr std::array<std::pair<std::string_view, VectorFormat>, 6> vector_formats{{
    {"word2vec-binary", VectorFormat::word2vec_binary},
    {"word2vec-text", VectorFormat::word2vec_text},
    {"vec", VectorFormat::word2vec_text},
    {"glove", VectorFormat::glove_text},
    {"npy", VectorFormat::npy},
    {"tsv", VectorFormat::projector_tsv},
}};
}  // namespace detail

/// "word2vec-binary, word2vec-text, vec, glove, npy, tsv".
inline std::string vector_format_names() {
  std::string names;
  for (const auto& [name, format] : detail::vector_formats)
    names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

/// Throws InvalidArgument that lists the names there are.
inline VectorFormat vector_format(std::string_view name) {
  for (const auto& [known, format] : detail::vector_formats)
    if (known == name) return format;
  throw InvalidArgument("unknown vector format '" + std::string(name) + "', must be one of " +
                        vector_format_names());
}

}  // namespace wordloom
