#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <wordloom/encoders.hpp>
#include <wordloom/wordloom.hpp>

#include "command_line.hpp"

/// Returns a LoadOptions::warn that prints to stderr.
inline auto warn_as(const std::string& program) {
  return [program](const std::string& message) {
    std::cerr << program << ": warning: " << message << '\n';
  };
}

/// Adds --limit and --strict to a program that reads vectors; its warnings go to stderr.
inline void declare_load_options(CLI::App& app, wordloom::LoadOptions& options,
                                 const std::string& program) {
  app.add_option("--limit", options.limit, "Read only the first words of the vectors; 0: all")
      ->check(whole_number);
  app.add_flag("--strict", options.strict,
               "Refuse vectors with a wrong number of words in the header, blank lines at the end "
               "or a last line that does not end, instead of a warning");
  options.warn = warn_as(program);
}

/// Calls `use` with the vectors of a model; with those of unknown words too if the model can
/// compute them: SubwordEmbeddings, CharCnnEmbeddings or Embeddings.
template <class Use>
void with_vectors_of(wordloom::Model&& model, Use&& use) {
  if (model.subwords)
    use(wordloom::SubwordEmbeddings(std::move(model)));
  else if (wordloom::CharCnnEmbeddings::are_in(model))
    use(wordloom::CharCnnEmbeddings(std::move(model)));
  else
    use(std::move(model).embeddings());
}

/// Throws FormatError for a vector with nan or inf, or whose length or its inverse is no float,
/// which would spoil all answers and scores.
inline void require_finite(const wordloom::Embeddings& embeddings,
                           const std::filesystem::path& path) {
  for (std::size_t id = 0; id < embeddings.size(); ++id) {
    const double inverse = static_cast<double>(embeddings.inverse_lengths()[id]);
    if (inverse > 3e-39 && inverse < 3e38) continue;
    const auto vector = embeddings.vector(id);
    if (!std::all_of(vector.begin(), vector.end(), [](float x) { return std::isfinite(x); }))
      throw wordloom::FormatError{path, ": the vector of ", in_quotes(embeddings.word(id)),
                                  " holds a number that is not finite (nan or inf); were they "
                                  "trained at too high a rate?"};
    if (inverse != 0)
      throw wordloom::FormatError{path, ": the vector of ", in_quotes(embeddings.word(id)),
                                  " is longer than 3e38 or shorter than 3e-39: scale the vectors"};
  }
}

/// Calls `use` with the vectors in a file, which is opened once: it may be a pipe. `format`: the
/// name of its format, or empty to detect it. With a limit, only the vectors of the first words are
/// read. Throws FormatError unless all their numbers are finite.
template <class Use>
void with_vectors_in(const wordloom::VectorFile& file, const std::string& format,
                     const wordloom::LoadOptions& options, Use&& use) {
  using wordloom::VectorFormat;
  const auto use_finite = [&](const auto& embeddings) {
    require_finite(embeddings.in_vocabulary(), file.path());
    use(embeddings);
  };
  const VectorFormat given =
      format.empty() ? file.format() : wordloom::VectorFile::format_named(format);
  if (given == VectorFormat::fasttext && options.limit == 0)
    use_finite(file.fasttext());
  else if (given == VectorFormat::model && options.limit == 0)
    with_vectors_of(file.model(), use_finite);
  else
    use_finite(file.embeddings(given, options));
}
template <class Use>
void with_vectors_in(const std::filesystem::path& path, const std::string& format,
                     const wordloom::LoadOptions& options, Use&& use) {
  with_vectors_in(wordloom::VectorFile(path), format, options, use);
}
