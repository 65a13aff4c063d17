#include "corpus/corpus_checks.hpp"

using namespace wordloom;

TEST_CASE("both corpora have the sentences of a plain reader", "[corpus]") {
  const Text text(random_text(8000, 1), 200);
  for (const std::size_t length : {1u, 3u, 7u, 1000u}) {
    const auto expected = plain_sentences(text.bytes, text.vocabulary, length);
    for (const std::size_t piece : {1u, 2u, 3u, 17u, 1000u, 1u << 20})
      for (const std::size_t threads : {1u, 4u}) {
        const CorpusOptions options{
            .max_sentence_length = length, .threads = threads, .piece_bytes = piece};
        const auto encoded = EncodedCorpus::from_text(text.path, text.vocabulary, options);
        CHECK(sentences_of(encoded) == expected);
        const TextCorpus streamed(text.path, text.vocabulary, options);
        CHECK(sentences_of(streamed) == expected);
        CHECK(encoded.token_count() == streamed.token_count());
        CHECK(encoded.token_count() == joined(expected).size());
        CHECK(encoded.sentence_count() == expected.size());
      }
  }
}

TEST_CASE("joined lines have the sentences of one long line", "[corpus]") {
  const Text text(random_text(3000, 5), 200);
  std::string line = text.bytes;
  std::ranges::replace(line, '\n', ' ');
  for (const std::size_t length : {1u, 7u, 1000u}) {
    const auto expected = plain_sentences(line, text.vocabulary, length);
    for (const std::size_t piece : {17u, 1u << 20}) {
      const CorpusOptions options{
          .max_sentence_length = length, .join_lines = true, .threads = 2, .piece_bytes = piece};
      CHECK(sentences_of(EncodedCorpus::from_text(text.path, text.vocabulary, options)) ==
            expected);
      const TextCorpus streamed(text.path, text.vocabulary, options);
      CHECK(sentences_of(streamed) == expected);
      CHECK(joined(sentences_of(streamed, 3)) == joined(expected));
    }
  }
  CHECK(TextCorpus(text.path, text.vocabulary, {.join_lines = true}).fingerprint() !=
        TextCorpus(text.path, text.vocabulary).fingerprint());
}

TEST_CASE("shards cover every token once and in order", "[corpus]") {
  const Text text(random_text(3000, 2), 1);
  const auto encoded = EncodedCorpus::from_text(text.path, text.vocabulary);
  const TextCorpus streamed(text.path, text.vocabulary, {.piece_bytes = 100});
  for (std::size_t n = 1; n <= 7; ++n) {
    CHECK(sentences_of(encoded, n) == sentences_of(encoded));
    CHECK(joined(sentences_of(streamed, n)) == joined(sentences_of(encoded)));
    for (std::size_t i = 0; i < n; ++i)
      CHECK(joined(sentences_of(encoded, {.index = i, .count = n})).size() <=
            encoded.token_count() / n + 50);
  }
  // More shards than sentences: some are empty.
  const Text tiny("a b\nc\n");
  const auto two = EncodedCorpus::from_text(tiny.path, tiny.vocabulary);
  CHECK(sentences_of(two, 5) == sentences_of(two));
  CHECK(joined(sentences_of(TextCorpus(tiny.path, tiny.vocabulary), 9)).size() == 3);
}

TEST_CASE("the sentences of a shard are the same in every epoch and pass", "[corpus]") {
  const Text text(random_text(500, 7));
  const auto check = [](const auto& corpus) {
    const auto first = sentences_of(corpus, {.index = 1, .count = 2});
    CHECK_FALSE(first.empty());
    CHECK(sentences_of(corpus, {.index = 1, .count = 2, .epoch = 3, .seed = 9}) == first);
    const auto range = corpus.sentences({.index = 1, .count = 2});
    for (int pass = 0; pass < 2; ++pass)
      CHECK(std::ranges::equal(*range.begin(), std::span<const WordId>(first[0])));
  };
  check(EncodedCorpus::from_text(text.path, text.vocabulary));
  check(TextCorpus(text.path, text.vocabulary));
  STATIC_REQUIRE(EncodedCorpus::repeats);
  STATIC_REQUIRE(TextCorpus::repeats);
}

