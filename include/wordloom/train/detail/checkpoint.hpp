#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/hyperparameters.hpp>
#include <wordloom/core/row_matrix.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Returns the name of a type without namespaces and spaces.
std::string without_namespaces(std::string_view type);

/// Returns the compiler's name of a type, without namespaces and spaces. (`auto`: GCC adds the
/// alias of std::string to a function's name.)
template <class T>
auto pretty_name() {
  constexpr std::string_view function = __PRETTY_FUNCTION__;
  constexpr std::size_t begin = function.find("T = ") + 4;
  return without_namespaces(function.substr(begin, function.size() - 1 - begin));
}

template <class T>
struct NameOf {
  static auto get() { return pretty_name<T>(); }
};
/// The name includes all arguments: compilers differ in the default ones that they leave out.
template <template <class...> class Policy, class... Arguments>
struct NameOf<Policy<Arguments...>> {
  static auto get() {
    std::string name = pretty_name<Policy<Arguments...>>();
    name.resize((std::min)(name.find('<'), name.size()));
    const char* before = "<";
    ((name += before, name += NameOf<Arguments>::get(), before = ","), ...);
    return name + '>';
  }
};

/// Returns the name of a policy, equal with GCC and Clang.
template <class T>
std::string name_of() {
  return NameOf<T>::get();
}

/// Hyperparameters, and policies and their parameters: a fingerprint, and a line for each.
struct RunMethod {
  std::uint64_t fingerprint = 0;
  std::string lines = {};  // "window 5\n..."; empty in files of version 5
};

template <class... Policies>
RunMethod method_of(const Hyperparameters& parameters, const Policies&... policies) {
  MethodRecord record;
  add_parameters(record, parameters);
  (record.add_policy(name_of<Policies>()), ...);
  (add_parameters(record, policies), ...);
  return {record.hash().value(), record.lines()};
}

/// The state of a training run between two sentences of each thread of each rank: all that
/// `Trainer::resume` needs besides corpus and vocabulary.
///
/// File format (SectionWriter, "wordloom checkpoint 6"): the numbers of the run, the lines of its
/// method, the numbers of its ranks, then the matrices. Version 5 has no lines; older ones are
/// refused.
struct Checkpoint {
  /// The position of a thread in its shard, and its work since its last report.
  struct Thread {
    std::uint64_t epoch = 0, sentences = 0;            // finished, sentences in this epoch
    std::uint64_t random_state = 0, random_gamma = 0;  // of its Random
    std::uint64_t picks = 0;                           // of its NegativePool, in this epoch
    std::uint64_t tokens = 0, examples = 0;            // not reported yet, as is the loss
    double loss = 0;
  };

  /// The loss of an epoch, summed over its examples.
  struct EpochLoss {
    double loss = 0;
    std::uint64_t examples = 0;

    void add(double more, std::uint64_t more_examples) {
      loss += more;
      examples += more_examples;
    }
    /// Returns NaN for no examples.
    double mean() const {
      return examples == 0 ? std::numeric_limits<double>::quiet_NaN()
                           : loss / static_cast<double>(examples);
    }
  };

  /// The progress of a rank.
  struct Rank {
    std::uint64_t tokens = 0;       // trained and reported, in all epochs
    std::vector<EpochLoss> losses;  // [epochs]
    std::vector<Thread> threads;

    /// Returns all fields as numbers, in their order; equally many for every rank of a run.
    std::vector<std::uint64_t> numbers() const;

    /// Returns the length of `numbers()`.
    static constexpr std::size_t size(std::size_t epochs, std::size_t threads) {
      return 1 + epochs * (sizeof(EpochLoss) / 8) + threads * (sizeof(Thread) / 8);
    }
  };

