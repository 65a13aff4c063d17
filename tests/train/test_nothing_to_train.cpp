#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>
#include <wordloom/corpus/missing_contexts.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"

using namespace wordloom;

namespace {

using Sentences = std::vector<std::vector<WordId>>;

/// The message with which training refuses sentences of the first words of `small_vocabulary()`.
template <class Trained>
std::string refusal(Trained&& trainer, const Sentences& sentences) {
  const auto vocabulary = small_vocabulary();
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  return message_of<CorpusError>([&] { trainer.fit(corpus, vocabulary); });
}

const std::string no_context = "nothing to train on: no word of the corpus has a context: ";

}  // namespace

TEST_CASE("a corpus in which no word has a context is refused", "[trainer]") {
  const Sentences alone(30, {3}), repeated{{0, 0, 0}, {1, 1}};
  for (const std::size_t threads : {1u, 3u}) {
    CHECK(refusal(DefaultTrainer(small(threads)), alone) ==
          no_context +
              "each of its 30 sentences (30 words) has one word; is there one word a line? A line "
              "is a sentence");
    CHECK(refusal(DefaultTrainer(small(threads)), repeated) ==
          no_context +
              "each of its 2 sentences (5 words) repeats one word; a sentence needs two different "
              "ones");
  }
  CHECK(
      refusal(DefaultTrainer(small()), {{5}}).starts_with(no_context + "its 1 sentence (1 word) "));

  // Programs ask before they train.
  const auto error_of = [&](const Sentences& sentences, std::string_view cause = {}) {
    const auto corpus = EncodedCorpus::from_sentences(sentences, small_vocabulary());
    const auto error = Shard().missing_contexts(corpus, cause);
    return error ? std::string(error->what()) : std::string();
  };
  CHECK(error_of(alone) == refusal(DefaultTrainer(small()), alone));
  CHECK(error_of(alone, "why") ==
        no_context + "each of its 30 sentences (30 words) has one word: why");
  CHECK(error_of({{3}, {0, 1}, {2}}).empty());
}

TEST_CASE("every sampler refuses a corpus without contexts", "[trainer]") {
  const Sentences alone(30, {3});
  const auto check = [&]<class Sampler>(std::string_view name) {
    INFO(name);
    CHECK(refusal(Trainer<Sampler, DotKernel>(small()), alone).starts_with(no_context));
  };
  check.operator()<Hogwild>("hogwild");
  check.operator()<SentenceMinibatch>("minibatch");
  check.operator()<CombinedContext>("combined");
  check.operator()<IndexedContext>("indexed");
  check.operator()<GroupedWindow>("grouped");
  check.operator()<Cbow>("cbow");
  check.operator()<HierarchicalSoftmax>("shared-hs");
  check.operator()<Subwords<SharedNegative>>("subwords");
}

TEST_CASE("subsampling that leaves no context is refused after an epoch", "[trainer]") {
  const Sentences sentences(40, {0, 1, 2, 3});
  Hyperparameters parameters = small(2);
  parameters.subsample = 1e-12;
  std::size_t epochs = 0;
  DefaultTrainer trainer(parameters);
  trainer.on_epoch([&](const Progress&) { ++epochs; });
  CHECK(refusal(trainer, sentences) ==
        no_context +
            "each of its 40 sentences (160 words) has at most one word after subsampling with the "
            "threshold 1e-12; use a higher one, or 0 to keep all words");
  CHECK(epochs == 0);
}

TEST_CASE("a loss is reported as soon as a pair was trained", "[trainer]") {
  // Subsampling leaves a pair in few of these sentences, and none in the first.
  const auto vocabulary = small_vocabulary();
  Sentences sentences(4000, {0, 2});
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  Hyperparameters parameters = small();
  parameters.subsample = 1e-3;
  parameters.learning_rate = 1e-6;
  DefaultTrainer trainer(parameters);
  std::vector<double> losses, epochs;
  trainer.on_progress([&](const Progress& progress) { losses.push_back(progress.mean_loss); }, 0s);
  trainer.on_epoch([&](const Progress& progress) { epochs.push_back(progress.mean_loss); });
  trainer.fit(corpus, vocabulary);
  const double begins = 6 * std::log(2);  // a positive and 5 negatives
  REQUIRE(epochs.size() == 3);
  for (const double loss : epochs) CHECK(loss == Approx(begins).epsilon(0.05));
  // Once known, it stays so.
  bool known = false;
  for (const double loss : losses) {
    CHECK((!known || std::isfinite(loss)));
    known = known || std::isfinite(loss);
  }
  CHECK(known);
}
