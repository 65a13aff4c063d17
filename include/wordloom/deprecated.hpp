#pragma once
#include <filesystem>
#include <functional>

#include <wordloom/core/detail/abi.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/io/embeddings_file.hpp>
#include <wordloom/io/vector_format.hpp>
#include <wordloom/model/embeddings.hpp>
#include <wordloom/train/progress.hpp>

/// Deprecated names of versions 0.1 and 0.2. CHANGELOG.md lists their replacements. They will be
/// removed in the version after 1.0.
namespace wordloom { inline namespace WORDLOOM_ABI {

using ProgressCallback [[deprecated("on_progress and add take any function")]] =
    std::function<bool(const Progress&)>;

[[deprecated("use Hyperparameters{} or Presets::word2vec()")]] constexpr Hyperparameters
word2vec_defaults() {
  return {};
}
[[deprecated("set these three values in Hyperparameters")]] constexpr Hyperparameters
fasttext_defaults() {
  return {.subsample = 1e-4, .learning_rate = 0.05, .negative_exponent = 0.5};
}

[[deprecated("use Embeddings::load(path)")]] inline Embeddings load_embeddings(
    const std::filesystem::path& path) {
  return Embeddings::load(path);
}
[[deprecated("use VectorFile(path).embeddings(format)")]] inline Embeddings load_embeddings(
    const std::filesystem::path& path, VectorFormat format) {
  return VectorFile(path).embeddings(format);
}
[[deprecated("use Embeddings::load(path)")]] inline Embeddings load_word2vec_binary(
    const std::filesystem::path& path) {
  return VectorFile(path).embeddings(VectorFormat::word2vec_binary);
}
[[deprecated("use Embeddings::load(path)")]] inline Embeddings load_word2vec_text(
    const std::filesystem::path& path) {
  return VectorFile(path).embeddings(VectorFormat::word2vec_text);
}
[[deprecated("use Embeddings::load(path)")]] inline Embeddings load_glove_text(
    const std::filesystem::path& path) {
  return VectorFile(path).embeddings(VectorFormat::glove_text);
}
[[deprecated("use Embeddings::load(path)")]] inline Embeddings load_projector_tsv(
    const std::filesystem::path& path) {
  return VectorFile(path).embeddings(VectorFormat::projector_tsv);
}

[[deprecated("use words.save(path, format)")]] inline void save_embeddings(
    const Embeddings& words, const std::filesystem::path& path, VectorFormat format) {
  words.save(path, format);
}
[[deprecated("use words.save(path)")]] inline void save_word2vec_binary(
    const Embeddings& words, const std::filesystem::path& path) {
  words.save(path, VectorFormat::word2vec_binary);
}
[[deprecated("use words.save(path, VectorFormat::word2vec_text)")]] inline void save_word2vec_text(
    const Embeddings& words, const std::filesystem::path& path) {
  words.save(path, VectorFormat::word2vec_text);
}
[[deprecated("use words.save(path, VectorFormat::glove_text)")]] inline void save_glove_text(
    const Embeddings& words, const std::filesystem::path& path) {
  words.save(path, VectorFormat::glove_text);
}
[[deprecated("use words.save(path, VectorFormat::npy)")]] inline void save_npy(
    const Embeddings& words, const std::filesystem::path& path) {
  words.save(path, VectorFormat::npy);
}
[[deprecated("use words.save(path, VectorFormat::projector_tsv)")]] inline void save_projector_tsv(
    const Embeddings& words, const std::filesystem::path& path) {
  words.save(path, VectorFormat::projector_tsv);
}

}}  // namespace wordloom::WORDLOOM_ABI
