// expect: makes windows and negatives itself, and not as this
// expect: DeviceKernel

#include "support.hpp"

using namespace wordloom;

struct DeviceKernel {
  using Consumes = SentenceBatch;
  struct Replica {};
  static constexpr std::size_t least_words = 1;
  template <class Sampler>
#ifdef WORDLOOM_EXPECT_FAILURE
  static constexpr bool trains = std::is_same_v<Sampler, Hogwild>;
#else
  static constexpr bool trains = std::is_same_v<Sampler, SharedNegative>;
#endif
  template <class Sampler>
  static DeviceKernel make(const Hyperparameters&, const Model&) {
    return {};
  }
  std::size_t batch_words() const { return 1; }
  bool keeps(std::size_t) const { return false; }
  struct Trained {
    double loss, positives;
  };
  void begin(const SentenceBatch&, std::size_t, double, double) {}
  Trained end() { return {}; }
  Replica replica() { return {}; }
  void finish(Model&) {}
};

template void compose<Trainer<SharedNegative, DeviceKernel>>();
