#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/section_file.hpp>

namespace wordloom {

/// The state of a training run between two sentences of each thread of each rank: all that
/// `Trainer::resume` needs besides corpus and vocabulary.
///
/// File format (SectionWriter, "wordloom checkpoint 3"): the numbers of the run, the numbers of its
/// ranks, then the matrices. Older versions are refused.
struct Checkpoint {
  /// The position of a thread in its shard, and its work since its last report.
  struct Thread {
    std::uint64_t epoch = 0, sentences = 0;            // finished, sentences in this epoch
    std::uint64_t random_state = 0, random_gamma = 0;  // of its Random
    std::uint64_t tokens = 0, examples = 0;            // not reported yet, as is the loss
    double loss = 0;

    /// Calls `use` with all fields in the order of the file.
    template <class Self, class Use>
    static constexpr auto with_fields(Self& self, Use&& use) {
      return use(self.epoch, self.sentences, self.random_state, self.random_gamma, self.tokens,
                 self.examples, self.loss);
    }
  };

  /// The loss of an epoch, summed over its examples.
  struct EpochLoss {
    double loss = 0;
    std::uint64_t examples = 0;

    /// Calls `use` with all fields in the order of the file.
    template <class Self, class Use>
    static constexpr auto with_fields(Self& self, Use&& use) {
      return use(self.loss, self.examples);
    }
  };

  /// The progress of a rank.
  struct Rank {
    std::uint64_t tokens = 0;       // trained and reported, in all epochs
    std::vector<EpochLoss> losses;  // [epochs]
    std::vector<Thread> threads;

    /// Returns all fields as numbers; the same length for every rank of a run.
    std::vector<std::uint64_t> numbers() const {
      std::vector<std::uint64_t> all{tokens};
      const auto put = [&](const auto&... fields) {
        (all.push_back(std::bit_cast<std::uint64_t>(fields)), ...);
      };
      for (const EpochLoss& epoch : losses) EpochLoss::with_fields(epoch, put);
      for (const Thread& thread : threads) Thread::with_fields(thread, put);
      return all;
    }

    /// Returns the length of `numbers()`.
    static constexpr std::size_t size(std::size_t epochs, std::size_t threads) {
      constexpr auto count = [](const auto&... fields) { return sizeof...(fields); };
      const EpochLoss loss;
      const Thread thread;
      return 1 + epochs * EpochLoss::with_fields(loss, count) +
             threads * Thread::with_fields(thread, count);
    }

    /// Returns the rank that has given `all`, which are size(epochs, threads) numbers.
    static Rank from(std::span<const std::uint64_t> all, std::size_t epochs, std::size_t threads) {
      auto next = all.begin();
      const auto take = [&](auto&... fields) {
        ((fields = std::bit_cast<std::remove_reference_t<decltype(fields)>>(*next++)), ...);
      };
      Rank rank{*next++, std::vector<EpochLoss>(epochs), std::vector<Thread>(threads)};
      for (EpochLoss& epoch : rank.losses) EpochLoss::with_fields(epoch, take);
      for (Thread& thread : rank.threads) Thread::with_fields(thread, take);
      return rank;
    }
  };

  std::uint64_t method = 0;            // fingerprint of policies and hyperparameters
  std::uint64_t vocabulary = 0;        // Vocabulary::fingerprint()
  std::uint64_t corpus_tokens = 0;     // in one epoch
  std::uint64_t synchronisations = 0;  // completed by the ranks
  std::uint64_t sync_options = 0;      // fingerprint of how ranks synchronise
  std::vector<Rank> ranks;             // all of the same numbers of epochs and threads
  std::vector<NamedMatrix> matrices;   // Model::copy_of_matrices()

  /// Writes the checkpoint, whole or not at all. Throws IoError.
  void save(const std::filesystem::path& path) const {
    detail::SectionWriter file(path, format);
    Header header;
    header.rank_count = ranks.size();
    header.matrix_count = matrices.size();
    if (!ranks.empty()) {
      header.epochs = ranks[0].losses.size();
      header.threads = ranks[0].threads.size();
    }
    std::vector<std::uint64_t> numbers;
    with_numbers(*this, header, [&](const auto&... values) { (numbers.push_back(values), ...); });
    file.numbers(numbers);
    numbers.clear();
    for (const Rank& rank : ranks) {
      const auto of_rank = rank.numbers();
      numbers.insert(numbers.end(), of_rank.begin(), of_rank.end());
    }
    file.numbers(numbers);
    for (const auto& [name, matrix] : matrices) file.matrix(name, matrix);
    file.commit();
  }

  /// Reads a checkpoint. Throws IoError, and FormatError with the byte for a file that is cut
  /// short, damaged, of another version or no checkpoint.
  static Checkpoint load(const std::filesystem::path& path) {
    detail::SectionReader file(path, format);
    Checkpoint result;
    Header header;
    with_numbers(result, header, [&](auto&... values) {
      const auto numbers = file.numbers();
      if (numbers.size() != sizeof...(values))
        file.refuse_section(std::to_string(sizeof...(values)) + " numbers of a run",
                            std::to_string(numbers.size()));
      auto next = numbers.begin();
      ((values = *next++), ...);
    });
    const auto numbers = file.numbers();
    const auto [rank_count, epochs, threads, matrix_count] = header;
    const std::size_t count = numbers.size();
    if (rank_count == 0 || rank_count > count || epochs > count || threads > count ||
        count % rank_count != 0 || count / rank_count != Rank::size(epochs, threads))
      file.refuse_section("the numbers of " + std::to_string(rank_count) + " ranks of " +
                              std::to_string(epochs) + " epochs and " + std::to_string(threads) +
                              " threads",
                          std::to_string(count) + " numbers");
    const std::size_t size = Rank::size(epochs, threads);
    for (std::size_t rank = 0; rank < rank_count; ++rank)
      result.ranks.push_back(
          Rank::from(std::span(numbers).subspan(rank * size, size), epochs, threads));
    for (std::uint64_t i = 0; i < matrix_count; ++i) result.matrices.push_back(file.matrix());
    file.end();
    return result;
  }

 private:
  static constexpr detail::SectionFormat format{"wordloom checkpoint", 3};

  /// The sizes of what follows the numbers of the run.
  struct Header {
    std::uint64_t rank_count = 0, epochs = 0, threads = 0, matrix_count = 0;
  };

  /// Calls `use` with the numbers of the run in the order of the file.
  template <class Self, class Sizes, class Use>
  static void with_numbers(Self& self, Sizes& header, Use&& use) {
    use(self.method, self.vocabulary, self.corpus_tokens, self.synchronisations, self.sync_options,
        header.rank_count, header.epochs, header.threads, header.matrix_count);
  }
};

}  // namespace wordloom
