#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <utility>
#include <wordloom/encoders.hpp>
#include <wordloom/wordloom.hpp>

/// Calls `use` with the vectors of a model, which have those of other words too where the model can
/// make them: SubwordEmbeddings, CharCnnEmbeddings or Embeddings.
template <class Use>
void with_vectors_of(wordloom::Model&& model, Use&& use) {
  if (model.subwords)
    use(wordloom::SubwordEmbeddings(std::move(model)));
  else if (wordloom::CharCnnEmbeddings::are_in(model))
    use(wordloom::CharCnnEmbeddings(std::move(model)));
  else
    use(std::move(model).embeddings());
}

/// Throws FormatError for a vector with nan or inf, which spoils all answers and scores.
inline void require_finite(const wordloom::Embeddings& embeddings,
                           const std::filesystem::path& path) {
  for (std::size_t id = 0; id < embeddings.size(); ++id) {
    if (embeddings.inverse_lengths()[id] > 0) continue;
    const auto vector = embeddings.vector(id);
    if (!std::all_of(vector.begin(), vector.end(), [](float x) { return std::isfinite(x); }))
      throw wordloom::FormatError{path, ": the vector of '",
                                  wordloom::detail::without_controls(embeddings.word(id)),
                                  "' holds a number that is not finite (nan or inf); were they "
                                  "trained at too high a rate?"};
  }
}

/// Calls `use` with the vectors in a file. Throws FormatError unless all their numbers are finite.
template <class Use>
void with_vectors_in(const std::filesystem::path& path, wordloom::VectorFormat format, Use&& use) {
  using wordloom::VectorFormat;
  const auto use_finite = [&](const auto& embeddings) {
    require_finite(embeddings, path);
    use(embeddings);
  };
  if (format == VectorFormat::fasttext)
    use_finite(wordloom::load_fasttext(path));
  else if (format == VectorFormat::model)
    with_vectors_of(wordloom::Model::load(path), use_finite);
  else
    use_finite(wordloom::load_embeddings(path, format));
}
