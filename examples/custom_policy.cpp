// A sampler of one's own: skip-gram that looks only to the right, for text where order matters.
// Any type with these members is a Sampler (wordloom/sampler/concept.hpp). Usage: custom_policy TEXT
#include <algorithm>
#include <exception>
#include <iostream>
#include <span>
#include <vector>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

class RightContext {
 public:
  using Produces = Block;

  RightContext(const Hyperparameters& parameters, const Vocabulary& vocabulary)
      : window_(parameters.window),
        negatives_(vocabulary, parameters.negative_exponent),
        outputs_(1 + parameters.negatives) {}

  BlockShape max_block() const { return {window_, outputs_.size()}; }

  template <class Sink>
  void sample(std::span<const WordId> sentence, Random& random, Sink&& sink) {
    for (std::size_t center = 0; center + 1 < sentence.size(); ++center) {
      outputs_[0] = sentence[center];
      for (std::size_t k = 1; k < outputs_.size(); ++k)
        outputs_[k] = negatives_.draw(random, sentence[center]);
      const std::size_t reach = std::min(window_, sentence.size() - center - 1);
      sink(Block{sentence.subspan(center + 1, reach), outputs_, 1, {}});
    }
  }

 private:
  std::size_t window_;
  NegativeDistribution negatives_;
  std::vector<WordId> outputs_;  // the centre word, then the negatives
};

int main(int argc, char** argv) try {
  if (argc != 2) throw InvalidArgument("usage: custom_policy TEXT");
  const auto vocabulary = Vocabulary::from_text(argv[1]);
  const auto corpus = EncodedCorpus::from_text(argv[1], vocabulary);
  const Hyperparameters parameters{.window = 3, .epochs = 2};

  Trainer<RightContext, DotKernel> mine(parameters);
  mine.fit(corpus, vocabulary);
  Trainer<SharedNegative, DotKernel> usual(parameters);
  usual.fit(corpus, vocabulary);

  std::cout << "loss: right context " << mine.report().loss << ", both sides "
            << usual.report().loss << '\n';
} catch (const std::exception& error) {
  std::cerr << "custom_policy: " << error.what() << '\n';
  return 1;
}
