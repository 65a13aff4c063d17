#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <wordloom/core/detail/hash.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parameters.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Collects policies and their parameters: a hash of all, and a line for each, by which an error
/// can say what differs between two runs. The code is out of line: one copy for all policies.
class MethodRecord {
 public:
  void add_policy(std::string_view name);
  void add(std::string_view name, std::uint64_t value);
  void add(std::string_view name, double value);

  const Hash& hash() const noexcept { return hash_; }
  /// Returns "SharedNegative\nwindow 5\n...".
  const std::string& lines() const noexcept { return lines_; }

 private:
  Hash hash_;
  std::string lines_;
};

template <class Policy>
void add_parameters(MethodRecord& method, const Policy& policy) {
  static_assert(ListsParameters<Policy> || std::is_empty_v<Policy>,
                "wordloom: this policy holds values and lacks visit_parameters(visit), by which "
                "ranks and checkpoints tell it from others");
  if constexpr (ListsParameters<Policy>)
    policy.visit_parameters([&](std::string_view name, auto value, auto, auto) {
      if constexpr (std::is_floating_point_v<decltype(value)>)
        method.add(name, static_cast<double>(value));
      else
        method.add(name, static_cast<std::uint64_t>(value));
    });
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail

namespace wordloom { inline namespace WORDLOOM_ABI {

/// The parameters of a training run, in word2vec's terms; policies take theirs from here (`from`)
/// unless the trainer is given policies with values of their own. The defaults are those of
/// word2vec's skip-gram with negative sampling. Use designated initialisers:
/// `{.dimension = 128, .epochs = 3}`.
struct Hyperparameters {
  /// Floats in a vector (D), 1 to 65536.
  std::size_t dimension = 100;
  /// Maximum number of context words on each side of the centre; 1 to 1000.
  std::size_t window = 5;
  /// Takes all these words. Otherwise their number is random for each centre, uniform from 1 to
  /// `window`, as in word2vec.
  bool fixed_window = false;
  /// Negative words drawn for a positive one (or for a window, with shared negatives); 0 to 1000.
  /// 0 only with samplers that draw none (hierarchical softmax).
  std::size_t negatives = 5;
  /// Words that SentenceMinibatch, CombinedContext, GroupedWindow and GroupedCbow train together,
  /// or windows of IndexedContext, up to 1000. 0: the sampler's default.
  std::size_t minibatch = 0;
  /// Negatives that such a minibatch shares, up to 10000; gradients are weighted so that each word
  /// is repelled as often as by `negatives` for each pair. 0: the sampler's default.
  std::size_t shared_negatives = 0;
  /// Threshold t of subsampling, a share of the corpus in [0, 1]: words more frequent than t are
  /// dropped at random (Mikolov et al. 2013b, section 2.3, in word2vec's form). 0 keeps all.
  double subsample = 1e-3;
  /// Learning rate at the start, above 0 and at most 10; the schedule lowers it.
  double learning_rate = 0.025;
  /// Passes over the corpus, 1 to 1000000.
  std::size_t epochs = 5;
  /// Training threads, up to 65536; 0: all processors of the machine. With a kernel on a GPU: the
  /// threads that read a corpus that splits (see Corpus), which change no result.
  std::size_t threads = 0;
  /// Number of the most frequent rows of each matrix that each thread copies: up to 65536, and no
  /// more than half of a core's second-level cache holds. Threads merge their copies every few
  /// hundred pairs, and rarely wait for each other's cache lines. One thread needs no copies, and
  /// several ranks have none if they have more than 11 threads together: copies would be merged too
  /// late. 0: all threads train the same rows, as in word2vec (Hogwild).
  std::size_t private_rows = 512;
  /// Pins each training thread to a processor of its own, of those that the calling thread may use;
  /// one of each core before the second ones. Use it on a machine that runs nothing else. Training
  /// throws InvalidArgument on systems other than Linux.
  bool pin_threads = false;
  /// Seed of every random stream. One thread and one seed give bit-identical runs.
  std::uint64_t seed = 1;
  /// Negatives are drawn in proportion to count^negative_exponent (Mikolov et al. 2013b: 0.75);
  /// -10 to 10.
  double negative_exponent = 0.75;
  /// Number of drawn negatives that each thread keeps and picks from, so that their rows stay in
  /// the cache; up to 2^20. Each is picked 8 times on average, then another replaces it: negatives
  /// have the same distribution. There is no such pool for vocabularies of less than 128 times as
  /// many words, for Hogwild, for kernels on a device and for samplers of columns and edges. 0:
  /// each negative is drawn anew, as in word2vec. See NegativePool.
  std::size_t negative_pool = 2048;
  /// Threshold of the subsampling of inner nodes of the Huffman tree, a share of all words in
  /// [0, 1]; 0 keeps all nodes, as word2vec does. See HuffmanPath.
  double node_sample = 1e-3;
  /// The GPU of kernels on a device, counted from 0; up to 1023.
  std::size_t device = 0;
  /// Sentences that such a kernel trains at a time, up to 2^20. More sentences use the device
  /// better; with fewer, fewer updates overwrite each other. 0: chosen from the sizes of corpus,
  /// vocabulary and device.
  std::size_t sentences_in_flight = 0;

  /// Lists the parameters that must be equal where several ranks train one model: all except
  /// `threads`, `private_rows`, `pin_threads` and `device`.
  template <class Visit>
  void visit_parameters(Visit&& visit) const {
    visit("dimension", dimension, 1, 65536);
    visit("window", window, 1, 1000);
    visit("fixed_window", static_cast<std::uint64_t>(fixed_window), 0, 1);
    visit("negatives", negatives, 0, 1000);
    visit("minibatch", minibatch, 0, 1000);
    visit("shared_negatives", shared_negatives, 0, 10'000);
    visit("epochs", epochs, 1, 1'000'000);
    visit("sentences_in_flight", sentences_in_flight, 0, 1 << 20);
    visit("seed", seed, std::uint64_t{0}, ~std::uint64_t{0});
    visit("subsample", subsample, 0.0, 1.0);
    visit("learning_rate", learning_rate, 0.0, 10.0);
    visit("negative_exponent", negative_exponent, -10.0, 10.0);
    visit("negative_pool", negative_pool, 0, 1 << 20);
    visit("node_sample", node_sample, 0.0, 1.0);
  }

  /// Throws InvalidArgument that names the first field out of bounds, its value and the bounds.
  void validate() const;

  /// Returns these with the fixed windows of FULL-W2V (Randall et al. 2021): ceil(window / 2) words
  /// on each side, the mean number of random windows rounded up. A window that is fixed already
  /// stays as it is.
  constexpr Hyperparameters with_fixed_window() const {
    Hyperparameters result = *this;
    if (!fixed_window) result.window = (window + 1) / 2;
    result.fixed_window = true;
    return result;
  }

  /// Returns these without our own additions, which published systems lack: private rows (other
  /// than these), a pool of negatives and subsampling of inner nodes. See Published (systems.hpp).
  constexpr Hyperparameters as_published(std::size_t its_private_rows = 0) const {
    Hyperparameters result = *this;
    result.private_rows = its_private_rows;
    result.negative_pool = 0;
    result.node_sample = 0;
    return result;
  }

  /// Sets the field of this name, for hosts of other languages and files of settings:
  /// `set("window", "8")`, `set("fixed_window", "true")`. Returns false if there is no such field.
  /// Throws InvalidArgument for a text that is not a value of the field's type; bounds are checked
  /// by `validate`.
  bool set(std::string_view name, std::string_view value);
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void detail::MethodRecord::add_policy(std::string_view name) {
  hash_.add(name);
  lines_ += joined({name, "\n"});
}
WORDLOOM_FUNCTION void detail::MethodRecord::add(std::string_view name, std::uint64_t value) {
  hash_.add(value);
  lines_ += joined({name, " ", value, "\n"});
}
WORDLOOM_FUNCTION void detail::MethodRecord::add(std::string_view name, double value) {
  hash_.add(std::bit_cast<std::uint64_t>(value));
  lines_ += joined({name, " ", value, "\n"});
}

WORDLOOM_FUNCTION void Hyperparameters::validate() const {
  if (!(learning_rate > 0) || learning_rate > 10)
    throw InvalidArgument{"learning_rate is ", learning_rate, ", must be above 0 and at most 10"};
  validate_parameters(*this);
  check_parameter("threads", threads, 0, 65536);
  check_parameter("private_rows", private_rows, 0, 65536);
  check_parameter("device", device, 0, 1023);
}

WORDLOOM_FUNCTION bool Hyperparameters::set(std::string_view name, std::string_view value) {
  const auto is = [&](std::string_view field, auto& place) {
    if (name == field) detail::parse_parameter(name, value, place);
    return name == field;
  };
  return is("dimension", dimension) || is("window", window) || is("fixed_window", fixed_window) ||
         is("negatives", negatives) || is("minibatch", minibatch) ||
         is("shared_negatives", shared_negatives) || is("subsample", subsample) ||
         is("learning_rate", learning_rate) || is("epochs", epochs) || is("threads", threads) ||
         is("private_rows", private_rows) || is("pin_threads", pin_threads) || is("seed", seed) ||
         is("negative_exponent", negative_exponent) || is("negative_pool", negative_pool) ||
         is("node_sample", node_sample) || is("device", device) ||
         is("sentences_in_flight", sentences_in_flight);
}

#endif

}}  // namespace wordloom::WORDLOOM_ABI