TEST_CASE("a range of sentences outlives its corpus", "[corpus]") {
  const Text text("a b\nc\n");
  const auto range = EncodedCorpus::from_text(text.path, text.vocabulary).sentences({});
  std::size_t words = 0;
  for (const auto sentence : range) words += sentence.size();
  CHECK(words == 3);
}

TEST_CASE("words in memory make the corpus of a text with these lines", "[corpus]") {
  const std::vector<std::vector<std::string>> sentences{
      {"the", "cat", "sat"}, {}, {"the", "rare", "dog", "cat", "the", "cat"}, {"dog", "sat"}};
  const TemporaryFolder folder;
  write_file(folder / "text", "the cat sat\n\nthe rare dog cat the cat\ndog sat\n");
  const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 2});
  CHECK(vocabulary.size() == 4);
  CHECK(vocabulary.fingerprint() ==
        Vocabulary::from_text(folder / "text", {.min_count = 2}).fingerprint());
  for (const std::size_t length : {1u, 2u, 5u, 1000u}) {
    const CorpusOptions options{.max_sentence_length = length};
    const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary, options);
    const auto expected = EncodedCorpus::from_text(folder / "text", vocabulary, options);
    CHECK(sentences_of(corpus) == sentences_of(expected));
    CHECK(corpus.token_count() == expected.token_count());
    CHECK(corpus.vocabulary_fingerprint() == expected.vocabulary_fingerprint());
  }
  CHECK(sentences_of(EncodedCorpus::from_sentences(sentences, vocabulary), 3) ==
        sentences_of(EncodedCorpus::from_text(folder / "text", vocabulary), 3));
}

TEST_CASE("any range of ranges of strings is text", "[corpus]") {
  const auto is_one = [](auto&& sentences) {
    const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 1});
    return sentences_of(EncodedCorpus::from_sentences(sentences, vocabulary)) ==
           SentenceList{{0, 1}, {0}};
  };
  CHECK(is_one(std::vector<std::vector<const char*>>{{"a", "b"}, {"a"}}));
  CHECK(is_one(std::list<std::list<std::string_view>>{{"a", "b"}, {"a"}}));
#if !defined(__clang__) || __clang_major__ >= 16  // earlier ones fail on views of libstdc++
  const std::string lines[] = {"a,b", "a"};
  const auto split = [](const std::string& line) {
    std::vector<std::string> words;
    std::istringstream in(line);
    for (std::string word; std::getline(in, word, ',');) words.push_back(word);
    return words;
  };
  CHECK(is_one(lines | std::views::transform(split)));
#endif
  STATIC_REQUIRE_FALSE(SentencesOfWords<std::vector<std::string>>);
  STATIC_REQUIRE_FALSE(SentencesOfWords<std::vector<std::vector<WordId>>>);
}

TEST_CASE("a word in memory may hold white space and is one word", "[corpus]") {
  const std::vector<std::vector<std::string>> sentences{{"New York", "a\n", "New York"}, {"\t"}};
  const auto vocabulary = Vocabulary::from_sentences(sentences, {.min_count = 1});
  CHECK(vocabulary.size() == 3);
  CHECK(vocabulary.count(vocabulary.find("New York").value()) == 2);
  CHECK(EncodedCorpus::from_sentences(sentences, vocabulary).token_count() == 4);
}

TEST_CASE("an empty word is refused with its sentence", "[corpus]") {
  using Words = std::vector<std::vector<std::string>>;
  const auto vocabulary = Vocabulary::from_sentences(Words{{"a"}}, {.min_count = 1});
  const auto refusal = [&](const Words& sentences) {
    const auto message =
        message_of<InvalidArgument>([&] { return Vocabulary::from_sentences(sentences); });
    CHECK(message == message_of<InvalidArgument>(
                         [&] { return EncodedCorpus::from_sentences(sentences, vocabulary); }));
    return message;
  };
  CHECK(refusal({{"a"}, {"a", ""}}) == "sentences[1][1]: the word is empty");
  CHECK(refusal({{}, {}, {""}}) == "sentences[2][0]: the word is empty");
  CHECK(message_of<CorpusError>([&] { return Vocabulary::from_sentences(Words{{}}); }) ==
        "the sentences: no words");
  CHECK(message_of<CorpusError>([&] {
          return EncodedCorpus::from_sentences(Words{{"b"}}, vocabulary);
        }) == "the sentences: none of its words is in the vocabulary");
  CHECK_THROWS_AS(
      EncodedCorpus::from_sentences(Words{{"a"}}, vocabulary, {.max_sentence_length = 0}),
      InvalidArgument);
}

