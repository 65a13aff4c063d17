// expect: draws windows and negatives on the device and does
// expect: DeviceKernel

#include <memory>
#include <type_traits>

#include "support.hpp"

using namespace wordloom;

struct DeviceKernel {
  struct Replica {};
  struct Trained {
    double loss, examples;
  };
  struct Run {
    std::size_t batch_words() const { return 1; }
    bool keeps(std::size_t) const { return false; }
    void submit(const detail::SentenceBatch&, std::size_t, double, double) {}
    Trained wait() { return {}; }
    Replica replica() { return {}; }
    void download(Model&) {}
  };
  static constexpr std::size_t min_words = 1;
  template <class Sampler>
#ifdef WORDLOOM_EXPECT_FAILURE
  static constexpr bool trains = std::is_same_v<Sampler, Hogwild>;
#else
  static constexpr bool trains = std::is_same_v<Sampler, SharedNegative>;
#endif
  std::unique_ptr<Run> start(const SharedNegative&, const Hyperparameters&, const Model&) const {
    return std::make_unique<Run>();
  }
};

template void compose<Trainer<SharedNegative, DeviceKernel>>();
