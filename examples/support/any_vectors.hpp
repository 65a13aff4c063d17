#pragma once
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

/// The same with the vectors in a file.
template <class Use>
void with_vectors_in(const std::filesystem::path& path, wordloom::VectorFormat format, Use&& use) {
  using wordloom::VectorFormat;
  if (format == VectorFormat::fasttext)
    use(wordloom::load_fasttext(path));
  else if (format == VectorFormat::model)
    with_vectors_of(wordloom::Model::load(path), use);
  else
    use(wordloom::load_embeddings(path, format));
}
