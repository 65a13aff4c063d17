// A host application: data of its own that is read once, progress in a log that belongs to the main
// thread, cancellation by Ctrl-C or after a time limit, queries.
// Usage: host_application BASKETS SECONDS NAME, where a line of BASKETS has names separated by ';'
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <span>
#include <sstream>
#include <thread>
#include <wordloom/wordloom.hpp>

using namespace wordloom;

namespace {

using Clock = std::chrono::steady_clock;
using Basket = std::span<const std::string>;
std::atomic<bool> cancelled = false;  // set by a signal or by any thread of the host

class Log {
 public:
  template <class... Parts>
  void write(const Parts&... parts) {
    if (std::this_thread::get_id() != owner_) throw std::logic_error("the log has one thread");
    (std::clog << ... << parts) << '\n';
  }

 private:
  std::thread::id owner_ = std::this_thread::get_id();
};

/// Returns a generator of baskets, as a cursor of a database has them: they are read once.
auto baskets(std::istream& file) {
  return SentenceRange([&file] {
    return [&file, names = std::vector<std::string>()]() mutable -> std::optional<Basket> {
      std::string line, name;
      if (cancelled) throw std::runtime_error("cancelled while reading");
      if (!std::getline(file, line)) return std::nullopt;
      names.clear();
      for (std::istringstream rest(line); std::getline(rest, name, ';');) names.push_back(name);
      return names;
    };
  });
}

struct Monitor {
  Log& log;
  Clock::time_point deadline;

  auto interval() const { return std::chrono::milliseconds(50); }
  bool on_progress(const Progress& now) {
    log.write(100 * now.fraction(), " %, ", now.eta_seconds, " s left");
    return !cancelled && Clock::now() < deadline;
  }
  void on_epoch(const Progress& now) { log.write("loss ", now.mean_loss); }
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) throw InvalidArgument("usage: host_application BASKETS SECONDS NAME");
  std::signal(SIGINT, [](int) { cancelled = true; });
  std::ifstream file(argv[1]);
  if (!file) throw IoError(std::string("cannot open ") + argv[1]);
  const auto deadline = Clock::now() + std::chrono::seconds(std::stoi(argv[2]));
  const auto [vocabulary, corpus] = EncodedCorpus::encode(baskets(file), {.min_count = 5});
  Log log;
  DefaultTrainer trainer{{.dimension = 64, .epochs = 10, .threads = 2}};
  trainer.add(OnCallingThread(Monitor{log, deadline}));
  const Embeddings items = trainer.fit(corpus, vocabulary);
  log.write(trainer.report().stopped ? "cancelled" : "trained");
  for (const auto& [name, score] : items.most_similar(argv[3], 5)) log.write(name, ' ', score);
} catch (const std::exception& error) {
  std::cerr << "host_application: " << error.what() << '\n';
  return 1;
}
