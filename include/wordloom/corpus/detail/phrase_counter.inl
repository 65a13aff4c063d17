// Functions of PhraseCounter (corpus/detail/phrase_counter.hpp).
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

WORDLOOM_FUNCTION PhraseCounter::PhraseCounter(const WordList& words,
                                               std::vector<std::uint64_t> counts,
                                               PhraseScorer scorer, const Options& options)
    : words_(words),
      counts_(std::move(counts)),
      scorer_(scorer),
      options_(options),
      weights_(words.size()),
      features_(words.size()) {
  for (const std::string& connector : options.connectors)
    if (const auto id = words.find(connector)) features_[*id] |= connects;
  for (WordId id = 0; id < words.size(); ++id) {
    weights_[id] = scorer_.weight(counts_[id]);
    const std::string_view word = words[id];
    for (std::size_t at = word.find(options.delimiter); at != word.npos;
         at = word.find(options.delimiter, at + 1)) {
      features_[id] |= holds_delimiter;
      has_delimiters_ = true;
      if (const auto begin = words.find(word.substr(0, at))) features_[*begin] |= begins_word;
      const auto rest = word.substr(at + options.delimiter.size());
      if (const auto end = words.find(rest)) features_[*end] |= ends_word;
    }
  }
}

WORDLOOM_FUNCTION std::vector<WordId> PhraseCounter::words_of(const WordPair& pair) const {
  std::vector<WordId> ids{pair.first};
  if (pair.between != 0) {
    const std::string_view bytes = betweens_[pair.between - 1];
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(WordId)) {
      WordId id;
      std::memcpy(&id, bytes.data() + i, sizeof id);
      ids.push_back(id);
    }
  }
  ids.push_back(pair.second);
  return ids;
}

WORDLOOM_FUNCTION std::string PhraseCounter::joined(const WordPair& pair) const {
  std::string text(words_[pair.first]);
  text += options_.delimiter;
  if (pair.between != 0) (text += between_texts_[pair.between - 1]) += options_.delimiter;
  return text += words_[pair.second];
}

template <class Use>
void PhraseCounter::for_each_spelling(std::string_view text, const Use& use) const {
  const std::string_view cut = options_.delimiter;
  const auto word = [&](std::string_view part) {
    const auto id = words_.find(part);
    return id && (features_[*id] & connects) == 0 ? id : std::nullopt;
  };
  for (std::size_t begin = text.find(cut); begin != text.npos; begin = text.find(cut, begin + 1)) {
    const auto first = word(text.substr(0, begin));
    if (!first) continue;
    for (std::size_t end = begin; end != text.npos; end = text.find(cut, end + 1)) {
      std::uint32_t between = 0;
      if (end > begin) {
        const std::size_t from = begin + cut.size();
        if (end < from) continue;
        const auto found = between_numbers_.find(std::string(text.substr(from, end - from)));
        if (found == between_numbers_.end()) continue;
        between = found->second;
      }
      const auto second = word(text.substr(end + cut.size()));
      if (!second) continue;
      const WordPair pair{*first, *second, between};
      if (const std::uint32_t count = count_of(pair)) use(pair, count);
    }
  }
}

WORDLOOM_FUNCTION void PhraseCounter::share(const std::string& text) {
  const auto inserted = shared_.emplace(text, 0);
  if (!inserted.second) return;
  auto& sum = inserted.first->second;
  std::size_t spellings = 0;
  if (const auto id = words_.find(text); id && (features_[*id] & connects) == 0) {
    sum += counts_[*id];
    ++spellings;
  }
  for_each_spelling(text, [&](const WordPair&, std::uint32_t count) {
    sum += count;
    ++spellings;
  });
  if (spellings > 1) scorer_.strings -= spellings - 1;
}

WORDLOOM_FUNCTION void PhraseCounter::share_counts() {
  for (std::size_t i = 0; i < betweens_.size(); ++i) {
    const auto ids = words_of({0, 0, static_cast<std::uint32_t>(i + 1)});
    std::string text;
    for (const WordId id : std::span(ids).subspan(1, ids.size() - 2))
      (text += text.empty() ? std::string_view() : options_.delimiter) += words_[id];
    between_numbers_.emplace(text, i + 1);
    between_texts_.push_back(std::move(text));
  }
  for (WordId id = 0; id < words_.size(); ++id)
    if ((features_[id] & connects) == 0) ++scorer_.strings;
  for (const Part& part : parts_) scorer_.strings += part.pairs.size();
  if (!has_delimiters_) return;
  for (WordId id = 0; id < words_.size(); ++id)
    if (features_[id] & holds_delimiter && (features_[id] & connects) == 0)
      share(std::string(words_[id]));
  // A sum that reaches the minimum has a part that does so after multiplication by their number.
  for (const Part& part : parts_)
    part.pairs.for_each([&](const WordPair& pair, std::uint64_t count) {
      if (((features_[pair.first] | features_[pair.second]) & holds_delimiter) == 0) return;
      const std::string text = joined(pair);
      std::uint64_t cuts = 0;
      for (std::size_t at = text.find(options_.delimiter); at != text.npos;
           at = text.find(options_.delimiter, at + 1))
        ++cuts;
      if (scorer_.kind == PhraseScorer::Kind::gensim ||
          count * (cuts * (cuts + 1) / 2) >= scorer_.min_count)
        share(text);
    });
}

WORDLOOM_FUNCTION std::vector<FoundPhrase> PhraseCounter::find() {
  share_counts();
  const auto total = [&](WordId id) {
    if ((features_[id] & holds_delimiter) == 0) return counts_[id];
    const auto found = shared_.find(std::string(words_[id]));
    return found == shared_.end() ? counts_[id] : found->second;
  };
  std::vector<FoundPhrase> found;
  for (Part& part : parts_) {
    part.pairs.for_each([&](const WordPair& pair, std::uint64_t together) {
      if (has_delimiters_ && may_share(pair.first, pair.second, pair.between != 0)) {
        const auto sum = shared_.find(joined(pair));
        if (sum != shared_.end()) together = sum->second;
      }
      if (together < scorer_.min_count) return;
      const std::uint64_t first = total(pair.first), second = total(pair.second);
      const double score = scorer_.score(first, second, together);
      if (scorer_.accepts(first, second, together, score)) found.push_back({words_of(pair), score});
    });
    part.pairs = {};
  }
  std::sort(found.begin(), found.end(), [](const FoundPhrase& a, const FoundPhrase& b) {
    return a.score != b.score ? a.score > b.score : a.words < b.words;
  });
  return found;
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
