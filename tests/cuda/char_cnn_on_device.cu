// A character CNN on a device against the host's, and its gradients against finite differences.
// Returns 77 (skipped) where there is no device. Usage: test_char_cnn_device [CASE], all without.
#include <wordloom/cuda/nearest_on_device.cuh>
#include <wordloom/cuda_encoders.hpp>

#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/sampler/uniform_matrix.hpp>
#include <wordloom/train/trainer.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "encoder/gradients.hpp"
#include "small_models.hpp"
#include "support.hpp"

using namespace wordloom;
using namespace encoder_gradients;
using namespace std::chrono_literals;

namespace {

int failures = 0;

void report(bool good, const std::string& what, double difference = 0) {
  failures += good ? 0 : 1;
  std::printf("%s: %.2g: %s\n", what.c_str(), difference, good ? "good" : "WRONG");
}

std::size_t last_device = 0;

CudaCharCnn on_device(const CharCnn& policy) { return {policy, last_device}; }

Model copy_of(const Model& model) {
  Model copy(model.vocabulary, model.dimension());
  copy.set_matrices(model.copy_of_matrices());
  return copy;
}

/// Returns the largest difference of two numbers of models; NaN for NaN, and infinity where they
/// have other matrices.
double difference(const Model& a, const Model& b) {
  const auto of_a = a.matrices(), of_b = b.matrices();
  double worst = of_a.size() == of_b.size() ? 0 : INFINITY;
  for (const auto& [name, x] : of_a) {
    const auto y = std::ranges::find(of_b, name, [](const auto& named) { return named.name; });
    if (y == of_b.end() || y->matrix->rows() != x->rows()) return INFINITY;
    for (std::size_t row = 0; row < x->rows(); ++row)
      for (std::size_t c = 0; c < x->columns(); ++c) {
        const double one = std::abs(double{x->row(row)[c]} - double{y->matrix->row(row)[c]});
        if (one > worst || std::isnan(one)) worst = one;
      }
  }
  return worst;
}

/// Up to 64 words of 1 to 71 bytes.
Vocabulary words_of_all_lengths(std::size_t size, std::size_t letters) {
  std::vector<std::pair<std::string, std::uint64_t>> words;
  Random random(3);
  for (std::size_t i = 0; i < size; ++i) {
    std::string word(i == 0 ? 70 : random.below(9), ' ');
    for (char& byte : word) byte = static_cast<char>('!' + random.below(letters));  // no space
    word += static_cast<char>('A' + i);  // makes words differ
    words.emplace_back(word, 2 * size - i);
  }
  return Vocabulary::from_counts(words);
}

/// Compares rounds of fitting on the device with those on the host. The device runs them twice;
/// then each machine continues from the model of the other.
void compare(const std::string& name, const CharCnn& policy, const Vocabulary& vocabulary,
             std::size_t dimension) {
  constexpr double rate = 0.01;
  const Model start = large_model(policy, vocabulary, 3, dimension);
  const auto learn = [&](auto&& run, Model& model, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      model.input = start.input.copy();
      run.learn(rate);
    }
  };
  Model host = copy_of(start), device = copy_of(start), again = copy_of(start);
  policy.start(host, 2, 1).encode();
  {
    auto run = on_device(policy).start(device, 1, 1);
    run.encode();
    const double apart = difference(device, host);
    report(apart < 1e-5, name + ", vectors", apart);
    std::thread([&] { learn(run, device, 3); }).join();  // whose current device is the first
  }
  learn(policy.start(host, 2, 1), host, 3);
  const double apart = difference(device, host);
  report(apart < 2e-5 && difference(host, start) > rate, name + ", fitted", apart);
  learn(on_device(policy).start(again, 1, 1), again, 3);
  report(same_matrices(again, device), name + ", same bits again");
  learn(policy.start(again, 2, 1), again, 1);
  learn(on_device(policy).start(host, 1, 1), host, 1);
  const double crossed = difference(again, host);
  report(crossed < 4e-5, name + ", continued on the other machine", crossed);
}

/// The gradients of all parameters by a batch, which a step of Adam shows.
void compare_with_finite_differences(const CharCnn& policy) {
  const Vocabulary vocabulary = various_words();
  Model model = large_model(policy, vocabulary, 8);
  const CharCnnOracle before(model.state);
  const auto expected = gradients(before, vocabulary, model.input);
  on_device(policy).start(model, 1, 1).learn(1);
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& [name, matrix] = before.parameters()[i];
    std::vector<float> got = values_of(model, name);
    for (std::size_t k = 0; k < got.size(); ++k)
      got[k] = static_cast<float>(gradient_of(double{got[k]} - matrix.values[k]));
    worst = std::max(worst, largest_difference(got, expected[i]) / largest(expected[i]));
  }
  report(worst < 1e-3, "gradients by finite differences", worst);
}