TEST_CASE("a line of many words is split and loses none", "[corpus]") {
  std::string line;
  for (int i = 0; i < 2500; ++i) line += "a ";
  const Text text(line);
  const auto corpus = EncodedCorpus::from_text(text.path, text.vocabulary);
  REQUIRE(corpus.sentence_count() == 3);
  CHECK(corpus.sentence(0).size() == 1000);
  CHECK(corpus.sentence(2).size() == 500);
  CHECK(corpus.token_count() == 2500);
  CHECK(sentences_of(corpus, 3) == sentences_of(corpus));
}

TEST_CASE("CRLF, a missing last newline and empty lines make no difference", "[corpus]") {
  const Text unix_text("a b\nc\n");
  for (const char* other : {"a b\r\nc\r\n", "a b\nc", "\n\na b\n \r\n\nc\n\n"}) {
    write_file(unix_text.folder / "other", other);
    CHECK(
        sentences_of(EncodedCorpus::from_text(unix_text.folder / "other", unix_text.vocabulary)) ==
        sentences_of(EncodedCorpus::from_text(unix_text.path, unix_text.vocabulary)));
  }
}

TEST_CASE("a fingerprint depends on the sentences of a corpus", "[corpus]") {
  const Text text(random_text(3000, 8));
  const auto of = [&](const std::string& bytes, const CorpusOptions& options = {}) {
    write_file(text.path, bytes);
    const auto encoded =
        EncodedCorpus::from_text(text.path, text.vocabulary, options).fingerprint();
    const auto streamed = TextCorpus(text.path, text.vocabulary, options).fingerprint();
    CHECK(AnyCorpus(TextCorpus(text.path, text.vocabulary, options)).fingerprint() == streamed);
    return std::pair(encoded, streamed);
  };
  const auto differ = [](const auto& a, const auto& b) {
    return a.first != b.first && a.second != b.second;
  };
  const auto expected = of(text.bytes);
  CHECK(of(text.bytes, {.threads = 3}) == expected);
  CHECK(of(text.bytes, {.cache = text.folder / "cache"}) == expected);
  CHECK(of(text.bytes, {.cache = text.folder / "cache"}) == expected);  // mapped
  CHECK(of(text.bytes, {.threads = 3, .piece_bytes = 99}).first == expected.first);
  CHECK(of(text.bytes, {.threads = 1, .piece_bytes = 99}) ==
        of(text.bytes, {.threads = 4, .piece_bytes = 99}));
  CHECK(differ(of(text.bytes, {.max_sentence_length = 5}), expected));
  std::string one_line = text.bytes;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  CHECK(differ(of(one_line), expected));
  std::string swapped = text.bytes;
  const std::size_t w1 = swapped.find(" w1 "), w2 = swapped.find(" w2 ");
  std::swap(swapped[w1 + 2], swapped[w2 + 2]);
  CHECK(differ(of(swapped), expected));
  // Only a streamed text is also cut by its bytes.
  CHECK(of("unknown " + text.bytes).first == expected.first);
}

TEST_CASE("a text that changes after its words were counted is not streamed", "[corpus]") {
  const Text text("a b c\nd e f\n");
  const TextCorpus corpus(text.path, text.vocabulary);
  CHECK(joined(sentences_of(corpus)).size() == 6);
  write_file(text.path, text.bytes + "a\n");
  CHECK(message_of<CorpusError>([&] { return sentences_of(corpus); }) ==
        "the text '" + text.path.string() +
            "' was changed after its words were counted: start again");
  write_file(text.path, text.bytes);
  std::filesystem::last_write_time(
      text.path, std::filesystem::last_write_time(text.path) + std::chrono::seconds(1));
  CHECK_THROWS_AS(sentences_of(corpus), CorpusError);
}

