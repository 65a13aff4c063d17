// Names of version 0.1 still compile, and their warnings say what replaced them.
// expect: ProgressCallback.*is deprecated: on_progress and add take any function
// expect: word2vec_defaults.*is deprecated: use Hyperparameters
// expect: fasttext_defaults.*is deprecated: set these three values
// expect: load_embeddings.*is deprecated: use
// Embeddings::load expect: load_embeddings.*is deprecated: use VectorFile.path..embeddings.format
// expect: load_word2vec_binary.*is deprecated: use Embeddings::load
// expect: load_word2vec_text.*is deprecated: use Embeddings::load
// expect: load_glove_text.*is deprecated: use Embeddings::load
// expect: load_projector_tsv.*is deprecated: use Embeddings::load
// expect: save_embeddings.*is deprecated: use words.save.path, format
// expect: save_word2vec_binary.*is deprecated: use words.save.path
// expect: save_word2vec_text.*is deprecated: use words.save.path, VectorFormat::word2vec_text
// expect: save_glove_text.*is deprecated: use words.save.path, VectorFormat::glove_text
// expect: save_npy.*is deprecated: use words.save.path, VectorFormat::npy
// expect: save_projector_tsv.*is deprecated: use words.save.path, VectorFormat::projector_tsv

#include <wordloom/wordloom.hpp>

#ifdef WORDLOOM_EXPECT_FAILURE
#pragma GCC diagnostic error "-Wdeprecated-declarations"
#else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

wordloom::ProgressCallback old_callback();

void use_old_names(const std::filesystem::path& path) {
  using namespace wordloom;
  static_assert(word2vec_defaults().epochs == 5 && fasttext_defaults().learning_rate == 0.05);
  for (const Embeddings& words :
       {load_embeddings(path), load_embeddings(path, VectorFormat::npy), load_word2vec_binary(path),
        load_word2vec_text(path), load_glove_text(path), load_projector_tsv(path)}) {
    save_embeddings(words, path, VectorFormat::npy);
    save_word2vec_binary(words, path);
    save_word2vec_text(words, path);
    save_glove_text(words, path);
    save_npy(words, path);
    save_projector_tsv(words, path);
  }
}

#ifndef WORDLOOM_EXPECT_FAILURE
#pragma GCC diagnostic pop
#endif
