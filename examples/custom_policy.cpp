// A custom sampler: skip-gram that looks only to the right, for text where order matters.
// Any type with start() is a Sampler (wordloom/sampler/concept.hpp). Usage: custom_policy TEXT
#include <algorithm>
#include <exception>
#include <iostream>
#include <span>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

/// The policy: a value with its own parameters.
struct RightContext {
  std::size_t window = 5;
  NegativeSampling targets = {};

  static RightContext from(const Hyperparameters& parameters) {
    return {parameters.window, NegativeSampling::from(parameters)};
  }
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("window", window, 1, 1000);
    targets.visit_parameters(visit);
  }

  /// The scratch of one thread: each thread trains with a copy.
  class Worker {
   public:
    Worker(std::size_t window, const NegativeSampling::Run& tables)
        : max_{.inputs = window, .outputs = tables.max_outputs()}, targets_(tables.worker(3, 1)) {}

    Block::Shape max_block() const { return max_; }

    template <class Sink>
    void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
      std::size_t drawn = 0;
      for (std::size_t center = 0; center + 1 < sentence.size(); ++center) {
        // Draws targets and announces their rows two words ahead, so that they are in the cache
        // when the block needs them.
        for (; drawn < sentence.size() && drawn <= center + 2; ++drawn) {
          targets_.draw(sentence[drawn], drawn % 3, random);
          const std::size_t entering = std::min(drawn + max_.inputs, sentence.size() - 1);
          announce_rows(sink, sentence.subspan(entering, 1), targets_.at(drawn % 3).outputs);
        }
        const std::size_t reach = std::min(max_.inputs, sentence.size() - center - 1);
        sink(Block{.inputs = sentence.subspan(center + 1, reach),
                   .outputs = targets_.at(center % 3).outputs,
                   .positives = 1,
                   .examples = reach});
      }
    }

   private:
    Block::Shape max_;
    NegativeSampling::Worker targets_;  // 3 slots: a centre and the two after it
  };

  Worker start(const Vocabulary& vocabulary) const { return {window, targets.start(vocabulary)}; }
};

int main(int argc, char** argv) try {
  if (argc != 2) throw InvalidArgument("usage: custom_policy TEXT");
  const auto vocabulary = Vocabulary::from_text(argv[1]);
  const auto corpus = EncodedCorpus::from_text(argv[1], vocabulary);
  const Hyperparameters parameters{.window = 3, .epochs = 2};

  Trainer<RightContext, FusedKernel> mine(parameters);
  mine.fit(corpus, vocabulary);
  Trainer<SharedNegative, FusedKernel> usual(parameters);
  usual.fit(corpus, vocabulary);

  std::cout << "loss: right context " << mine.report().loss << ", both sides "
            << usual.report().loss << '\n';
} catch (const std::exception& error) {
  std::cerr << "custom_policy: " << error.what() << '\n';
  return 1;
}
