// How fast many cores would train, from what one and two of this machine do. The blocks that
// threads would train are replayed against a simple model of caches, see support/replay.hpp. Of its
// costs, `pair` is measured on random sentences of so few words that their rows are in the cache,
// `merge` on a few rows; `load` then follows from one thread, `transfer` from two that share all
// rows, and `far` from two whose cores share no cache, where a virtual machine moves between such
// cores and others. All else is predicted. Only the time counts in which other programs leave the
// cores alone, see support/quiet_slices.hpp.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/train/detail/merge_rows.hpp>
#include <wordloom/wordloom.hpp>

#include "support/arguments.hpp"
#include "support/demo_text.hpp"
#include "support/quiet_slices.hpp"
#include "support/replay.hpp"
#include "support/training.hpp"

using namespace wordloom;
using namespace wordloom::replay;

namespace {

/// Returns the MiB of a core's second-level cache, or 2 where the system does not tell.
double machine_cache() {
  const std::size_t bytes = detail::second_level_cache_bytes();
  return bytes == 0 ? 2 : static_cast<double>(bytes) / (1 << 20);
}

/// On which cores two threads are measured: any, or such that share a third-level cache, or not.
enum class Distance { any, near, far };

struct Arguments {
  Hyperparameters parameters{.dimension = 128, .subsample = 1e-4, .epochs = 1};
  std::vector<std::size_t> threads{2, 8, 32, 64, 128}, private_rows{0, 64, 512};
  std::size_t words = 20'000;
  double seconds = 10;
  double cache = machine_cache(), busy = 200, hidden = 400;  // MiB, ns, ns
  double quiet = 0.86;                                       // of the best speed of arithmetic
  double near = 0, far = 0;                                  // ns
  std::size_t group = 8;                                     // cores that are near each other
  std::string plot;

  std::vector<Distance> distances() const {
    if (far == 0) return {Distance::any};
    return {Distance::near, Distance::far};
  }
  QuietSlices::Condition condition(Distance distance, double fastest_arithmetic) const {
    QuietSlices::Condition result{.arithmetic = quiet * fastest_arithmetic};
    if (distance == Distance::near) result.farthest = near * 1e-9;
    if (distance == Distance::far) result.nearest = far * 1e-9;
    return result;
  }
  /// Returns the number of cores in a group. Two that are far from each other are two groups.
  std::size_t group_of(std::size_t all, Distance distance) const {
    if (distance != Distance::far) return all;
    return all == 2 ? 1 : group;
  }
};

/// Returns the number of rows that a core's second-level cache holds.
std::size_t cached_rows(const Arguments& given) {
  return static_cast<std::size_t>(given.cache * (1 << 20)) / (4 * given.parameters.dimension);
}

/// The speed of a trainer in several runs.
class Measurement {
 public:
  explicit Measurement(std::size_t threads) : threads_(threads), slices_(threads) {}

  template <class Sampler, class Kernel>
  void run(const TrainingInput& input, Hyperparameters parameters, std::size_t private_rows = 0) {
    parameters.threads = threads_;
    parameters.private_rows = private_rows;
    Trainer<Sampler, Kernel> trainer(parameters);
    slices_.run(input.corpus, [&](const auto& corpus) { trainer.fit(corpus, input.vocabulary); });
    fastest_run_ = std::max(fastest_run_, trainer.report().words_per_second);
    trained_ += trainer.report().seconds;
  }
  double trained() const { return trained_; }  // seconds

  double fastest_arithmetic() const { return slices_.fastest_arithmetic(); }
  void add_distances(std::vector<double>& seconds) const { slices_.add_distances(seconds); }

  /// Chooses the slices that count. Without any, the fastest run counts.
  void choose(const QuietSlices::Condition& condition) {
    speed_ = slices_.speed(condition);
    if (speed_.words == 0) speed_ = {fastest_run_, 0, speed_.slices};
  }
  bool has_slices() const { return speed_.counted > 0; }
  double seconds() const { return 1 / speed_.words; }  // of each word of the corpus

  std::string slices() const {
    if (!has_slices()) return "none, so the fastest run counts";
    return std::to_string(speed_.counted) + " of " + std::to_string(speed_.slices);
  }

