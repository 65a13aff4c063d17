// Functions of Model (model/model.hpp).
namespace wordloom { inline namespace WORDLOOM_ABI {

WORDLOOM_FUNCTION Model::Model(Vocabulary words, const Shape& shape, std::uint64_t seed)
    : vocabulary(std::move(words)),
      input(input_rows_of(shape, vocabulary.size()), shape.dimension),
      output(output_rows_of(shape, vocabulary.size()), shape.dimension),
      subwords(shape.subwords) {
  if (input.rows() < vocabulary.size())
    throw InvalidArgument{"input_rows is ", input.rows(),
                          ", expected at least one row for each of ", vocabulary.size(), " words"};
  if (shape.one_matrix && shape.output_rows != 0 && shape.output_rows != input.rows())
    throw InvalidArgument{"output_rows is ", shape.output_rows, ", the one matrix has ",
                          input.rows()};
  if (shape.one_matrix) tie_output();
  if (subwords) require_subword_rows();
  detail::draw_rows(input, {}, seed, init_stream);
}

WORDLOOM_FUNCTION std::vector<Model::NamedMatrix> Model::copy_of_matrices() const {
  std::vector<NamedMatrix> copies;
  for (const auto& [name, matrix] : matrices())
    copies.push_back({std::string(name), matrix->copy()});
  return copies;
}

WORDLOOM_FUNCTION void Model::set_matrices(std::vector<NamedMatrix> copies) {
  const auto described = [](std::string_view name, const RowMatrix& matrix) {
    return "'" + std::string(name) + "' of " + shape_of(matrix.rows(), matrix.columns());
  };
  const auto present = matrices();
  const std::size_t sides = side_count();
  for (std::size_t i = 0; i < sides; ++i) {
    const auto expected = described(present[i].name, *present[i].matrix);
    const auto got = i < copies.size() ? described(copies[i].name, copies[i].matrix) : "none";
    if (got != expected) throw InvalidArgument{"expected matrix ", expected, ", got ", got};
  }
  if (sides == 1 && copies.size() > 1 && copies[1].name == "output")
    throw InvalidArgument("expected one matrix for both sides, got 'input' and 'output'");
  set_sides(std::move(copies[0].matrix), sides == 2 ? std::move(copies[1].matrix) : RowMatrix());
  copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(sides));
  state = std::move(copies);
}

WORDLOOM_FUNCTION RowMatrix& Model::state_matrix(std::string_view name, std::size_t rows,
                                                 std::size_t columns) {
  if (columns == 0) columns = dimension();
  for (NamedMatrix& known : state) {
    if (known.name != name) continue;
    if (known.matrix.rows() == rows && known.matrix.columns() == columns) return known.matrix;
    throw InvalidArgument{"state matrix '",
                          known.name,
                          "' is of ",
                          shape_of(known.matrix.rows(), known.matrix.columns()),
                          ", expected ",
                          shape_of(rows, columns),
                          ": it was made by another optimizer or for another model"};
  }
  state.push_back({std::string(name), RowMatrix(rows, columns)});
  return state.back().matrix;
}

WORDLOOM_FUNCTION Embeddings Model::embeddings() const& {
  require_words("has no embeddings");
  if (subwords)
    return {vocabulary.words(), detail::composed_vectors(vocabulary.words(), input, *subwords),
            vocabulary.counts()};
  return {vocabulary.words(), input.copy((std::min)(vocabulary.size(), input.rows())),
          vocabulary.counts()};
}

WORDLOOM_FUNCTION Embeddings Model::embeddings() && {
  if (subwords) output = {};  // makes room for the means
  if (input.rows() != vocabulary.size()) return std::as_const(*this).embeddings();
  require_words("has no embeddings");
  if (has_one_matrix()) output = {};  // would outlive its rows
  return {vocabulary.words(), std::move(input), vocabulary.counts()};
}

WORDLOOM_FUNCTION std::size_t Model::set_vectors(const Embeddings& known) {
  if (known.dimension() != dimension())
    throw InvalidArgument{"the known vectors have dimension ", known.dimension(), ", the model ",
                          dimension()};
  std::size_t found = 0;
  for (WordId id = 0; id < vocabulary.size(); ++id)
    if (const auto row = known.words().find(vocabulary.word(id))) {
      std::ranges::copy(known.vector(*row), input.row_data(id));
      ++found;
    }
  return found;
}

WORDLOOM_FUNCTION void Model::extend(const Vocabulary& more, std::uint64_t seed) {
  require_words("cannot be extended");
  const detail::VocabularyUnion all(vocabulary, more);
  if (all.words.fingerprint() == vocabulary.fingerprint()) return;
  const auto inputs = all.input(input.rows());
  const auto outputs = has_one_matrix() ? inputs : all.output(output.rows());
  RowMatrix new_input = detail::gather_rows(input, inputs);
  RowMatrix new_output = has_one_matrix() ? RowMatrix() : detail::gather_rows(output, outputs);
  detail::draw_rows(new_input, inputs, seed, init_stream - vocabulary.size());
  std::vector<NamedMatrix> new_state;
  for (const auto& [name, matrix] : state) {
    const bool of_input = name.starts_with("input.") && matrix.rows() == input.rows();
    const bool of_output = name.starts_with("output.") && matrix.rows() == output.rows();
    new_state.push_back({name, of_input    ? detail::gather_rows(matrix, inputs)
                               : of_output ? detail::gather_rows(matrix, outputs)
                                           : matrix.copy()});
  }
  vocabulary = all.words;
  set_sides(std::move(new_input), std::move(new_output));
  state = std::move(new_state);
}

WORDLOOM_FUNCTION void Model::save(const std::filesystem::path& path) const {
  if (const auto name = duplicate_name())
    throw InvalidArgument{"cannot save a model with two matrices '", *name, "'"};
  std::string words;
  for (WordId id = 0; id < vocabulary.size(); ++id) {
    const std::string_view word = vocabulary.word(id);
    if (word.find('\n') != word.npos)
      throw InvalidArgument{"cannot save a model with a newline in the word ", detail::shown(word)};
    words.append(word).append(1, '\n');
  }
  detail::SectionWriter file(path, format);
  file.text(words);
  file.numbers(vocabulary.counts());
  std::vector<std::uint64_t> count{side_count() + state.size()};
  if (has_one_matrix() || subwords) count.push_back(has_one_matrix() ? 1 : 0);
  if (subwords) count.insert(count.end(), {subwords->minn, subwords->maxn, subwords->buckets});
  file.numbers(count);
  for (const auto& [name, matrix] : matrices()) file.matrix(name, *matrix);
  file.commit();
}

WORDLOOM_FUNCTION Model Model::load(const detail::InputFile& input_file) {
  detail::SectionReader file(input_file, format);
  Model model;
  model.vocabulary = read_vocabulary(file);
  const auto counts = file.numbers();
  const bool one_matrix = counts.size() == 2 && counts[1] == 1;
  const bool has_subwords = counts.size() == 5 && counts[1] == 0;
  const std::size_t sides = one_matrix ? 1 : 2;
  if ((!one_matrix && !has_subwords && counts.size() != 1) || counts[0] < sides)
    file.refuse_section("the number of matrices", "another section");
  if (has_subwords) {
    model.subwords = {counts[2], counts[3], counts[4]};
    try {
      validate_parameters(*model.subwords);
    } catch (const InvalidArgument& error) {
      file.refuse_section("options of subwords", error.what());
    }
  }
  const auto matrix = [&](const std::string& name) {
    NamedMatrix named = file.matrix();
    if (named.name != name)
      file.refuse_section("the matrix '" + name + "'", detail::shown(named.name));
    return std::move(named.matrix);
  };
  RowMatrix &input = model.input, &output = model.output;
  input = matrix("input");
  if (input.rows() < model.vocabulary.size())
    file.refuse_section("an input row for each word", shape_of(input.rows(), input.columns()));
  if (has_subwords && input.rows() != model.vocabulary.size() + model.subwords->rows())
    file.refuse_section("an input row for each word and bucket",
                        shape_of(input.rows(), input.columns()));
  output = one_matrix ? input.borrow() : matrix("output");
  if (output.columns() != input.columns())
    file.refuse_section(detail::joined({"an output of ", input.columns(), " columns"}),
                        shape_of(output.rows(), output.columns()));
  for (std::uint64_t i = sides; i < counts[0]; ++i) model.state.push_back(file.matrix());
  if (const auto name = model.duplicate_name())
    file.refuse_section("each matrix once", detail::shown(*name) + " twice");
  file.end();
  return model;
}

WORDLOOM_FUNCTION void Model::require_subword_rows() const {
  validate_parameters(*subwords);
  if (input.rows() != vocabulary.size() + subwords->rows() || has_one_matrix())
    throw InvalidArgument{"a model with subwords needs two matrices and an input of ",
                          vocabulary.size(),
                          " words and ",
                          subwords->rows(),
                          " buckets, got ",
                          input.rows(),
                          " rows"};
}

WORDLOOM_FUNCTION Vocabulary Model::read_vocabulary(detail::SectionReader& file) {
  const std::string_view text = file.text();
  const auto counts = file.numbers();
  std::vector<std::pair<std::string, std::uint64_t>> words;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find('\n'));
    words.emplace_back(word, words.size() < counts.size() ? counts[words.size()] : 0);
    rest.remove_prefix((std::min)(word.size() + 1, rest.size()));
  }
  if (words.size() != counts.size() || (!text.empty() && text.back() != '\n'))
    file.refuse_section("a count for each word", detail::joined({counts.size(), " counts"}));
  Vocabulary vocabulary;
  if (words.empty()) return vocabulary;
  try {
    vocabulary = Vocabulary::from_counts(words);
  } catch (const Error& error) {
    file.refuse_section("a vocabulary", error.what());
  }
  for (std::size_t i = 0; i < words.size(); ++i)
    if (vocabulary.word(static_cast<WordId>(i)) != words[i].first)
      file.refuse_section("words by descending count", detail::shown(words[i].first));
  return vocabulary;
}

}}  // namespace wordloom::WORDLOOM_ABI