  RunMethod method = {};
  std::uint64_t vocabulary = 0;            // Vocabulary::fingerprint()
  std::uint64_t corpus = 0;                // its fingerprint(); 0: without one
  std::uint64_t corpus_tokens = 0;         // in one epoch
  std::uint64_t synchronisations = 0;      // completed by the ranks
  std::uint64_t sync_options = 0;          // fingerprint of the way ranks synchronise
  std::vector<Rank> ranks = {};            // all of the same numbers of epochs and threads
  std::vector<NamedMatrix> matrices = {};  // Model::copy_of_matrices()
  double resharded_at = -1;                // see ReshardedRun; not in the file

  /// Returns the numbers of all ranks, one rank after the other.
  std::vector<std::uint64_t> positions() const;

  /// Sets the ranks from their `positions`, of which each has Rank::size(epochs, threads).
  void set_positions(std::span<const std::uint64_t> positions, std::size_t epochs,
                     std::size_t threads);

  /// Writes the checkpoint, whole or not at all. Throws IoError.
  void save(const std::filesystem::path& path) const;

  /// Reads a checkpoint. Throws IoError, and FormatError with the byte for a file that is cut
  /// short, damaged, of another version or not a checkpoint.
  static Checkpoint load(const std::filesystem::path& path);
  /// Reads the numbers of ranks and of threads of each. Throws likewise, without reading all.
  static std::pair<std::uint64_t, std::uint64_t> load_team(const std::filesystem::path& path);

  /// Throws InvalidArgument unless this checkpoint, read from `path`, belongs to the same run as
  /// `expected`, with as many epochs. Ranks and threads may differ; the fingerprint of a corpus of
  /// which each rank holds a part (`in_parts`) then differs too.
  void require_run(const Checkpoint& expected, const std::filesystem::path& path,
                   bool in_parts) const;

  bool has_team_of(const Checkpoint& other) const {
    return ranks.size() == other.ranks.size() &&
           ranks[0].threads.size() == other.ranks[0].threads.size();
  }

