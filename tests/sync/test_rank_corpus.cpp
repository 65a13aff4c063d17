#include <wordloom/sync/rank_corpus.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "demo_corpus.hpp"
#include "support.hpp"
#include "train/strata_scenario.hpp"

using namespace wordloom;

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// The same words in lines, in one line, and compressed.
struct Texts {
  TemporaryFolder folder;
  std::vector<std::filesystem::path> paths;

  Texts() {
    demo::write_corpus(folder / "lines", {.tokens = 100'000});
    std::ifstream file(folder / "lines");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    std::replace(text.begin(), text.end(), '\n', ' ');
    write(folder / "line", text);
    paths = {folder / "lines", folder / "line"};
#if WORDLOOM_HAS_ZLIB
    const std::string command =
        "gzip -c '" + (folder / "lines").string() + "' >'" + (folder / "lines.gz").string() + "'";
    if (std::system(command.c_str()) != 0) throw IoError("no gzip");
    paths.push_back(folder / "lines.gz");
#endif
  }
};

/// How often each word is in each sentence of all ranks' shards, and how many sentences there are.
template <class C>
std::map<WordId, std::uint64_t> words_of_ranks(const std::filesystem::path& path,
                                               const Vocabulary& vocabulary, std::size_t ranks,
                                               std::size_t threads, CorpusOptions options = {}) {
  std::map<WordId, std::uint64_t> counts;
  std::mutex guard;
  ThreadRanks::run(ranks, [&](ThreadRanks self) {
    const auto corpus = rank_corpus<C>(self, path, vocabulary, options);
    if (corpus.token_count() != vocabulary.total_count()) throw Error("other tokens");
    if (corpus.vocabulary_fingerprint() != vocabulary.fingerprint()) throw Error("vocabulary");
    for (const std::uint64_t of_rank : self.gather(corpus.fingerprint()))
      if (of_rank != corpus.fingerprint() || of_rank == 0) throw Error("fingerprint");
    const std::lock_guard lock(guard);
    for (std::size_t thread = 0; thread < threads; ++thread)
      for (const auto sentence :
           corpus.sentences({.index = self.rank() * threads + thread, .count = ranks * threads})) {
        if (sentence.empty() || sentence.size() > options.max_sentence_length)
          throw Error("length of a sentence");
        for (const WordId id : sentence) ++counts[id];
      }
  });
  return counts;
}

}  // namespace

TEST_CASE("ranks count a vocabulary together", "[sync][corpus]") {
  const Texts texts;
  for (const auto& path : texts.paths)
    for (const VocabularyOptions& options :
         {VocabularyOptions{}, VocabularyOptions{.min_count = 50, .max_size = 30}}) {
      const auto expected = Vocabulary::from_text(path, options);
      for (const std::size_t ranks : {1u, 2u, 7u})
        ThreadRanks::run(ranks, [&](ThreadRanks self) {
          const auto got = rank_vocabulary(self, path, options);
          if (got.fingerprint() != expected.fingerprint()) throw Error("another vocabulary");
          if (got.total_count() != expected.total_count()) throw Error("another count");
        });
    }
  SUCCEED("no rank has thrown");
}

TEST_CASE("ranks together read all of a text, each its part", "[sync][corpus]") {
  const Texts texts;
  for (const auto& path : texts.paths) {
    const auto vocabulary = Vocabulary::from_text(path);
    for (const std::size_t ranks : {1u, 2u, 7u})
      for (const std::size_t threads : {1u, 3u}) {
        const auto check = [&](const std::map<WordId, std::uint64_t>& counts) {
          std::map<WordId, std::uint64_t> expected;
          for (WordId id = 0; id < vocabulary.size(); ++id) expected[id] = vocabulary.count(id);
          CHECK(counts == expected);
        };
        check(words_of_ranks<EncodedCorpus>(path, vocabulary, ranks, threads));
        check(words_of_ranks<TextCorpus>(path, vocabulary, ranks, threads));
      }
  }
}

TEST_CASE("parts are of nearly the same size", "[sync][corpus]") {
  const Texts texts;
  const auto vocabulary = Vocabulary::from_text(texts.paths[0]);
  for (std::size_t i = 0; i < 4; ++i) {
    CorpusOptions options;
    options.part = {i, 4};
    const auto part = EncodedCorpus::from_text(texts.paths[0], vocabulary, options);
    CHECK(static_cast<double>(part.token_count()) ==
          Approx(static_cast<double>(vocabulary.total_count()) / 4).epsilon(0.02));
  }
}

TEST_CASE("each rank has a cache of its own", "[sync][corpus]") {
  const Texts texts;
  const TemporaryFolder folder;
  const auto vocabulary = Vocabulary::from_text(texts.paths[0]);
  const CorpusOptions options{.cache = folder / "ids"};
  const auto first = words_of_ranks<EncodedCorpus>(texts.paths[0], vocabulary, 3, 1, options);
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "."))
    names.insert(entry.path().filename().string());
  CHECK(names == std::set<std::string>{"ids.0-of-3", "ids.1-of-3", "ids.2-of-3"});
  CHECK(words_of_ranks<EncodedCorpus>(texts.paths[0], vocabulary, 3, 1, options) == first);
  // One that is another part's is not taken for it.
  std::filesystem::copy_file(folder / "ids.0-of-3", folder / "ids.1-of-3",
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(words_of_ranks<EncodedCorpus>(texts.paths[0], vocabulary, 3, 1, options) == first);
}

