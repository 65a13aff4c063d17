#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <wordloom/algebra.hpp>
#include <wordloom/wordloom.hpp>

#include "command_line.hpp"

/// Options that make vectors smaller.
struct SmallVectorOptions {
  std::optional<std::size_t> remove_top;
  std::size_t pca = 0, bytes = 0;
  std::string compress, output;

  bool empty() const {
    return !remove_top && pca == 0 && bytes == 0 && compress.empty() && output.empty();
  }

  bool changes_vectors() const { return remove_top || pca != 0; }

  /// Calls `use` with the vectors that the options ask for: Embeddings or CompressedEmbeddings; or
  /// writes them to the output.
  template <class Use>
  void apply(wordloom::Embeddings words, Use&& use) const {
    if (compress.empty() && (bytes != 0 || !output.empty()))
      throw wordloom::InvalidArgument(bytes != 0 ? "--bytes is for --compress product"
                                                 : "--output needs --compress");
    const auto require_below = [&](const char* option, std::size_t value, std::size_t most) {
      if (value > most)
        throw wordloom::InvalidArgument{
            option,       " ", value, ": at most ", most, ", as vectors have ", words.dimension(),
            " dimensions"};
    };
    if (remove_top) {
      require_below("--remove-top", *remove_top, words.dimension() - 1);
      words = words.without_top(*remove_top);
    }
    if (pca != 0) {
      require_below("--pca", pca, words.dimension());
      words = words.reduced(pca);
    }
    if (compress.empty()) return use(words);
    const auto format = static_cast<wordloom::Embeddings::Compression::Format>(
        std::ranges::find(formats, compress) - formats.begin());
    const auto small = words.compress({.format = format, .bytes = bytes});
    output.empty() ? use(small) : small.save(output);
  }

  static constexpr std::array<const char*, 4> formats{"float32", "float16", "int8", "product"};
};

inline void declare_small_vectors(CLI::App& app, SmallVectorOptions& options) {
  app.add_option("--remove-top", options.remove_top,
                 "Take the mean and so many directions of the largest variance away from the "
                 "vectors (all but the top: dimension / 100)")
      ->check(whole_number);
  app.add_option("--pca", options.pca, "Then reduce the vectors to this dimension")
      ->check(whole_number);
  app.add_option("--compress", options.compress,
                 "Then compress them: float32 (only mapped), float16, int8 or product "
                 "quantisation")
      ->check(CLI::IsMember(std::vector<std::string>(SmallVectorOptions::formats.begin(),
                                                     SmallVectorOptions::formats.end())));
  app.add_option("--bytes", options.bytes,
                 "Bytes of a word with --compress product; 0: dimension / 4")
      ->check(whole_number);
  app.add_option("--output", options.output,
                 "Write the compressed vectors to this file, and answer nothing");
}
