// What is learnt, and training that continues with a model.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <wordloom/any_trainer.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/train/trainer.hpp>

#include "catch.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"

using namespace wordloom;

namespace {

using Shared = Trainer<SharedNegative, FusedKernel>;

bool same_row(std::span<const float> a, std::span<const float> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
bool same_rows(const RowMatrix& a, const RowMatrix& b) {
  if (a.rows() != b.rows() || a.columns() != b.columns()) return false;
  for (std::size_t i = 0; i < a.rows(); ++i)
    if (!same_row(a.row(i), b.row(i))) return false;
  return true;
}
bool same_rows(const Model& a, const Model& b) {
  return same_rows(a.input, b.input) && same_rows(a.output, b.output);
}
Model copy_of(const Model& model) {
  Model copy(model.vocabulary,
             {.dimension = model.dimension(), .output_rows = model.output.rows()});
  copy.set_matrices(model.copy_of_matrices());
  return copy;
}

/// How many of the words PREFIX2k have PREFIX2k+1 nearest to them.
std::size_t pairs_found(const Embeddings& words, const std::string& prefix, std::size_t count) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; i += 2)
    found += words.most_similar(prefix + std::to_string(i), 1).front().word ==
             prefix + std::to_string(i + 1);
  return found;
}

}  // namespace

TEST_CASE("words that occur together get similar vectors, with every sampler", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary, 2000);
  const auto check = [&](std::string_view sampler, std::string_view kernel) {
    INFO(sampler);
    for (const std::size_t threads : {1u, 3u}) {
      auto parameters = small(threads);
      parameters.epochs = 10;
      AnyTrainer trainer = make_trainer(sampler, kernel, parameters);
      CHECK(pairs_found(trainer.fit(corpus, vocabulary), "w", 20) == 10);
      CHECK(trainer.report().epoch_losses.back() < trainer.report().epoch_losses.front());
    }
  };
  Policies::Samplers::for_each([&]<class>(std::string_view name) { check(name, "fused"); });
#if WORDLOOM_HAS_BLAS
  Policies::PublishedSamplers::for_each([&]<class>(std::string_view name) { check(name, "gemm"); });
#endif
}

TEST_CASE("fit continues with an existing model", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  Shared trainer(small());
  Model model = trainer.new_model(vocabulary);
  const double first = trainer.train(corpus, model).loss;
  CHECK(same(model.embeddings(), trainer.fit(corpus, vocabulary)));
  const double second = trainer.train(corpus, model).loss;
  CHECK(second < first);
  CHECK(model.embeddings().size() == vocabulary.size());
}

TEST_CASE("a model that was saved and loaded continues to the same bits", "[trainer]") {
  const TemporaryFolder folder;
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  const auto check = [&](auto trainer) {
    Model model = trainer.new_model(vocabulary);
    trainer.train(corpus, model);
    model.save(folder / "model");
    trainer.train(corpus, model);
    Model loaded = Model::load(folder / "model");
    trainer.train(corpus, loaded);
    CHECK(same_rows(loaded, model));
  };
  check(Shared(small()));
  check(Trainer<BasicCbow<HuffmanPath>, DotKernel>(small()));
}

TEST_CASE("a model continues with another kernel, sampler, corpus and number of threads",
          "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary), other = paired_corpus(vocabulary, 300);
  Shared start(small());
  Model model = start.new_model(vocabulary);
  const double before = start.train(corpus, model).epoch_losses.front();
  const auto goes_on = [&](auto trainer, const EncodedCorpus& with) {
    Model next = copy_of(model);
    CHECK(trainer.train(with, next).epoch_losses.front() < before);
    CHECK_FALSE(same_rows(next, model));
  };
  goes_on(Trainer<SharedNegative, DotKernel>(small()), corpus);
  goes_on(Trainer<Hogwild, FusedKernel>(small()), corpus);
  goes_on(Shared(small(3)), corpus);
  goes_on(Shared(small()), other);
}

TEST_CASE("a model continues with the words of a new text", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  // Words 2k and 2k + 1 of the new text stand together: n0, n1, ... and two known ones.
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  for (int i = 0; i < 8; ++i) counts.emplace_back("n" + std::to_string(i), 2000 - i);
  counts.emplace_back("w18", 500);
  counts.emplace_back("w19", 400);
  const auto more = Vocabulary::from_counts(counts);
  const auto check = [&](auto trainer, bool has_words_as_outputs) {
    Model model = trainer.new_model(vocabulary);
    trainer.train(paired_corpus(vocabulary, 2000), model);
    const Model old = copy_of(model);
    model.extend(more);
    REQUIRE(model.vocabulary.size() == 28);
    for (WordId id = 0; id < 20; ++id) {
      const auto now = *model.vocabulary.find(vocabulary.word(id));
      CHECK(same_row(model.input.row(now), old.input.row(id)));
      if (has_words_as_outputs) CHECK(same_row(model.output.row(now), old.output.row(id)));
    }
    // Sentences of the new words and w18, w19 in the larger vocabulary.
    std::vector<std::vector<std::string>> text(3000);
    Random random(5);
    for (auto& sentence : text) {
      const auto pair = 2 * random.below(5);
      for (int i = 0; i < 10; ++i)
        sentence.emplace_back(more.word(static_cast<WordId>(pair + random.below(2))));
    }
    const auto corpus = EncodedCorpus::from_sentences(text, model.vocabulary);
    const Model extended = copy_of(model);
    trainer.train(corpus, model);
    const auto words = model.embeddings();
    CHECK(pairs_found(words, "n", 8) == 4);
    CHECK(pairs_found(words, "w", 20) == 10);
    // Words that are not in the new text are no inputs.
    for (WordId id = 0; id < 18; ++id) {
      const auto now = *model.vocabulary.find(vocabulary.word(id));
      CHECK(same_row(model.input.row(now), extended.input.row(now)));
    }
  };
  auto parameters = small();
  parameters.epochs = 10;
  check(Shared(parameters), true);
  check(Trainer<HierarchicalSoftmax, FusedKernel>(parameters), false);
}

TEST_CASE("a model whose rows do not fit the sampler is refused with both shapes", "[trainer]") {
  const auto vocabulary = small_vocabulary();
  const auto corpus = paired_corpus(vocabulary);
  Shared words(small());
  Trainer<HierarchicalSoftmax, DotKernel> nodes(small());
  Trainer<BasicCbow<HuffmanPathAndNegatives>, DotKernel> both(small());
  Model of_words = words.new_model(vocabulary), of_nodes = nodes.new_model(vocabulary),
        of_both = both.new_model(vocabulary);
  CHECK(of_words.output.rows() == 20);
  CHECK(of_nodes.output.rows() == 19);
  CHECK(of_both.output.rows() == 39);
  const auto refusal = [&](auto& trainer, Model& model) {
    return message_of<InvalidArgument>([&] { trainer.train(corpus, model); });
  };
  CHECK(refusal(words, of_nodes) ==
        "the model's output is 19 x 16, its vocabulary, this sampler and the hyperparameters need "
        "20 x 16");
  CHECK(contains(refusal(nodes, of_words), "output is 20 x 16"));
  CHECK(contains(refusal(nodes, of_words), "need 19 x 16"));
  CHECK(contains(refusal(both, of_nodes), "need 39 x 16"));
  CHECK(contains(refusal(nodes, of_both), "output is 39 x 16"));
  Model wide(vocabulary, {.dimension = 16, .input_rows = 25});
  CHECK(contains(refusal(words, wide), "input is 25 x 16"));
  CHECK(contains(refusal(words, wide), "need 20 x 16"));
}