constexpr CharCnn small{.character_dimension = 5,
                        .min_width = 2,
                        .max_width = 4,
                        .filters = 16,
                        .batch = 16,
                        .learning_rate = 0.01,
                        .adam = {.epsilon = 1e-2}};

/// A trainer of rounds of 2 columns, or of twice as many words as the vocabulary has, or end to
/// end.
template <class Sampler, class Encoder>
auto trainer_with(const Encoder& encoder, bool end_to_end) {
  const Hyperparameters with{
      .dimension = 12,
      .minibatch = std::is_same_v<Sampler, UniformMatrix> ? std::size_t{8} : 0,
      .subsample = 0,
      .learning_rate = 0.05,
      .epochs = 2,
      .threads = 1};
  return Trainer<Encoded<Sampler, Encoder>, FusedKernel>(
      with, {Sampler::from(with), encoder, 2, end_to_end}, FusedKernel());
}

template <class Trainer, class Corpus>
Model trained(Trainer trainer, const Corpus& corpus, const Vocabulary& vocabulary) {
  Model model = trainer.new_model(vocabulary);
  trainer.train(corpus, model);
  return model;
}

/// Returns how far the rows of a model are from the vectors of its network.
double apart_from_network(const Model& model) {
  const CharCnnOracle network(model.state);
  double worst = 0;
  for (WordId word = 0; word < model.vocabulary.size(); ++word)
    worst = std::max(worst, largest_difference(model.input.row(word),
                                               network.vector(model.vocabulary.word(word))));
  return worst;
}

/// Trains with an encoder on each machine, and on the device once more in two runs, of which the
/// second resumes the first from its checkpoint. Any word has a vector then, and the host trains
/// the device's model further.
template <class Sampler, class Corpus>
void train(const std::string& name, const Corpus& corpus, const Vocabulary& vocabulary,
           bool end_to_end, std::size_t positions = 0) {
  CharCnn encoder = small;
  encoder.positions = positions;
  const auto trainer = trainer_with<Sampler>(on_device(encoder), end_to_end);
  auto whole = trainer, first = trainer, rest = trainer;
  int reports = 0, calls = 0;
  whole.on_progress([&](const Progress&) { ++reports; }, 0s);
  const Model model = trained(whole, corpus, vocabulary);
  const wordloom_test::TemporaryFolder folder;
  first.checkpoint_to(folder / "state");
  first.on_progress([&](const Progress&) { return ++calls < reports / 2; }, 0s);
  const Model stopped = trained(first, corpus, vocabulary);
  Model resumed = trainer.new_model(vocabulary);
  rest.resume_training(corpus, resumed, folder / "state");
  report(reports > 4 && same_matrices(resumed, model) && !same_matrices(stopped, model),
         name + ", resumed");
  const double rows = std::max(apart_from_network(model), apart_from_network(stopped));
  report(rows < 1e-5, name + ", rows", rows);

  auto on_host = trainer_with<Sampler>(encoder, end_to_end);
  Model host = trained(on_host, corpus, vocabulary);
  const double apart = difference(model, host);
  report(apart < 1e-4, name + ", as on the host", apart);
  model.save(folder / "model");
  Model loaded = Model::load(folder / "model");
  on_host.train(corpus, loaded);
  on_host.train(corpus, host);
  const double further = difference(loaded, host);
  report(further < 1e-3, name + ", continued on the host", further);
  const CharCnnOracle network(model.state);
  const CharCnnEmbeddings words(Model::load(folder / "model"));
  const double unseen = largest_difference(words.vector("unseen"), network.vector("unseen"));
  report(unseen < 1e-5, name + ", vectors of any word", unseen);
}

void train_all() {
  const Vocabulary vocabulary = zipf_vocabulary(40);
  const auto corpus = EncodedCorpus::from_sentences(random_sentences(40, 8, 40), vocabulary);
  const auto matrix = WordContextMatrix::from(corpus, vocabulary, {.columns = 4, .window = 2});
  train<UniformMatrix>("columns", matrix, vocabulary, false);
  train<SharedNegative>("sentences", corpus, vocabulary, false);
  train<UniformMatrix>("columns end to end", matrix, vocabulary, true);
  train<SharedNegative>("sentences end to end", corpus, vocabulary, true);
  train<SharedNegative>("sentences end to end, flattened", corpus, vocabulary, true, 3);
}

