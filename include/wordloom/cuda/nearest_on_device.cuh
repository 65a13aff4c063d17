#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/cuda/detail/batch_run.hpp>
#include <wordloom/cuda/detail/cublas.cuh>
#include <wordloom/cuda/detail/machine.cuh>
#include <wordloom/cuda/detail/runtime.cuh>
#include <wordloom/cuda/detail/select_nearest.hpp>
#include <wordloom/model/embeddings.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace cuda {

/// Answers Embeddings::most_similar_each for many words on a GPU: the cosines of a batch of words
/// with all others are a product of matrices by cuBLAS, from which a warp for each word selects the
/// best. The unit vectors [V x D] stay on the device, and up to 256 MiB for a batch. Scores differ
/// from those of the host by rounding, so that rows whose scores hardly differ may change places;
/// every run on one kind of device gives the same answers. Not thread-safe.
class NearestOnDevice {
 public:
  static constexpr std::size_t max_neighbours = SelectNearest::max_count;

  /// Copies the vectors to a device, counted from 0. Throws DeviceError if there is no such device
  /// or they do not fit.
  explicit NearestOnDevice(Embeddings embeddings, std::size_t device = 0)
      : device_(chosen(device)), embeddings_(std::move(embeddings)), cublas_(machine_.stream) {
    std::vector<float> unit;
    unit.reserve(embeddings_.size() * embeddings_.dimension());
    for (std::size_t i = 0; i < embeddings_.size(); ++i) append_unit(static_cast<WordId>(i), unit);
    rows_ = DeviceArray<float>(unit.size(), "the vectors");
    machine_.copy(rows_.data(), unit.data(), unit.size());
  }
  ~NearestOnDevice() { machine_.settle(); }

  const Embeddings& embeddings() const& noexcept { return embeddings_; }
  void embeddings() const&& = delete;

  /// Returns the k words nearest to each of many by cosine, best first, without the word itself.
  /// `options.threads` has no effect. Throws UnknownWord, InvalidArgument for more than 128
  /// neighbours, and DeviceError.
  template <class Words>
  requires WordRange<const Words&>
  [[nodiscard]] std::vector<std::vector<Neighbour>> most_similar_each(const Words& words,
                                                                      std::size_t k = 10,
                                                                      QueryOptions options = {}) {
    check_parameter("number of neighbours on a device", k, std::size_t{0}, max_neighbours);
    std::vector<WordId> ids;
    for (const auto& word : words) ids.push_back(embeddings_.words().at(word));
    std::size_t rows = embeddings_.size();
    if (options.restrict_vocabulary != 0) rows = (std::min)(rows, options.restrict_vocabulary);
    std::vector<std::vector<Neighbour>> result;
    if (k == 0) result.resize(ids.size());
    constexpr std::size_t max_scores = std::size_t{1} << 26, max_queries = 1024;
    const std::size_t at_once = std::clamp<std::size_t>(max_scores / rows, 1, max_queries);
    for (std::size_t i = 0; i < ids.size() && k > 0; i += at_once)
      search({ids.begin() + static_cast<std::ptrdiff_t>(i),
              ids.begin() + static_cast<std::ptrdiff_t>((std::min)(ids.size(), i + at_once))},
             k, rows, result);
    return result;
  }

 private:
  static std::size_t chosen(std::size_t device) {
    use_device(static_cast<int>(device));
    return device;
  }

  void append_unit(WordId id, std::vector<float>& to) const {
    const float scale = embeddings_.inverse_lengths()[id];
    for (const float x : embeddings_[id]) to.push_back(x * scale);
  }

  void search(const std::vector<WordId>& ids, std::size_t k, std::size_t rows,
              std::vector<std::vector<Neighbour>>& result) {
    machine_.make_current();
    const std::size_t count = ids.size(), dimension = embeddings_.dimension();
    std::vector<float> unit;
    for (const WordId id : ids) append_unit(id, unit);
    grow(queries_, unit.size());
    grow(ids_, count);
    grow(scores_, count * rows);
    grow(best_scores_, count * k);
    grow(best_rows_, count * k);
    machine_.begin_copy(queries_.data(), unit.data(), unit.size());
    machine_.begin_copy(ids_.data(), ids.data(), count);
    cublas_.multiply({queries_.data()}, {rows_.data(), true}, 0, scores_.data(), count, dimension,
                     rows);
    machine_.run(count, SelectNearest{scores_.data(), ids_.data(), static_cast<std::uint32_t>(rows),
                                      static_cast<std::uint32_t>(k), best_scores_.data(),
                                      best_rows_.data()});
    std::vector<float> scores(count * k);
    std::vector<WordId> found(count * k);
    machine_.begin_copy(scores.data(), best_scores_.data(), scores.size());
    machine_.begin_copy(found.data(), best_rows_.data(), found.size());
    machine_.wait();
    for (std::size_t q = 0; q < count; ++q) {
      std::vector<detail::NearestRow> best;
      for (std::size_t i = q * k; i < (q + 1) * k; ++i)
        if (found[i] < rows) best.push_back({found[i], scores[i]});
      std::ranges::sort(best, [](const auto& a, const auto& b) { return a < b; });
      auto& named = result.emplace_back();
      for (const auto& [row, score] : best)
        named.push_back({std::string(embeddings_.word(row)), score});
    }
  }

  std::size_t device_;
  Embeddings embeddings_;
  CudaMachine::Queue machine_;
  Cublas cublas_;
  DeviceArray<float> rows_;  // [V x D] unit vectors
  DeviceArray<float> queries_, scores_, best_scores_;
  DeviceArray<WordId> ids_, best_rows_;
};

}}}  // namespace wordloom::WORDLOOM_ABI::cuda
