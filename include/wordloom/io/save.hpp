#pragma once
#include <filesystem>

#include <wordloom/core/atomic_file.hpp>
#include <wordloom/io/npy.hpp>
#include <wordloom/io/projector_tsv.hpp>
#include <wordloom/io/vector_format.hpp>
#include <wordloom/io/vector_text.hpp>
#include <wordloom/io/word2vec_binary.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom {

/// Writes in the format given, into a file that is already open; does not commit. Throws IoError,
/// and InvalidArgument for a word that is empty or holds white space.
inline void write_embeddings(const Embeddings& embeddings, AtomicFile& file, VectorFormat format) {
  switch (format) {
    case VectorFormat::word2vec_binary:
      return write_word2vec_binary(embeddings, file);
    case VectorFormat::word2vec_text:
      return write_word2vec_text(embeddings, file);
    case VectorFormat::glove_text:
      return write_glove_text(embeddings, file);
    case VectorFormat::npy:
      return write_npy(embeddings, file);
    case VectorFormat::projector_tsv:
      return write_projector_tsv(embeddings, file);
  }
}

/// The same into a file that appears whole or not at all.
inline void save_embeddings(const Embeddings& embeddings, const std::filesystem::path& path,
                            VectorFormat format) {
  AtomicFile file(path);
  write_embeddings(embeddings, file, format);
  file.commit();
}

}  // namespace wordloom
