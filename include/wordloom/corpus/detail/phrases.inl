// Functions of Phrases (corpus/phrases.hpp).
namespace wordloom { inline namespace WORDLOOM_ABI {

/// Returns the counts of the words of a corpus; reads it if they are not those of the vocabulary.
template <Corpus C>
std::vector<std::uint64_t> Phrases::counts(const C& corpus, const Vocabulary& vocabulary) {
  detail::require_same_vocabulary(corpus, vocabulary);
  if (corpus.token_count() == 0) throw CorpusError("the corpus has no words");
  const auto known = vocabulary.counts();
  if (corpus.token_count() == vocabulary.total_count()) return {known.begin(), known.end()};
  std::vector<std::uint64_t> counts(vocabulary.size());
  for (const std::span<const WordId> sentence : corpus.sentences(Shard{}))
    for (const WordId id : sentence)
      if (id < counts.size()) ++counts[id];
  return counts;
}

template <Corpus C>
std::vector<Phrases::Phrase> Phrases::learn_pass(const C& corpus, const Vocabulary& vocabulary,
                                                 const Options& options, std::uint64_t& dropped) {
  const detail::PhraseScorer scorer{.kind = options.scoring,
                                    .min_count = options.min_count,
                                    .threshold = options.threshold,
                                    .words = corpus.token_count()};
  detail::PhraseCounter counter(vocabulary.words(), counts(corpus, vocabulary), scorer,
                                {.delimiter = options.delimiter,
                                 .connectors = options.connectors,
                                 .across_sentences = options.across_sentences,
                                 .max_pairs = options.max_pairs,
                                 .threads = options.threads});
  counter.count(corpus);
  dropped = (std::max)(dropped, counter.dropped());
  std::vector<Phrase> phrases;
  for (const auto& [ids, score] : counter.find()) {
    auto& phrase = phrases.emplace_back();
    phrase.score = score;
    for (const WordId id : ids) phrase.words.emplace_back(vocabulary.word(id));
  }
  return phrases;
}

template <Corpus C>
Phrases Phrases::learn(const C& corpus, const Vocabulary& vocabulary, const Options& options) {
  options.validate();
  std::uint64_t dropped = 0;
  Phrases phrases({learn_pass(corpus, vocabulary, options, dropped)}, options.connectors,
                  options.delimiter);
  for (std::size_t pass = 1; pass < options.passes; ++pass) {
    auto passes = phrases.store_->passes;
    if (passes.back().empty()) break;
    const auto [words, joined] = phrases.apply(corpus, vocabulary, {.min_count = 1});
    passes.push_back(learn_pass(joined, words, options, dropped));
    phrases = Phrases(std::move(passes), options.connectors, options.delimiter);
  }
  return Phrases(phrases.store_->passes, options.connectors, options.delimiter, dropped);
}

template <Corpus C>
std::pair<Vocabulary, Phrases::JoinedCorpus<C>> Phrases::apply(
    const C& corpus, const Vocabulary& vocabulary, const VocabularyOptions& counting) const {
  using Shared = typename JoinedCorpus<C>::Shared;
  detail::require_same_vocabulary(corpus, vocabulary);
  const auto shared = std::make_shared<Shared>(Shared{ids(vocabulary.words()), {}});
  const WordList& words = shared->phrases.words();
  std::vector<std::uint64_t> counts(words.size());
  detail::PhraseJoiner joiner(shared->phrases);
  const auto use = [&](WordId id) { ++counts[id]; };
  for (const std::span<const WordId> sentence : corpus.sentences(Shard{})) {
    detail::check_ids(sentence, vocabulary.size());
    for (const WordId id : sentence) joiner.push(id, use);
    joiner.flush(use);
  }
  const Vocabulary joined = vocabulary_of(words, counts, counting, shared->ids);
  return {joined, JoinedCorpus<C>(corpus, shared, joined)};
}

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void Phrases::Options::validate() const {
  if (min_count == 0) throw InvalidArgument("min_count is 0, must be above 0");
  if (scoring == Scoring::npmi && !(threshold >= -1 && threshold <= 1))
    throw InvalidArgument{"threshold is ", threshold, ", must be from -1 to 1 for npmi"};
  if (scoring != Scoring::npmi && !(threshold >= 0 && std::isfinite(threshold)))
    throw InvalidArgument{"threshold is ", threshold, ", must be at least 0 and finite"};
  if (passes == 0 || passes > detail::max_phrase_passes)
    throw InvalidArgument{"passes is ", passes, ", must be from 1 to ", detail::max_phrase_passes};
  if (max_pairs == 0) throw InvalidArgument("max_pairs is 0, must be above 0");
  if (!detail::is_word(delimiter))
    throw InvalidArgument{"the delimiter is ", detail::shown(delimiter),
                          ", must be one character or more, without white space"};
  for (const std::string& connector : connectors)
    if (!detail::is_word(connector))
      throw InvalidArgument{"the connector ", detail::shown(connector),
                            " is not one word: give each word on its own"};
  resolve_threads(threads);
}

WORDLOOM_FUNCTION Vocabulary Phrases::vocabulary_of(const WordList& words,
                                                    std::span<const std::uint64_t> counts,
                                                    const VocabularyOptions& counting,
                                                    std::vector<WordId>& ids) {
  detail::WordCounter counter;
  for (WordId id = 0; id < words.size(); ++id)
    if (counts[id] > 0) counter.add(words[id], counts[id]);
  auto vocabulary = Vocabulary::from_counter(counter, counting, "the joined sentences");
  ids.reserve(words.size());
  for (WordId id = 0; id < words.size(); ++id)
    ids.push_back(vocabulary.find(words[id]).value_or(detail::end_of_line));
  return vocabulary;
}

WORDLOOM_FUNCTION std::size_t Phrases::size() const noexcept {
  std::size_t size = 0;
  for (const auto& phrases : store_->passes) size += phrases.size();
  return size;
}

WORDLOOM_FUNCTION detail::PhraseIds Phrases::ids(WordList words) const {
  detail::PhraseIds ids(std::move(words), store_->connectors, store_->delimiter);
  for (const auto& phrases : store_->passes) ids.add(phrases);
  return ids;
}

WORDLOOM_FUNCTION WordList Phrases::own_words() const {
  WordList words;
  for (const std::string& connector : store_->connectors) words.insert(connector);
  for (const auto& phrases : store_->passes)
    for (const Phrase& phrase : phrases)
      for (const std::string& word : phrase.words) words.insert(word);
  return words;
}

WORDLOOM_FUNCTION std::string Phrases::join(std::string_view line) const {
  std::string text;
  detail::join_line(ids(own_words()), line, text);
  return text;
}

WORDLOOM_FUNCTION void Phrases::join_text(const std::filesystem::path& text, AtomicFile& output,
                                          const CorpusOptions& reading) const {
  reading.validate();
  detail::join_text(ids(own_words()), text, output, reading);
}

WORDLOOM_FUNCTION void Phrases::write(AtomicFile& file) const {
  const auto check = [](const std::string& word) {
    if (!detail::is_word(word))
      throw InvalidArgument{"the word ", detail::shown(word),
                            " holds white space: a file of phrases cannot hold it"};
  };
  for (const auto& phrases : store_->passes)
    for (const Phrase& phrase : phrases)
      std::for_each(phrase.words.begin(), phrase.words.end(), check);
  std::string line(detail::phrase_file_magic);
  (line += ' ') += store_->delimiter;
  for (const std::string& connector : store_->connectors) {
    check(connector);
    (line += ' ') += connector;
  }
  file.write(line += '\n');
  for (std::size_t pass = 0; pass < passes(); ++pass) {
    if (pass > 0) file.write("\n");
    for (const Phrase& phrase : store_->passes[pass]) {
      line.clear();
      for (const std::string& word : phrase.words) (line += word) += ' ';
      char digits[32];
      const auto end = std::to_chars(digits, digits + sizeof digits, phrase.score).ptr;
      file.write(line.append(digits, end) += '\n');
    }
  }
  file.write("end\n");
}

WORDLOOM_FUNCTION Phrases Phrases::load(const std::filesystem::path& path) {
  const detail::InputFile file(path, detail::Content::text);
  detail::LineReader reader(file);
  const auto refuse = [&](std::uint64_t number, std::string_view expected, std::string_view got) {
    throw FormatError::at_line(path, number, expected, got);
  };
  std::vector<std::string> fields;
  const auto next = [&] {
    if (!reader.next()) return false;
    fields.clear();
    for_each_token(
        reader.line(), [&](std::string_view field) { fields.emplace_back(field); }, [] {});
    return true;
  };
  const std::string first = "'" + std::string(detail::phrase_file_magic) + "' and the delimiter";
  if (!next()) refuse(1, first, "the end of the file");
  if (fields.size() < 3 || fields[0] + ' ' + fields[1] != detail::phrase_file_magic)
    refuse(1, first, detail::shown(reader.line()));
  const std::string delimiter = fields[2];
  const std::vector<std::string> connectors(fields.begin() + 3, fields.end());
  const auto connects = [&](const std::string& word) {
    return std::find(connectors.begin(), connectors.end(), word) != connectors.end();
  };
  std::vector<std::vector<Phrase>> passes(1);
  std::vector<std::vector<std::uint64_t>> lines(1);
  for (;;) {
    if (!next())
      refuse(reader.number() + 1, "phrases up to a line 'end'",
             "the end of the file: it is incomplete");
    if (fields == std::vector<std::string>{"end"}) break;
    if (fields.empty()) {
      if (passes.size() == detail::max_phrase_passes)
        refuse(reader.number(), detail::joined({"at most ", detail::max_phrase_passes, " passes"}),
               "an empty line, which begins another");
      passes.emplace_back();
      lines.emplace_back();
      continue;
    }
    const auto score = detail::number_in<double>(fields.back());
    fields.pop_back();
    if (fields.size() < 2 || !score || !std::isfinite(*score))
      refuse(reader.number(), "two words and their score", detail::shown(reader.line()));
    if (connects(fields.front()) || connects(fields.back()) ||
        !std::all_of(fields.begin() + 1, fields.end() - 1, connects))
      refuse(reader.number(), "two words, and only connectors (line 1) between them",
             detail::shown(reader.line()));
    passes.back().push_back({fields, *score});
    lines.back().push_back(reader.number());
  }
  if (next())
    refuse(reader.number(), "the end of the file after 'end'", detail::shown(reader.line()));
  Phrases phrases(std::move(passes), connectors, delimiter);
  detail::PhraseIds ids(phrases.own_words(), connectors, delimiter);
  for (std::size_t pass = 0; pass < phrases.passes(); ++pass)
    if (const std::size_t at = ids.add(phrases.pass(pass)); at < phrases.pass(pass).size())
      refuse(lines[pass][at], "each phrase once in a pass", "a duplicate");
  return phrases;
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