/// What is refused, and that nothing is in flight after a failure.
void fail() {
  Model model = large_model(small, various_words(), 3);
  const auto message = [&](auto action) -> std::string {
    try {
      action();
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "";
  };
  const std::string none = message([&] { CudaCharCnn{small, 99}.start(model, 1, 1); });
  report(none.starts_with("device 99: there are "), "no such device");
#ifdef WORDLOOM_EMULATED_CUDA
  for (const int products : {0, 1, 4, 7}) {
    const std::string failed = message([&] {
      auto run = on_device(small).start(model, 1, 1);
      emu::products_until_failure = products;
      run.learn(0.01);
    });
    report(failed.starts_with("cuBLAS: CUBLAS_STATUS_EXECUTION_FAILED (cublas.cuh:"),
           "failure of product " + std::to_string(products));
  }
  emu::products_until_failure = -1;
#endif
}

void fit_all() {
  CharCnn policy = small;
  compare("three batches, the last smaller", policy, words_of_all_lengths(47, 200), 12);
  policy = {.character_dimension = 3,
            .min_width = 1,
            .max_width = 12,
            .filters = 48,
            .batch = 1000,
            .adam = {.epsilon = 1e-2}};
  compare("filters wider than words", policy, various_words(), 33);
  policy = {.character_dimension = 1,
            .min_width = 3,
            .max_width = 3,
            .filters = 80,
            .batch = 7,
            .adam = {.epsilon = 1e-2}};
  compare("one width, few letters", policy, words_of_all_lengths(20, 3), 1);
  policy = small;
  policy.positions = 5;
  compare("flattened", policy, words_of_all_lengths(47, 200), 12);
  for (CharCnn shown :
       {CharCnn{.character_dimension = 5, .min_width = 2, .max_width = 5, .filters = 16},
        CharCnn{.character_dimension = 3, .min_width = 1, .max_width = 2, .filters = 48},
        CharCnn{.character_dimension = 4, .max_width = 3, .filters = 16, .positions = 5}}) {
    shown.adam = gradient_shows;
    compare_with_finite_differences(shown);
  }
}

/// More words than are encoded at a time.
void encode_many() {
  constexpr CharCnn tiny{.character_dimension = 1, .min_width = 2, .max_width = 2, .filters = 16};
  const Vocabulary vocabulary = zipf_vocabulary(4100);
  Model host = large_model(tiny, vocabulary, 3, 3), device = copy_of(host);
  tiny.start(host, 2, 1).encode();
  on_device(tiny).start(device, 1, 1).encode();
  const double apart = difference(device, host);
  report(apart < 1e-5, "4100 words", apart);
}

/// Returns whether lists of neighbours have the same words, and scores that hardly differ. Words
/// whose scores hardly differ may change places.
bool same_neighbours(const std::vector<std::vector<Neighbour>>& a,
                     const std::vector<std::vector<Neighbour>>& b) {
  const auto is_near = [](float x, float y) { return std::abs(x - y) < 1e-6f; };
  return std::ranges::equal(a, b, [&](const auto& of_a, const auto& of_b) {
    return std::ranges::equal(of_a, of_b, [&](const Neighbour& x, const Neighbour& y) {
      const auto other = std::ranges::find(of_b, x.word, &Neighbour::word);
      return is_near(x.score, y.score) &&
             (x.word == y.word || (other != of_b.end() && is_near(other->score, y.score)));
    });
  });
}

/// Nearest words by the device against those by the host.
void find_nearest() {
  const Vocabulary vocabulary = zipf_vocabulary(300, 10'000);
  Model model = random_model(vocabulary, 20);
  // Rows of equal scores, of zeros, and one that is longer.
  std::ranges::copy(model.input.row(7), model.input.row(150).begin());
  std::ranges::copy(model.input.row(7), model.input.row(290).begin());
  std::ranges::fill(model.input.row(40), 0.0f);
  for (float& x : model.input.row(3)) x *= 1000;
  const Embeddings words = std::move(model).embeddings();
  std::vector<std::string> all;
  for (std::size_t i = 0; i < words.size(); i += 10) all.emplace_back(words.word(i));
  cuda::NearestOnDevice device(words, last_device);
  for (const std::size_t k : {1, 33, 128})
    report(same_neighbours(device.most_similar_each(all, k), words.most_similar_each(all, k)),
           std::to_string(k) + " nearest words");
  const QueryOptions first{.restrict_vocabulary = 45};
  report(same_neighbours(device.most_similar_each(all, 50, first),
                         words.most_similar_each(all, 50, first)),
         "all nearest words of the first 45");
  report(device.most_similar_each(all, 0).size() == all.size(), "no nearest words");
  try {
    static_cast<void>(device.most_similar_each(all, 129));
    report(false, "129 neighbours");
  } catch (const InvalidArgument&) {
    report(true, "129 neighbours");
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string_view only = argc > 1 ? argv[1] : "";
  try {
    int devices = 0;
    cuda::check(cudaGetDeviceCount(&devices));
    last_device = static_cast<std::size_t>(devices - 1);
  } catch (const DeviceError& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  const auto run = [&](const char* name, auto cases) {
    if (only.empty() || only == name) cases();
  };
  run("fit", fit_all);
  run("many", encode_many);
  run("train", train_all);
  run("fail", fail);
  run("nearest", find_nearest);
  return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::printf("failed: %s\n", error.what());
  return 1;
}