TEST_CASE("a file without words, a folder and bad options are refused with the reason",
          "[corpus]") {
  const Text text("a b c\n");
  write_file(text.folder / "other", "x y\n");
  write_file(text.folder / "empty", "");
  const auto refusal = [&](const std::filesystem::path& path) {
    const auto one =
        message_of<CorpusError>([&] { return EncodedCorpus::from_text(path, text.vocabulary); });
    CHECK(one == message_of<CorpusError>([&] { TextCorpus(path, text.vocabulary); }));
    return one;
  };
  CHECK(contains(refusal(text.folder / "other"), "none of its words is in the vocabulary"));
  CHECK(contains(refusal(text.folder / "empty"), "empty: no words"));
  CHECK(contains(message_of<IoError>(
                     [&] { return EncodedCorpus::from_text(text.folder.path(), text.vocabulary); }),
                 "is a directory"));
  CHECK_THROWS_AS(EncodedCorpus::from_text(text.path, text.vocabulary, {.max_sentence_length = 0}),
                  InvalidArgument);
  CHECK_THROWS_AS(
      EncodedCorpus::from_sentences(std::vector<std::vector<WordId>>{{0, 3}}, text.vocabulary),
      InvalidArgument);
}

TEST_CASE("Unicode's spaces separate words on request", "[corpus]") {
  // No-break space, line separator, ideographic space, next line, and bytes that are no spaces: a
  // zero-width space, a cut character, Latin-1's no-break space.
  const Text text(
      "a\u00a0b a\u2028b\u3000a\u0085b\u2009\nb\u200bc \u205f\u202f\u1680\u2029 d\xe2\x80 "
      "e\xa0 "
      "f\x1cg\n");
  const VocabularyOptions counting{.min_count = 1, .unicode_spaces = true};
  const auto vocabulary = Vocabulary::from_text(text.path, counting);
  REQUIRE(vocabulary.size() == 7);
  CHECK(vocabulary.word(0) == "a");
  CHECK(vocabulary.count(0) == 3);
  CHECK(vocabulary.word(1) == "b");
  CHECK(vocabulary.count(1) == 3);
  for (const char* word : {"b\u200bc", "d\xe2\x80", "e\xa0", "f", "g"})
    CHECK(vocabulary.find(word));
  const std::vector<std::vector<WordId>> expected{
      {0, 1, 0, 1, 0, 1},
      {*vocabulary.find("b\u200bc"), *vocabulary.find("d\xe2\x80"), *vocabulary.find("e\xa0"),
       *vocabulary.find("f"), *vocabulary.find("g")}};
  const CorpusOptions reading{.unicode_spaces = true};
  CHECK(sentences_of(EncodedCorpus::from_text(text.path, vocabulary, reading)) == expected);
  const TextCorpus streamed(text.path, vocabulary, reading);
  CHECK(sentences_of(streamed) == expected);
  CHECK(streamed.words_read() == 11);
  // They are part of words otherwise, and the two are different corpora.
  CHECK(Vocabulary::from_text(text.path, {.min_count = 1}).find("a\u00a0b"));
  CHECK(TextCorpus(text.path, vocabulary).fingerprint() != streamed.fingerprint());
  for (const char* space :
       {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
        "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029",
        "\u202f", "\u205f", "\u3000", "\x1c",   "\x1d",   "\x1e",   "\x1f"})
    CHECK(detail::unicode_space_at(space) == std::string_view(space).size());
  for (const char* other : {"a", "\u200b", "\u2010", "\u2030", "\u2060", "\u3001", "\u00a1", "\xc2",
                            "\xe2\x80", "\xe2", "\xa0", "\ufeff", "\u1681"})
    CHECK(detail::unicode_space_at(other) == 0);
}

TEST_CASE("corpora count the words that they read", "[corpus]") {
  const Text text("a b a c\nd a b\n");
  const auto vocabulary = Vocabulary::from_text(text.path, {.min_count = 2});
  const auto cache = text.folder / "cache";
  for (int pass = 0; pass < 2; ++pass) {  // the second reads the file of the first
    const auto kept = EncodedCorpus::from_text(text.path, vocabulary, {.cache = cache});
    CHECK(kept.words_read() == 7);
    CHECK(kept.token_count() == 5);
  }
  CHECK(EncodedCorpus::from_text(text.path, vocabulary).words_read() == 7);
  CHECK(TextCorpus(text.path, vocabulary, {.threads = 3}).words_read() == 7);
  const std::vector<std::vector<std::string>> sentences{{"a", "x", "b"}, {"b"}};
  CHECK(EncodedCorpus::from_sentences(sentences, vocabulary).words_read() == 4);
}

