#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>

#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/files.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/subwords.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/io/detail/fasttext_reader.hpp>
#include <wordloom/io/vector_format.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/model/subword_embeddings.hpp>

/// The .bin files of fastText 0.1 to 0.9: the whole model, with the rows of n-grams.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// The training parameters that a file records. fastText only shows them.
struct Model::FastTextOptions {
  std::size_t window = 5, epochs = 5, negatives = 5;
  std::uint64_t min_count = 5;
  double subsample = 1e-4;
  bool cbow = false;

  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("window", window, 0, 0x7fff'ffff);
    visit("epochs", epochs, 0, 0x7fff'ffff);
    visit("negatives", negatives, 0, 0x7fff'ffff);
    visit("min_count", min_count, 0, 0x7fff'ffff);
    visit("subsample", subsample, 0.0, 1.0);
  }
};

namespace detail {

/// Throws InvalidArgument for a model that fastText's files cannot hold.
inline void check_fasttext(const Model& model, const SubwordOptions& subwords) {
  constexpr std::size_t max = (std::numeric_limits<std::int32_t>::max)();
  const auto refuse = [](const std::string& which) {
    throw InvalidArgument{"fastText's format cannot hold a model ", which};
  };
  const Vocabulary& words = model.vocabulary;
  const std::size_t rows = words.size() + subwords.rows();
  if (words.empty()) refuse("without words");
  if (model.has_one_matrix()) refuse("with one matrix for both sides");
  if (rows > max || model.dimension() > max)  // fastText numbers rows with 32 bits
    refuse(detail::joined({"of ", words.size(), " words, ", subwords.rows(),
                           " buckets and dimension ", model.dimension(), ": above 2^31 - 1"}));
  if (model.input.rows() < rows || model.output.rows() != words.size())
    refuse(detail::joined({"of ", model.input.rows(), " input and ", model.output.rows(),
                           " output rows (hierarchical softmax?), it needs ", rows, " and ",
                           words.size()}));
  if (words.total_count() > std::uint64_t{(std::numeric_limits<std::int64_t>::max)()})
    refuse("whose counts add up to more than 2^63 - 1");
  check_words(words.words(), VectorFormat::fasttext);
}

/// Writes as Model::save_fasttext; does not commit.
inline void write_fasttext(const Model& model, AtomicFile& file,
                           const Model::FastTextOptions& options) {
  validate_parameters(options);
  const SubwordOptions subwords = model.subwords && model.subwords->maxn != 0
                                      ? *model.subwords
                                      : SubwordOptions{.minn = 0, .maxn = 0};
  check_fasttext(model, subwords);
  const Vocabulary& words = model.vocabulary;
  const auto write = [&](const auto& value) {
    file.write({reinterpret_cast<const char*>(&value), sizeof value});
  };
  const auto as_int = [](std::uint64_t number) { return static_cast<std::int32_t>(number); };
  FastTextHeader header;
  header.dim = as_int(model.dimension());
  header.ws = as_int(options.window);
  header.epoch = as_int(options.epochs);
  header.min_count = as_int(options.min_count);
  header.neg = as_int(options.negatives);
  header.model = options.cbow ? 1 : 2;
  header.bucket = as_int(subwords.rows());
  header.minn = as_int(subwords.minn);
  header.maxn = as_int(subwords.maxn);
  header.t = options.subsample;
  header.size = header.nwords = as_int(words.size());
  header.ntokens = static_cast<std::int64_t>(words.total_count());
  write(header);
  for (WordId id = 0; id < words.size(); ++id) {
    file.write(words.word(id));
    write('\0');
    write(words.count(id));
    write(std::int8_t{0});  // no label
  }
  const auto write_rows = [&](const RowMatrix& matrix, std::size_t rows) {
    write(std::int8_t{0});  // not quantised
    write(std::uint64_t{rows});
    write(std::uint64_t{matrix.columns()});
    for (std::size_t i = 0; i < rows; ++i)
      file.write(
          {reinterpret_cast<const char*>(matrix.row_data(i)), matrix.columns() * sizeof(float)});
  };
  write_rows(model.input, words.size() + subwords.rows());
  write_rows(model.output, words.size());
}

}  // namespace detail

inline void Model::save_fasttext(const std::filesystem::path& path,
                                 const FastTextOptions& options) const {
  AtomicFile file(path);
  detail::write_fasttext(*this, file, options);
  file.commit();
}
inline void Model::save_fasttext(const std::filesystem::path& path) const {
  save_fasttext(path, {});
}

namespace detail {

inline Model read_fasttext_model(const InputFile& input_file) {
  FastTextReader file(input_file);
  file.require_negative_sampling();
  RowMatrix input = file.input(), output = file.output();
  Model::Shape shape{.dimension = 0, .input_rows = input.rows()};  // no rows are drawn
  if (file.subwords().maxn != 0) shape.subwords = file.subwords();
  Model model(file.vocabulary(), shape);
  model.input = std::move(input);
  model.output = std::move(output);
  return model;
}

inline SubwordEmbeddings read_fasttext(const InputFile& input_file) {
  FastTextReader file(input_file);
  RowMatrix input = file.input();
  file.skip_output();
  return {file.vocabulary().words(), std::move(input), file.subwords(), file.vocabulary().counts()};
}

/// Reads a model of fastText, version 11 or 12, plain or .gz, to train on: cbow or skip-gram with
/// the loss ns, not quantised or pruned. Labels that were in its text are left out. Words with
/// equal counts move to their place in a Vocabulary. Without n-grams (maxn 0) Model::subwords is
/// empty and rows of buckets are dropped. Values that are not finite are kept. Throws IoError, and
/// FormatError with the byte.
inline Model load_fasttext_model(const std::filesystem::path& path) {
  return detail::read_fasttext_model(detail::InputFile(path));
}

/// Reads the vectors of a fastText model, of any loss, without its output. Throws as
/// load_fasttext_model.
inline SubwordEmbeddings load_fasttext(const std::filesystem::path& path) {
  return detail::read_fasttext(detail::InputFile(path));
}

}  // namespace detail

}}  // namespace wordloom::WORDLOOM_ABI
