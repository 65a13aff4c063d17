#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/train/checkpoint.hpp>

namespace wordloom::detail {

/// The checkpoint in `path`; its matrices become the model's. Throws IoError, FormatError, and
/// InvalidArgument when it is not of the run that `expected` is of, with as many ranks and threads,
/// or of a model of another shape.
inline Checkpoint load_checkpoint(const std::filesystem::path& path, const Checkpoint& expected,
                                  Model& model) {
  Checkpoint loaded = Checkpoint::load(path);
  const auto require = [&](const char* what, std::uint64_t got, std::uint64_t wanted) {
    if (got != wanted)
      throw InvalidArgument("'" + path.string() + "' is of another " + what + ": " +
                            std::to_string(got) + ", not " + std::to_string(wanted));
  };
  require("method or set of hyperparameters (fingerprint)", loaded.method, expected.method);
  require("vocabulary (fingerprint)", loaded.vocabulary, expected.vocabulary);
  require("corpus (words)", loaded.corpus_tokens, expected.corpus_tokens);
  require("number of ranks", loaded.ranks.size(), expected.ranks.size());
  const Checkpoint::Rank &first = loaded.ranks[0], &wanted = expected.ranks[0];
  require("number of threads", first.threads.size(), wanted.threads.size());
  require("number of epochs", first.losses.size(), wanted.losses.size());
  require("way to synchronise (fingerprint)", loaded.sync_options, expected.sync_options);
  require("number of rows", loaded.input.rows(), model.rows());
  require("dimension", loaded.input.columns(), model.dimension());
  model.input = std::move(loaded.input);
  model.output = std::move(loaded.output);
  return loaded;
}

/// What rank 0 has loaded, told to all: all ranks call it, and the others' `checkpoint` is of the
/// same shape.
template <class Sync>
void tell_ranks(Sync& sync, Checkpoint& checkpoint) {
  const auto of_first = [&](std::uint64_t number) { return sync.gather(number)[0]; };
  for (Checkpoint::Rank& rank : checkpoint.ranks) {
    auto numbers = rank.numbers();
    for (std::uint64_t& number : numbers) number = of_first(number);
    rank = Checkpoint::Rank::from(numbers, rank.losses.size(), rank.threads.size());
  }
  checkpoint.synchronisations = of_first(checkpoint.synchronisations);
}

/// Where all ranks are: all call it.
template <class Sync>
std::vector<Checkpoint::Rank> gather_ranks(Sync& sync, const Checkpoint::Rank& own) {
  std::vector<std::vector<std::uint64_t>> numbers(sync.size());
  for (const std::uint64_t number : own.numbers()) {
    const auto all = sync.gather(number);
    for (std::size_t rank = 0; rank < all.size(); ++rank) numbers[rank].push_back(all[rank]);
  }
  std::vector<Checkpoint::Rank> ranks;
  for (const auto& of_rank : numbers)
    ranks.push_back(Checkpoint::Rank::from(of_rank, own.losses.size(), own.threads.size()));
  return ranks;
}

}  // namespace wordloom::detail