TEST_CASE("sentences that are read once are those of two passes", "[corpus]") {
  using namespace std::string_literals;
  const std::vector<std::string> parts{"a",    " ",        "\n",   "\xc3\xa9", "\xe4\xb8\xad",
                                       "\xff", "New York", "</s>", "\0"s};
  Random random(3);
  std::size_t trained = 0, refused = 0;
  for (std::size_t round = 0; round < 300; ++round) {
    // Now and then longer sentences than any piece that is held.
    WordLists sentences(round % 50 == 7 ? 2 : random.below(20));
    std::vector<std::string> words(1 + random.below(30));
    for (auto& word : words)
      for (std::size_t i = 0; i < 1 + round % 3; ++i) word += parts[random.below(parts.size())];
    for (auto& sentence : sentences) {
      sentence.resize(round % 50 == 7 ? 9999 : random.below(15));
      for (auto& word : sentence)
        word = words[std::min(random.below(words.size()), random.below(words.size()))];
    }
    const VocabularyOptions counting{.min_count = random.below(6),
                                     .max_size = round % 3 == 0 ? 1 + random.below(20) : 0};
    const CorpusOptions options{.max_sentence_length = 1 + random.below(12)};
    const auto make = [&] { return EncodedCorpus::encode(Once(sentences), counting, options); };
    try {
      const auto expected = Vocabulary::from_sentences(sentences, counting);
      const auto [vocabulary, corpus] = make();
      CHECK(vocabulary.fingerprint() == expected.fingerprint());
      CHECK(vocabulary.words_read() == expected.words_read());
      CHECK(corpus.words_read() == expected.words_read());
      CHECK(corpus.vocabulary_fingerprint() == expected.fingerprint());
      SentenceList ids;
      for (const auto& sentence : sentences) {
        std::vector<WordId> known;
        for (const auto& word : sentence)
          if (const auto id = expected.find(word)) known.push_back(*id);
        for (std::size_t i = 0; i < known.size(); i += options.max_sentence_length)
          ids.emplace_back(known.begin() + static_cast<std::ptrdiff_t>(i),
                           known.begin() + static_cast<std::ptrdiff_t>(std::min(
                                               i + options.max_sentence_length, known.size())));
      }
      CHECK(sentences_of(corpus) == ids);
      CHECK(corpus.fingerprint() ==
            EncodedCorpus::from_sentences(sentences, expected, options).fingerprint());
      ++trained;
    } catch (const CorpusError& error) {
      CHECK(message_of<CorpusError>(make) == error.what());
      ++refused;
    }
  }
  CHECK(trained > 200);
  CHECK(refused > 10);
}

TEST_CASE("sentences that are read once are refused with the reason", "[corpus]") {
  const auto refusal = [](const WordLists& sentences) {
    return message_of<CorpusError>([&] { return EncodedCorpus::encode(Once(sentences)); });
  };
  CHECK(refusal({}) == "the sentences: no words");
  CHECK(refusal({{}, {}}) == "the sentences: no words");
  CHECK(refusal({{"a", "b"}, {"b"}}) ==
        "the sentences: none of its 2 words occurs min_count = 5 times");
  CHECK(message_of<InvalidArgument>([] {
          return EncodedCorpus::encode(WordLists{{"a"}, {"a", ""}});
        }) == "sentences[1][1]: the word is empty");
  CHECK_THROWS_AS(EncodedCorpus::encode(WordLists{{"a"}}, {}, {.max_sentence_length = 0}),
                  InvalidArgument);
  // Two passes over them: the second finds nothing.
  Once once(WordLists{{"a"}});
  const auto vocabulary = Vocabulary::from_sentences(once, {.min_count = 1});
  CHECK(message_of<CorpusError>([&] { return EncodedCorpus::from_sentences(once, vocabulary); }) ==
        "the sentences: no words (if they can be read only once: EncodedCorpus::encode)");
}
