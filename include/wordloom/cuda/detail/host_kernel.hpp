#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <wordloom/core/detail/finite.hpp>
#include <wordloom/corpus/detail/sentence_batch.hpp>
#include <wordloom/cuda/detail/batch_kernel.hpp>
#include <wordloom/cuda/detail/device_rows.hpp>
#include <wordloom/cuda/detail/sentence.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// The host in place of a device: does all work immediately.
struct HostMachine : detail::HostMemory {
  template <class T>
  struct Array : std::vector<T> {
    Array() = default;
    Array(std::size_t size, const char*) : std::vector<T>(size) {}
  };
  using Numbers = Array<std::uint32_t>;
  struct Device {};
  using Queue = HostMachine;
  /// The memory of a batch in flight, or of a group of columns.
  struct Slot {
    static constexpr std::size_t staged_words = std::size_t{1} << 20;  // as CudaMachine's
    std::vector<double> loss, loss_on_host;
    const float* fetched_from = nullptr;

    explicit Slot(std::size_t losses = 1) : loss(2 * losses) {}

    static void copy(const detail::SentenceBatch& batch, std::uint32_t* to, const HostMachine&) {
      batch.for_each_part([&](auto part) { to = std::copy(part.begin(), part.end(), to); });
      std::copy(batch.ends.begin(), batch.ends.end(), to);
    }
    void begin(BatchView& batch, const HostMachine&) {
      std::fill(loss.begin(), loss.end(), 0.0);
      batch.loss = loss.data();
    }
    void end(const HostMachine&) { loss_on_host = loss; }
    void begin_fetch(const float* from, std::size_t, const HostMachine&) { fetched_from = from; }
    const float* fetched() const noexcept { return fetched_from; }
    static void wait() noexcept {}
    template <class Submit>
    static void repeat(std::size_t count, Submit submit, const HostMachine&) {
      for (std::size_t i = 0; i < count; ++i) submit();
    }
    Trained trained(std::size_t i = 0) const {
      return {loss_on_host[2 * i], loss_on_host[2 * i + 1]};
    }
  };

  template <class Work>
  void run(std::size_t count, const Work& work) const {
    for (std::size_t i = 0; i < count; ++i)
      work(RowTeam<HostTeam<32>>(), static_cast<std::uint32_t>(i));
  }
  static Device use(std::size_t) { return {}; }
  static void clear(float*, std::size_t) {}
  template <class T>
  static void copy(T* to, const T* from, std::size_t size) {
    std::copy_n(from, size, to);
  }
  template <class T>
  static void begin_copy(T* to, const T* from, std::size_t size) {
    copy(to, from, size);
  }
  static void begin_copy_of_rows(float* to, std::size_t to_stride, const float* from,
                                 std::size_t from_stride, std::size_t columns, std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i)
      std::copy_n(from + i * from_stride, columns, to + i * to_stride);
  }
  /// Keeps two batches, to imitate a device that keeps those that fit its memory.
  static bool has_room(std::size_t, std::size_t kept) { return kept < 2; }
  static void make_current() {}
  static void settle() noexcept {}
};

/// A CudaSorter that works on the host.
struct HostSorter {
  using Numbers = std::uint32_t;

  template <class Condition>
  static void reserve(std::size_t, int, const Condition&, const HostMachine&) noexcept {}
  static void sort(const Numbers* keys, Numbers* sorted_keys, const Numbers* values,
                   Numbers* sorted_values, std::size_t size, int, const HostMachine&) {
    std::vector<std::pair<Numbers, Numbers>> all(size);
    for (std::size_t i = 0; i < size; ++i) all[i] = {keys[i], values[i]};
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < size; ++i) {
      sorted_keys[i] = all[i].first;
      sorted_values[i] = all[i].second;
    }
  }
  static void enumerate(Numbers* numbers, std::size_t size, const HostMachine&) {
    std::iota(numbers, numbers + size, Numbers{0});
  }
  static void add_up(Numbers* numbers, std::size_t size, const HostMachine&) {
    std::partial_sum(numbers, numbers + size, numbers);
  }
  template <class Condition>
  static void select(const Numbers* numbers, Numbers* selected, Numbers* count, std::size_t size,
                     const Condition& condition, const HostMachine&) {
    *count =
        static_cast<Numbers>(std::copy_if(numbers, numbers + size, selected, condition) - selected);
  }
  static float largest(const float* values, std::size_t size, const HostMachine&) {
    return *std::max_element(values, values + size, [](float a, float b) {
      return detail::magnitude_bits(a) < detail::magnitude_bits(b);
    });
  }
};

/// Trains sentences one after the other, each to its end.
struct OneByOne {
  /// Preferred number of words of a batch.
  static constexpr std::size_t batch_words = 50'000;
  /// Calls use(i, place) for each i below `count`; no two that run at the same time have the same
  /// place, which is below `in_flight`.
  template <class Use>
  static void run(std::size_t count, [[maybe_unused]] std::size_t in_flight, Use&& use) {
    for (std::size_t i = 0; i < count; ++i) use(i, std::size_t{0});
  }
};

/// Trains sentences by a Team of the host in the order of `Order`, with rows of R x Team::width
/// floats.
template <class Scheme, int R, class Team, class Order>
struct HostMethod {
  static constexpr int width = Team::width;
  using RowSizes = std::integer_sequence<int, R * width / 32>;
  static constexpr std::size_t min_words = 1, batch_words = Order::batch_words;

  static void check(const Sampling&, HostMachine::Device) {}
  static std::size_t run(const ModelView& model, const Sampling& sampling, const BatchView& batch,
                         std::size_t in_flight, HostMachine::Device, const HostMachine&) {
    std::vector<std::vector<float>> memory(
        in_flight, std::vector<float>(Scheme::floats_of_own(sampling, model.stride)));
    std::uint32_t count = batch.sentences;
    if constexpr (TrainsParts<Scheme>) count = Scheme::parts(sampling, batch);
    Order::run(count, in_flight, [&](std::size_t item, std::size_t place) {
      const auto i = static_cast<std::uint32_t>(item);
      const Sentence sentence = batch.sentence(TrainsParts<Scheme> ? 0 : i);
      const Team team;
      PairLoss loss;
      const SentenceTask<R, Team> task{team, model, sampling, sentence, memory[place].data(), loss};
      if constexpr (TrainsParts<Scheme>)
        Scheme::train_part(task, batch, i);
      else
        Scheme::train(task);
      batch.loss[0] += static_cast<double>(loss.sum);
      batch.loss[1] += static_cast<double>(loss.examples);
    });
    return in_flight;
  }
  template <int, class Use>
  static void with_launch(const Sampling&, Use use) {
    use(HostMethod());
  }
};

/// Such methods that train each batch one after the other.
template <class First, class... Others>
struct HostMethods : First {
  template <int, class Use>
  static void with_launch(const Sampling&, Use use) {
    use(InTurn<First, Others...>());
  }
};

/// A CudaKernel whose device is the host. It computes what a GPU would, slowly, to test a scheme
/// without a GPU. One thread; deterministic. `Samplers`: those that the scheme implements, as for
/// BatchKernel.
template <class Scheme, int R, class Team, class Order = OneByOne, class... Samplers>
using HostKernel = BatchKernel<HostMachine, HostMethod<Scheme, R, Team, Order>, Samplers...>;

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