 private:
  static constexpr std::string_view format = "wordloom checkpoint 6";
  static constexpr std::string_view format_without_lines = "wordloom checkpoint 5";
  static bool has_lines(const InputFile& file) {
    return !file.text().starts_with(joined({format_without_lines, "\n"}));
  }
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::string without_namespaces(std::string_view type) {
  std::string name;
  for (const char c : type) {
    if (c != ' ') name += c;
    if (name.ends_with("::")) name.resize(name.find_last_of("<,") + 1);
  }
  return name;
}

WORDLOOM_FUNCTION std::vector<std::uint64_t> Checkpoint::Rank::numbers() const {
  std::vector<std::uint64_t> all{tokens};
  const auto put = [&](const auto& items) {
    for (const auto& item : items) {
      const auto fields = std::bit_cast<std::array<std::uint64_t, sizeof(item) / 8>>(item);
      all.insert(all.end(), fields.begin(), fields.end());
    }
  };
  put(losses);
  put(threads);
  return all;
}

WORDLOOM_FUNCTION std::vector<std::uint64_t> Checkpoint::positions() const {
  std::vector<std::uint64_t> all;
  for (const Rank& rank : ranks) {
    const auto numbers = rank.numbers();
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

WORDLOOM_FUNCTION void Checkpoint::set_positions(std::span<const std::uint64_t> positions,
                                                 std::size_t epochs, std::size_t threads) {
  auto next = positions.begin();
  const auto take = [&](auto& items) {
    for (auto& item : items) {
      std::array<std::uint64_t, sizeof(item) / 8> fields;
      for (std::uint64_t& field : fields) field = *next++;
      item = std::bit_cast<std::remove_reference_t<decltype(item)>>(fields);
    }
  };
  ranks.clear();
  while (next != positions.end()) {
    Rank& rank = ranks.emplace_back(
        Rank{*next++, std::vector<EpochLoss>(epochs), std::vector<Thread>(threads)});
    take(rank.losses);
    take(rank.threads);
  }
}

WORDLOOM_FUNCTION void Checkpoint::save(const std::filesystem::path& path) const {
  SectionWriter file(path, format);
  const Rank first = ranks.empty() ? Rank() : ranks[0];
  file.numbers(std::array<std::uint64_t, 10>{
      method.fingerprint, vocabulary, corpus, corpus_tokens, synchronisations, sync_options,
      ranks.size(), first.losses.size(), first.threads.size(), matrices.size()});
  file.text(method.lines);
  file.numbers(positions());
  for (const auto& [name, matrix] : matrices) file.matrix(name, matrix);
  file.commit();
}

WORDLOOM_FUNCTION Checkpoint Checkpoint::load(const std::filesystem::path& path) {
  const InputFile input(path);
  SectionReader file(input, has_lines(input) ? format : format_without_lines);
  const auto run = file.numbers();
  if (run.size() != 10) file.refuse_section("10 numbers of a run", std::to_string(run.size()));
  Checkpoint result{{run[0]}, run[1], run[2], run[3], run[4], run[5], {}, {}};
  if (has_lines(input)) result.method.lines = file.text();
  const std::uint64_t rank_count = run[6], epochs = run[7], threads = run[8];
  const auto positions = file.numbers();
  const std::size_t count = positions.size();
  if (rank_count == 0 || rank_count > count || epochs > count || threads > count ||
      count % rank_count != 0 || count / rank_count != Rank::size(epochs, threads))
    file.refuse_section(joined({"the numbers of ", rank_count, " ranks of ", epochs, " epochs and ",
                                threads, " threads"}),
                        joined({count, " numbers"}));
  result.set_positions(positions, epochs, threads);
  for (std::uint64_t i = 0; i < run[9]; ++i) result.matrices.push_back(file.matrix());
  file.end();
  return result;
}

WORDLOOM_FUNCTION std::pair<std::uint64_t, std::uint64_t> Checkpoint::load_team(
    const std::filesystem::path& path) {
  const InputFile input(path);
  SectionReader file(input, has_lines(input) ? format : format_without_lines);
  const auto run = file.numbers();
  if (run.size() != 10) file.refuse_section("10 numbers of a run", std::to_string(run.size()));
  return {run[6], run[8]};
}

/// Returns where two texts of lines `name value` differ, as "name value, not name value; ...": up
/// to the first lines of different names, after which the lines do not belong together.
inline std::string differences(std::string_view left, std::string_view right) {
  std::string all;
  const auto take_line = [](std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix((std::min)(line.size() + 1, text.size()));
    return line;
  };
  const auto name_of = [](std::string_view line) { return line.substr(0, line.find(' ')); };
  while (!left.empty() && !right.empty()) {
    const std::string_view a = take_line(left), b = take_line(right);
    if (a == b) continue;
    all += joined({all.empty() ? "" : "; ", a, ", not ", b});
    if (name_of(a) != name_of(b)) break;
  }
  return all;
}

WORDLOOM_FUNCTION void Checkpoint::require_run(const Checkpoint& expected,
                                               const std::filesystem::path& path,
                                               bool in_parts) const {
  const auto refuse = [&](std::string_view what, const std::string& how) {
    throw InvalidArgument{"'",
                          path,
                          "' was written with another ",
                          what,
                          ": ",
                          how,
                          "; resume with the original one, or train from the start"};
  };
  const auto require_equal = [&](std::string_view what, std::uint64_t got, std::uint64_t wanted) {
    if (got != wanted) refuse(what, joined({got, ", not ", wanted}));
  };
  if (method.fingerprint != expected.method.fingerprint) {
    constexpr std::string_view what = "method or set of hyperparameters";
    if (const auto how = differences(method.lines, expected.method.lines); !how.empty())
      refuse(what, how);
    require_equal(joined({what, " (fingerprint)"}), method.fingerprint,
                  expected.method.fingerprint);
  }
  require_equal("vocabulary (fingerprint)", vocabulary, expected.vocabulary);
  if (!in_parts || ranks.size() == expected.ranks.size())
    require_equal("corpus, or other options that make its sentences (fingerprint)", corpus,
                  expected.corpus);
  require_equal("corpus (words)", corpus_tokens, expected.corpus_tokens);
  require_equal("number of epochs", ranks[0].losses.size(), expected.ranks[0].losses.size());
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
