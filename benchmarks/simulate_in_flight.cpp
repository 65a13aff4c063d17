// The loss of quality by many sentences in flight, without a GPU: their teams run on one core in
// lockstep, each up to its next read of the model, so that changes cross as they would on a device
// whose teams are equally fast. Prints a table.
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>
#include <wordloom/cuda/detail/grouped_warp_scheme.hpp>
#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/cuda/detail/published_schemes.hpp>
#include <wordloom/cuda/detail/warp_scheme.hpp>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/training.hpp"

using namespace wordloom;

namespace {

/// Functions that take turns.
class Fibers {
 public:
  /// Runs body(0) to body(count - 1) until all have returned. Bodies must not throw.
  template <class Body>
  static void run(std::size_t count, Body body) {
    Fibers all(count);
    all.contexts_.resize(count);
    all.entry_ = [](void* data, std::size_t i) { (*static_cast<Body*>(data))(i); };
    all.body_ = &body;
    for (std::size_t i = 0; i < count; ++i) {
      getcontext(&all.contexts_[i]);
      all.contexts_[i].uc_stack = {
          .ss_sp = all.stacks_ + i * stack, .ss_flags = 0, .ss_size = stack};
      all.contexts_[i].uc_link = nullptr;
      makecontext(&all.contexts_[i], &Fibers::start, 0);
      all.waiting_.push_back(i);
    }
    current_ = &all;
    all.at_ = 0;
    swapcontext(&all.main_, &all.contexts_[0]);
    current_ = nullptr;
  }

  /// Lets the others run before the caller continues.
  static void yield() {
    if (current_ == nullptr || current_->waiting_.size() < 2) return;
    const std::size_t from = current_->waiting_[current_->at_];
    current_->at_ = (current_->at_ + 1) % current_->waiting_.size();
    swapcontext(&current_->contexts_[from],
                &current_->contexts_[current_->waiting_[current_->at_]]);
  }

 private:
  static constexpr std::size_t stack = 128 << 10;

  explicit Fibers(std::size_t count) : bytes_(count * stack) {
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    stacks_ = static_cast<char*>(memory);
  }
  ~Fibers() { munmap(stacks_, bytes_); }

  static void start() {
    Fibers& all = *current_;
    all.entry_(all.body_, all.waiting_[all.at_]);
    all.waiting_.erase(all.waiting_.begin() + static_cast<std::ptrdiff_t>(all.at_));
    if (all.waiting_.empty()) setcontext(&all.main_);
    all.at_ %= all.waiting_.size();
    setcontext(&all.contexts_[all.waiting_[all.at_]]);
  }

  static inline Fibers* current_ = nullptr;
  std::size_t bytes_;
  char* stacks_;
  std::vector<ucontext_t> contexts_;
  std::vector<std::size_t> waiting_;  // not yet returned, in turn
  std::size_t at_ = 0;
  ucontext_t main_;
  void (*entry_)(void*, std::size_t) = nullptr;
  void* body_ = nullptr;
};

/// As many sentences take turns as are in flight; a place that has trained one takes the next.
struct Lockstep {
  static constexpr std::size_t batch_words = 4'000'000;
  template <class Use>
  static void run(std::size_t count, std::size_t in_flight, Use&& use) {
    std::size_t next = 0;
    Fibers::run(std::min(count, in_flight), [&](std::size_t place) {
      while (next < count) use(next++, place);
    });
  }
};

/// A team that lets the others run after each read of the model.
struct TurningTeam : cuda::HostTeam<32> {
  template <class X, class Rows>
  void load(X& x, const Rows& row) const {
    HostTeam::load(x, row);
    Fibers::yield();
  }
  template <class X>
  void load_own(X& x, const float* row) const {
    HostTeam::load(x, row);
  }
};

/// Word-per-block scheduling (Gupta and Khare 2017, section 4.1): all words of a sentence at once.
struct WordScheme {
  static constexpr std::size_t floats_of_own(const cuda::Sampling&, std::size_t) { return 0; }

  template <class Task>
  static void train(const Task& task) {
    if (task.sentence.size == 0) return;
    Fibers::run(task.sentence.size, [&](std::size_t center) {
      cuda::SentenceScheme::train_window(task, static_cast<std::uint32_t>(center));
    });
  }
};

template <class Sampler, class Kernel>
void row(const std::string& name, const TrainingInput& input, const Hyperparameters& parameters) {
  Trainer<Sampler, Kernel> trainer(parameters);
  const Embeddings words = trainer.fit(input.corpus, input.vocabulary);
  std::cout << "| " << name << " | " << parameters.sentences_in_flight << " | " << std::fixed
            << std::setprecision(4) << trainer.report().loss << " | ";
  Scores::print(std::cout, words, input.gold);
  std::cout << " |" << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Quality against sentences in flight, simulated");
  std::string corpus, gold;
  std::vector<std::string> kernels{"cuda-warp", "cuda-sentence", "word-per-block"};
  std::vector<std::size_t> in_flight{1, 64};
  Hyperparameters parameters{
      .dimension = 128, .window = 3, .fixed_window = true, .subsample = 1e-4, .epochs = 1};
  app.add_option("--corpus", corpus, "Text to train on; default: the demo corpus");
  app.add_option("--kernel", kernels, "cuda-warp, hot, groups, cuda-sentence, word-per-block")
      ->check(CLI::IsMember({"cuda-warp", "hot", "groups", "cuda-sentence", "word-per-block"}));
  app.add_option("--in-flight", in_flight, "Numbers of sentences at a time");
  app.add_option("--epochs", parameters.epochs, "Epochs");
  app.add_option("--evaluate", gold, "Folder with similarity/ and analogy/ to score on");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  const TrainingInput input = load_input(BenchmarkText(corpus, 200'000), gold);
  std::cout << "| kernel | sentences in flight | loss | WS-353 | SimLex-999 | analogies |\n"
            << "|---|---|---|---|---|---|\n";
  for (const std::string& kernel : kernels)
    for (const std::size_t n : in_flight) {
      parameters.sentences_in_flight = n;
      parameters.validate();
      Hyperparameters groups = parameters;
      groups.window = 5;
      groups.fixed_window = false;
      groups.learning_rate = 0.03;
      using cuda::HostKernel;
      if (kernel == "cuda-warp")
        row<SharedNegative, HostKernel<cuda::WarpScheme<7>, 4, TurningTeam, Lockstep>>(
            kernel, input, parameters);
      else if (kernel == "hot")
        row<SharedNegative, HostKernel<cuda::WarpScheme<7, 16, 4>, 4, TurningTeam, Lockstep>>(
            "cuda-warp, 16 hot outputs", input, parameters);
      else if (kernel == "groups")
        row<GroupedWindow,
            HostKernel<cuda::GroupedWarpScheme<3, 2, 7>, 4, TurningTeam, Lockstep, GroupedWindow>>(
            "cuda-warp, groups", input, groups);
      else if (kernel == "cuda-sentence")
        row<Hogwild, HostKernel<cuda::SentenceScheme, 4, TurningTeam, Lockstep>>(kernel, input,
                                                                                 parameters);
    }
  parameters.sentences_in_flight = 1;
  if (std::find(kernels.begin(), kernels.end(), "word-per-block") != kernels.end())
    row<Hogwild, cuda::HostKernel<WordScheme, 4, TurningTeam>>("word-per-block", input, parameters);
} catch (const std::exception& error) {
  std::cerr << "simulate_in_flight: " << error.what() << '\n';
  return 1;
}