TEST_CASE("a text of fewer words than ranks is read", "[sync][corpus]") {
  const TemporaryFolder folder;
  write(folder / "text", "a b\na");
  ThreadRanks::run(5, [&](ThreadRanks self) {
    const auto vocabulary = rank_vocabulary(self, folder / "text", {.min_count = 1});
    if (vocabulary.size() != 2 || vocabulary.count(0) != 2) throw Error("vocabulary");
    if (rank_corpus<EncodedCorpus>(self, folder / "text", vocabulary).token_count() != 3)
      throw Error("corpus");
  });
  SUCCEED("no rank has thrown");
}

TEST_CASE("each rank reads a file of its own", "[sync][corpus]") {
  const TemporaryFolder folder;
  write(folder / "text", "a b a\na b\na c\n");
  for (const auto& [rank, text] : {std::pair("0", "a b a\n"), {"1", "a b\n"}, {"2", "a c\n"}}) {
    std::filesystem::create_directory(folder / rank);
    write(folder / rank / (rank + std::string(".txt")), text);
  }
  const auto expected = Vocabulary::from_text(folder / "text", {.min_count = 1});
  ThreadRanks::run(3, [&](ThreadRanks self) {
    const auto vocabulary = rank_vocabulary(self, folder / "%r/%r.txt", {.min_count = 1});
    if (vocabulary.fingerprint() != expected.fingerprint()) throw Error("another vocabulary");
    const auto corpus = rank_corpus<EncodedCorpus>(self, folder / "%r/%r.txt", vocabulary);
    if (corpus.token_count() != 7 || corpus.most_tokens() != 3) throw Error("corpus");
    std::size_t words = 0;
    for (const auto& sentence : corpus.sentences({.index = self.rank(), .count = 3}))
      words += sentence.size();
    if (words != (self.rank() == 0 ? 3 : 2)) throw Error("part");
  });
  SUCCEED("no rank has thrown");
}

TEST_CASE("a text that ranks cannot read together is refused on all", "[sync][corpus]") {
  const TemporaryFolder folder;
  write(folder / "text", "a b c");
  write(folder / "other", "a b d");
  const auto messages = [&](auto read) {
    std::set<std::string> all;
    std::mutex guard;
    ThreadRanks::run(3, [&](ThreadRanks self) {
      try {
        read(self);
      } catch (const Error& error) {
        const std::lock_guard lock(guard);
        all.insert(error.what());
      }
    });
    return all;
  };
  const auto rare = messages([&](ThreadRanks self) { rank_vocabulary(self, folder / "text"); });
  CHECK(rare ==
        std::set{(folder / "text").string() + ": none of its 3 words occurs min_count = 5 times"});
  const auto different = messages([&](ThreadRanks self) {
    rank_vocabulary(self, folder / (self.rank() == 2 ? "other" : "text"), {.min_count = 1});
  });
  REQUIRE(different.size() == 2);  // each names its own file
  for (const auto& message : different) CHECK(contains(message, "rank 2 has another text in"));
  const std::vector<std::pair<std::string, std::uint64_t>> counts{{"x", 1}, {"y", 1}};
  const auto unknown = messages([&](ThreadRanks self) {
    rank_corpus<EncodedCorpus>(self, folder / "text", Vocabulary::from_counts(counts));
  });
  CHECK(unknown == std::set<std::string>{"no rank has a word of the vocabulary in its part"});
  const auto another = messages([&](ThreadRanks self) {
    const auto vocabulary = rank_vocabulary(self, folder / "text", {.min_count = 1});
    rank_corpus<EncodedCorpus>(self, folder / "text", vocabulary)
        .sentences({.index = (self.rank() + 1) % 3, .count = 3});
  });
  REQUIRE(another.size() == 3);
  CHECK(*another.begin() == "shard 0 of 3 does not belong to rank 2 of 3");
}