 private:
  std::size_t threads_;
  QuietSlices slices_;
  double fastest_run_ = 0, trained_ = 0;
  QuietSlices::Speed speed_;
};

/// Returns the seconds of merging a private row that is in the cache.
double merge_seconds(std::size_t dimension) {
  constexpr std::size_t count = 16, rounds = 100, runs = 100;
  RowMatrix rows(3 * count, dimension), direction(1, dimension);
  const auto merge = simd::merge_function();
  double fastest = 1;
  for (std::size_t run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < 3 * count; i += 3)
        merge({rows.row_data(i), rows.row_data(i + 1), rows.row_data(i + 2)}, direction.row_data(0),
              1.0f, rows.stride());
    fastest = std::min(
        fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return fastest / (count * rounds);
}

/// The speeds of one trainer.
struct Measurements {
  Measurement in_cache{1}, one{1};
  std::vector<Measurement> two;  // with each number of private rows

  template <class Visit>
  void for_each(Visit visit) {
    visit(in_cache);
    visit(one);
    for (Measurement& measurement : two) visit(measurement);
  }
  /// Tells how far apart the cores were, so that --near and --far can be chosen.
  void print_distances(const std::string& name) {
    std::vector<double> seconds;
    for_each([&](const Measurement& m) { m.add_distances(seconds); });
    std::sort(seconds.begin(), seconds.end());
    std::cout << "\n`" << name << "`, ns to read a line of the other core, at 10, 20 ... 90 % of "
              << seconds.size() << " slices:" << std::fixed << std::setprecision(0);
    for (std::size_t i = 1; i < 10 && !seconds.empty(); ++i)
      std::cout << ' ' << seconds[i * seconds.size() / 10] * 1e9;
    std::cout << std::endl;
  }
  void choose(const Arguments& given, Distance distance) {
    double fastest = 0;
    for_each([&](const Measurement& m) { fastest = std::max(fastest, m.fastest_arithmetic()); });
    for_each([&](Measurement& m) { m.choose(given.condition(distance, fastest)); });
  }
  bool have_slices() {
    bool all = true;
    for_each([&](const Measurement& m) { all &= m.has_slices(); });
    return all;
  }
};

template <class Sampler, class Kernel>
Measurements measure(const TrainingInput& input, const TrainingInput& few, const Arguments& given,
                     const Hyperparameters& parameters) {
  Measurements all;
  for (std::size_t i = 0; i < given.private_rows.size(); ++i) all.two.emplace_back(2);
  Hyperparameters all_words = parameters;
  all_words.subsample = 0;
  // In alternation: what changes slowly, such as the clock, then changes for all of them.
  double min_trained = 0;
  do {
    const auto is_next = [&](const Measurement& m) { return m.trained() <= min_trained; };
    if (is_next(all.in_cache)) all.in_cache.template run<Sampler, Kernel>(few, all_words);
    if (is_next(all.one)) all.one.template run<Sampler, Kernel>(input, parameters);
    for (std::size_t i = 0; i < all.two.size(); ++i)
      if (is_next(all.two[i]))
        all.two[i].template run<Sampler, Kernel>(input, parameters, given.private_rows[i]);
    min_trained = all.one.trained();
    all.for_each([&](const Measurement& m) { min_trained = std::min(min_trained, m.trained()); });
  } while (min_trained < given.seconds);
  return all;
}

/// What a trainer costs, and what many threads of it would do at these costs.
template <class Sampler>
class Prediction {
 public:
  Prediction(const TrainingInput& input, const Arguments& given, const Hyperparameters& parameters)
      : input_(input), given_(given), parameters_(parameters) {
    costs_.merge = merge_seconds(parameters.dimension);
  }

  /// Finds the costs at which a replay takes as long as was measured. Those of far cores come after
  /// those of near ones.
  void fit(const Measurements& measured, const TrainingInput& few, Distance distance) {
    if (distance != Distance::far) {
      Hyperparameters all_words = parameters_;
      all_words.subsample = 0;
      all_words.threads = 1;
      costs_.pair = measured.in_cache.seconds() / replay(few, all_words, 1).pairs;
    }
    const Replayed alone = replay(1, 0, distance);
    costs_.load = std::max(0.0, (measured.one.seconds() - alone.pairs * costs_.pair) / alone.loads);
    double& cost = other_core(distance);
    cost = costs_.load;
    for (int i = 0; i < 3; ++i) {  // what threads do depends a little on their pace
      const Replayed shared = replay(2, 0, distance);
      cost = std::max(0.0, (2 * measured.two[0].seconds() - shared.pairs * costs_.pair -
                            shared.loads * costs_.load - shared.waited) /
                               (shared.transfers + shared.far));
    }
  }

  const Costs& costs() const { return costs_; }
  /// Returns the cost of a row that the other one of two cores used last.
  double& other_core(Distance distance) {
    return distance == Distance::far ? costs_.far : costs_.transfer;
  }

  /// Returns what threads do for each word.
  Replayed replay(std::size_t threads, std::size_t private_rows, Distance distance) const {
    Hyperparameters parameters = parameters_;
    parameters.threads = threads;
    parameters.private_rows = private_rows;
    return replay(input_, parameters, given_.group_of(threads, distance));
  }

 private:
  Replayed replay(const TrainingInput& input, const Hyperparameters& parameters,
                  std::size_t group) const {
    const Caches caches{static_cast<double>(cached_rows(given_)), given_.busy * 1e-9,
                        given_.hidden * 1e-9, group};
    return Replay<Sampler>(input, parameters, caches, costs_).run(given_.words);
  }

  const TrainingInput& input_;
  const Arguments& given_;
  const Hyperparameters parameters_;
  Costs costs_;
};

/// Speeds to draw.
struct Series {
  std::string trainer;
  std::size_t private_rows, group;                     // 0: all cores are near
  std::vector<std::pair<std::size_t, double>> speeds;  // of numbers of threads, words a second

  std::string title() const {
    return trainer + ", " + std::to_string(private_rows) + " private rows" +
           (group == 0 ? "" : ", groups of " + std::to_string(group) + " cores");
  }
};

void write_plot(const std::string& path, const std::vector<Series>& all) {
  std::ofstream file(path);
  file << "set terminal svg size 900,600 font 'sans,12' background 'white'\n"
          "set logscale x 2\nset logscale y\nset format y '%.0s%c'\nset grid\nset key left top\n"
          "set xlabel 'threads (1 and 2 measured, others predicted)'\nset ylabel 'words/s'\nplot ";
  for (const Series& series : all)
    file << "'-' with linespoints title '" << series.title() << "', ";
  file << "NaN notitle\n";
  for (const Series& series : all) {
    for (const auto& [threads, speed] : series.speeds) file << threads << ' ' << speed << '\n';
    file << "e\n";
  }
  if (!file.flush()) throw IoError("cannot write " + path);
}

template <class Sampler, class Kernel>
void predict(const std::string& name, const TrainingInput& input, const TrainingInput& few,
             const Arguments& given, const Hyperparameters& parameters, std::vector<Series>& plot) {
  Measurements measured = measure<Sampler, Kernel>(input, few, given, parameters);
  measured.print_distances(name);
  Prediction<Sampler> prediction(input, given, parameters);
  for (const Distance distance : given.distances()) {
    measured.choose(given, distance);
    const char* const cores = distance == Distance::near  ? ", near cores"
                              : distance == Distance::far ? ", far cores"
                                                          : "";
    if (distance != Distance::any && !measured.have_slices()) {
      std::cout << "\n`" << name << "`" << cores << ": too few quiet slices" << std::endl;
      break;  // the costs of far cores build on those of near ones
    }
    prediction.fit(measured, few, distance);
    const double one = measured.one.seconds();
    const Costs& costs = prediction.costs();
    std::cout << std::fixed << std::setprecision(2) << "\n`" << name << "`" << cores << ": "
              << costs.pair * 1e9 << " ns a pair, " << std::setprecision(1) << costs.load * 1e9
              << " ns for a row from the shared cache, " << prediction.other_core(distance) * 1e9
              << " ns from another core, " << costs.merge * 1e9 << " ns to merge one; one thread "
              << 1e-6 / one << " M words/s. Quiet slices of one thread: " << measured.one.slices()
              << "; with rows in the cache: " << measured.in_cache.slices() << ".\n\n"
              << "| private rows | threads | rows a word: loaded | transferred | from far | "
                 "waited, ns | predicted x one thread | measured | quiet slices |\n"
                 "|---|---|---|---|---|---|---|---|---|\n"
              << std::setprecision(2);
    const std::size_t stride = RowMatrix(1, parameters.dimension).stride();
    for (std::size_t i = 0; i < given.private_rows.size(); ++i) {
      const std::size_t copied = PrivateRows::usual_count(given.private_rows[i], stride);
      Series series{name, copied, distance == Distance::far ? given.group : 0, {{1, 1 / one}}};
      for (const std::size_t n : given.threads) {
        const Replayed result = prediction.replay(n, given.private_rows[i], distance);
        const double seconds = n == 2 ? measured.two[i].seconds() : result.seconds;
        // Two far cores are no part of a group.
        if (n != 2 || distance != Distance::far) series.speeds.emplace_back(n, 1 / seconds);
        std::cout << "| " << copied << " | " << n << " | " << result.loads << " | "
                  << result.transfers << " | " << result.far << " | " << result.waited * 1e9
                  << " | " << one / result.seconds << " | ";
        if (n == 2)
          std::cout << one / seconds << (i == 0 ? " (fitted)" : "") << " | "
                    << measured.two[i].slices();
        else
          std::cout << "- | -";
        std::cout << " |" << std::endl;
      }
      // The extremes; of far cores only what trainers do.
      if (i + 1 == given.private_rows.size() || (i == 0 && distance != Distance::far))
        plot.push_back(std::move(series));
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Speed of many threads, predicted from one and two");
  Arguments given;
  std::string corpus;
  app.add_option("--corpus", corpus, "Text to train on; default: the demo corpus");
  app.add_option("--threads", given.threads, "Numbers of threads to predict")
      ->check(CLI::Range(1, 65536));
  app.add_option("--private-rows", given.private_rows, "Rows that are copied; the first is 0");
  app.add_option("--seconds", given.seconds,
                 "Seconds of training to measure, for each trainer of one and two threads")
      ->check(CLI::Range(0.0, 1e5));
  app.add_option("--quiet", given.quiet,
                 "Slices of time count where arithmetic has this share of its best speed")
      ->check(CLI::Range(0.0, 1.0));
  const auto near = app.add_option(
      "--near", given.near,
      "ns to read a line of the other core up to which cores are near each other: near and far "
      "ones are then measured apart. Default: all are near");
  const auto far =
      app.add_option("--far", given.far, "The same from which on they are far: share no cache");
  near->needs(far);
  far->needs(near);
  app.add_option("--group", given.group, "Cores that are near each other, where others are far")
      ->check(CLI::Range(1, 65536));
  app.add_option("--plot", given.plot, "File for a script that gnuplot draws as SVG");
  app.add_option("--words", given.words, "Words of each thread to replay")
      ->check(CLI::Range(1, 1'000'000'000));
  app.add_option("--cache", given.cache,
                 "MiB of a core's second-level cache; default: as the system tells, or 2")
      ->check(CLI::Range(0.01, 1000.0));
  app.add_option("--busy", given.busy, "ns that a row travels between cores");
  app.add_option("--hidden", given.hidden, "ns of waiting that prefetching hides");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  }
  if (given.private_rows.empty() || given.private_rows[0] != 0)
    throw InvalidArgument("--private-rows must begin with 0: without copies, costs are fitted");
  const TrainingInput input = load_input(BenchmarkText(corpus, 200'000));
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  const std::size_t cached_words = std::clamp<std::size_t>(cached_rows(given) / 4, 100, 1000);
  for (std::size_t i = 0; i < cached_words; ++i)
    counts.emplace_back(std::string("w").append(std::to_string(i)), 1000);
  const auto few_words = Vocabulary::from_counts(counts);
  std::vector<std::vector<WordId>> sentences(2000, std::vector<WordId>(1000));
  Random random(1);
  for (auto& sentence : sentences)
    for (WordId& word : sentence) word = static_cast<WordId>(random.below(cached_words));
  const TrainingInput few{few_words, EncodedCorpus::from_sentences(sentences, few_words), {}};
  std::vector<Series> plot;
  predict<SharedNegative, FusedKernel>("shared+fused", input, few, given, given.parameters, plot);
  Hyperparameters grouped = given.parameters;
  grouped.learning_rate = 0.03;
  predict<GroupedWindow, FusedKernel>("grouped+fused", input, few, given, grouped, plot);
  predict<Hogwild, DotKernel>("hogwild+dot", input, few, given, given.parameters, plot);
  if (!given.plot.empty()) write_plot(given.plot, plot);
} catch (const std::exception& error) {
  std::cerr << "predict_threads: " << error.what() << '\n';
  return 1;
}
