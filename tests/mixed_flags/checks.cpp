// Compiled twice, as in debug and in release builds, and as another function: UNIT. Linked in both
// orders with a precompiled library that is optimised.
#include <cstddef>
#include <iostream>
#include <span>
#include <string>
#include <vector>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

/// Makes blocks that say too much of themselves, which does no harm.
struct Boasting {
  template <class Visit>
  void visit_parameters(Visit&&) const {}

  struct Worker {
    Block::Shape max_block() const { return {1, 1}; }
    template <class Sink>
    void sample(std::span<const WordId> sentence, Random&, Sink&& sink) {
      sink(Block{.inputs = sentence.first(1),
                 .outputs = sentence.last(1),
                 .positives = 1,
                 .examples = 1000});
    }
  };
  Worker start(const Vocabulary&) const { return {}; }
};

std::string UNIT() {
  const std::vector<std::vector<std::string>> text(100, {"a", "b", "a", "c"});
  const auto vocabulary = Vocabulary::from_sentences(text, {.min_count = 1});
  const auto corpus = EncodedCorpus::from_sentences(text, vocabulary);
  const Hyperparameters parameters{.dimension = 16, .subsample = 0, .threads = 2};
  DefaultTrainer(parameters).fit(corpus, vocabulary);
  try {
    Trainer<Boasting, DotKernel>(parameters).fit(corpus, vocabulary);
    return "trained";
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

#ifdef NDEBUG
std::string in_debug();

int main() {
  const std::string debug = in_debug(), release = UNIT();
  std::cout << debug << '\n' << release << '\n';
  return debug.starts_with("sampler Boasting: block 1 of thread ") &&
                 debug.ends_with(": 1000 examples of 1 pairs") && release == "trained"
             ? 0
             : 1;
}
#endif