namespace {

/// Returns a part of the text of a scenario: whole sentences, of which the last rank has most.
EncodedCorpus part_of_scenario(const strata_scenario::StrataScenario& text, std::size_t rank,
                               std::size_t ranks) {
  const std::size_t all = text.corpus.sentence_count(), each = all / (2 * ranks);
  std::vector<std::vector<WordId>> sentences;
  for (std::size_t s = rank * each; s < (rank + 1 == ranks ? all : (rank + 1) * each); ++s) {
    const auto words = text.corpus.sentence(s);
    sentences.emplace_back(words.begin(), words.end());
  }
  return EncodedCorpus::from_sentences(sentences, text.vocabulary);
}

}  // namespace

TEST_CASE("ranks of which each holds a part train all pairs by strata", "[sync][strata]") {
  using namespace strata_scenario;
  auto parameters = StrataScenario::parameters();
  parameters.subsample = 0;
  auto sampler = StrataScenario::sampler(7);
  sampler.window = Window::fixed(3);
  sampler.block_threads = 2;
  for (const std::size_t ranks : {1u, 3u, 7u})
    for (const bool by_name : {false, true}) {
      Recorder recorder;
      ThreadRanks::run(ranks, [&](ThreadRanks self) {
        const detail::RankCorpus corpus(self, part_of_scenario(scenario(), self.rank(), ranks));
        StrataTrainer<RecordingKernel, Sync> trainer(parameters, sampler,
                                                     RecordingKernel{&recorder}, Sync(self));
        Model model = trainer.new_model(scenario().vocabulary);
        if (by_name)
          trainer.train(AnyCorpus(corpus), model);
        else
          trainer.train(corpus, model);
      });
      PairCounts counts;
      for (const auto& block : recorder.blocks)
        for (const RowId input : block.inputs) ++counts[{input, block.outputs[0]}];
      CHECK(counts == pairs_of(scenario().corpus, 3, parameters.epochs));
    }
}

namespace {

/// Trains with three ranks, each of which holds a part of the corpus, until they stop; continues
/// with two until they stop, and with two up to the end. `make(rank)` returns a trainer.
template <class Make>
void check_resumes(const Make& make) {
  using namespace strata_scenario;
  const TemporaryFolder folder;
  const auto train = [&](std::size_t ranks, double from, double until) {
    std::vector<std::optional<Model>> result(ranks);
    ThreadRanks::run(ranks, [&](ThreadRanks self) {
      const detail::RankCorpus corpus(self, part_of_scenario(scenario(), self.rank(), ranks));
      auto trainer = make(self);
      Model model = trainer.new_model(scenario().vocabulary);
      trainer.checkpoint_to(folder / "state", 0s);
      trainer.on_progress([until](const Progress& progress) { return progress.fraction() < until; },
                          0s);
      if (from == 0)
        trainer.train(corpus, model);
      else
        trainer.resume_training(corpus, model, folder / "state");
      result[self.rank()].emplace(std::move(model));
    });
    CHECK(all_same(result, *result[0]));
    return result;
  };
  const auto first = train(3, 0, 0.3), second = train(2, 0.3, 0.6), last = train(2, 0.6, 2);
  CHECK_FALSE(same_matrices(*first[0], *second[0]));
  CHECK_FALSE(same_matrices(*second[0], *last[0]));
}

}  // namespace

TEST_CASE("another number of ranks resumes, and again the same, where each holds a part",
          "[sync][strata][checkpoint]") {
  using namespace strata_scenario;
  check_resumes([](ThreadRanks self) {
    return RankTrainer(StrataScenario::parameters(), StrataScenario::sampler(7), FusedKernel{},
                       Sync(self));
  });
  check_resumes([](ThreadRanks self) {
    return Trainer<SharedNegative, FusedKernel, Allreduce<ThreadRanks>>(
        StrataScenario::parameters(), Allreduce<ThreadRanks>(self, {.interval = 100}));
  });
}
