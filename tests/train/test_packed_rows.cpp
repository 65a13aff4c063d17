#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <wordloom/kernel/bf16_kernel.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "small_models.hpp"
#include "support.hpp"
#include "train/paired_corpus.hpp"

using namespace wordloom;

namespace {

using Bf16Trainer = Trainer<GroupedWindow, Bf16Kernel>;

bool can_train() {
  if (!Bf16Kernel::runs_here()) skip("this processor lacks AVX512_BF16");
  return Bf16Kernel::runs_here();
}

/// Returns whether rows are floats: bfloat16 exactly, and of the size of trained vectors.
bool has_floats(const Model& model) {
  for (const RowMatrix* matrix : {&model.input, &model.output})
    for (std::size_t i = 0; i < matrix->rows(); ++i)
      for (const float x : matrix->row(i))
        if ((std::bit_cast<std::uint32_t>(x) & 0xffffu) != 0 || !(std::abs(x) < 10.0f))
          return false;
  return true;
}

struct PackedTask {
  Vocabulary vocabulary = small_vocabulary();
  EncodedCorpus corpus = paired_corpus(vocabulary);
};

}  // namespace

TEST_CASE("one thread gives the same bits again on rows of 16 bits, and learns", "[bf16]") {
  if (!can_train()) return;
  const PackedTask task;
  const auto train = [&] { return Bf16Trainer(small()).fit(task.corpus, task.vocabulary); };
  const Embeddings vectors = train();
  CHECK(same(train(), vectors));
  std::size_t partners = 0;
  for (WordId word = 0; word < vectors.size(); ++word)
    partners += vectors.most_similar(vectors.word(word), 1)[0].word == vectors.word(word ^ 1);
  CHECK(partners >= 18);
}

TEST_CASE("callbacks see rows of 16 bits as floats, which changes no bit", "[bf16]") {
  if (!can_train()) return;
  const PackedTask task;
  const Embeddings expected = Bf16Trainer(small()).fit(task.corpus, task.vocabulary);
  for (const std::size_t threads : {1u, 2u}) {
    Bf16Trainer trainer(small(threads));
    std::size_t calls = 0;
    const auto watch = [&](const Progress&, const Model& model) {
      ++calls;
      CHECK(has_floats(model));
    };
    trainer.on_progress(watch, 0s);
    trainer.on_epoch(watch);
    Model model = trainer.new_model(task.vocabulary);
    trainer.train(task.corpus, model);
    CHECK(calls > 5);
    CHECK(has_floats(model));
    if (threads == 1) CHECK(same(model.embeddings(), expected));
  }
}

TEST_CASE("rows of 16 bits are floats after an exception", "[bf16]") {
  if (!can_train()) return;
  const PackedTask task;
  for (const bool takes_model : {false, true}) {
    Bf16Trainer trainer(small(2));
    if (takes_model)
      trainer.on_progress([](const Progress&, const Model&) { throw std::runtime_error("enough"); },
                          0s);
    else
      trainer.on_progress([](const Progress&) { throw std::runtime_error("enough"); }, 0s);
    Model model = trainer.new_model(task.vocabulary);
    CHECK(message_of<std::runtime_error>([&] { trainer.train(task.corpus, model); }) == "enough");
    CHECK(has_floats(model));
  }
}

TEST_CASE("one thread on rows of 16 bits resumes to the same bits", "[bf16]") {
  if (!can_train()) return;
  const PackedTask task;
  const TemporaryFolder folder;
  const Embeddings expected = Bf16Trainer(small()).fit(task.corpus, task.vocabulary);
  for (const double fraction : {0.0, 0.3, 0.7}) {
    Bf16Trainer trainer(small());
    trainer.checkpoint_to(folder / "state");
    trainer.on_progress([&](const Progress& progress) { return progress.fraction() < fraction; },
                        0s);
    trainer.fit(task.corpus, task.vocabulary);
    REQUIRE(trainer.report().stopped);
    CHECK(same(Bf16Trainer(small()).resume(task.corpus, task.vocabulary, folder / "state"),
               expected));
  }
  // Checkpoints during training.
  Bf16Trainer trainer(small());
  trainer.checkpoint_to(folder / "during", 0s);
  std::size_t copies = 0;
  trainer.on_progress(
      [&](const Progress&) {
        if (std::filesystem::exists(folder / "during") && copies < 5)
          std::filesystem::copy(folder / "during", folder / std::to_string(copies++));
      },
      0s);
  CHECK(same(trainer.fit(task.corpus, task.vocabulary), expected));
  REQUIRE(copies > 2);
  for (std::size_t i = 0; i < copies; ++i)
    CHECK(
        same(Bf16Trainer(small()).resume(task.corpus, task.vocabulary, folder / std::to_string(i)),
             expected));
}
