// Measures questions per second and recall: exact, by 1, 10 and 1000 questions at a time, and with
// hnswlib also by an index. Prints seconds of the processor, which other programs disturb less.
//   measure_neighbours --vectors FILE --limit 200000     vectors that were trained
//   measure_neighbours --words 1100000                   random ones, the worst case for an index
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/wordloom.hpp>
#if WORDLOOM_HAS_HNSWLIB
#include <wordloom/nearest_index.hpp>
#endif

using namespace wordloom;

namespace {

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
}

/// Prints the seconds that `work` takes and returns those of the processor.
template <class Work>
double measured(const std::string& name, const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  const double before = processor_seconds();
  work();
  const double processor = processor_seconds() - before;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  std::printf("%-28s %9.3f s of the processor, %9.3f s\n", name.c_str(), processor, wall.count());
  std::fflush(stdout);
  return processor;
}

Embeddings random_vectors(std::size_t size, std::size_t dimension) {
  RowMatrix vectors(size, dimension);
  WordList words;
  for (std::size_t i = 0; i < size; ++i) {
    Random random(7, i);
    words.append("w" + std::to_string(i));
    for (float& x : vectors.row(i))
      x = static_cast<float>(random.uniform() + random.uniform() + random.uniform() - 1.5);
  }
  return Embeddings(std::move(words), std::move(vectors)).normalized();
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Measures exact neighbours and those of an index");
  std::string path;
  std::size_t size = 1'100'000, dimension = 300, threads = 1, questions = 1000;
  std::size_t connections = 16, build_search = 200;
  bool exact_only = false;
  LoadOptions loading;
  app.add_option("--vectors", path, "A file of vectors; without: random ones");
  app.add_option("--limit", loading.limit, "Read only the first words");
  app.add_option("--words", size, "Number of random vectors")->capture_default_str();
  app.add_option("--dimension", dimension, "Their dimension")->capture_default_str();
  app.add_option("--questions", questions, "Words to ask")->capture_default_str();
  app.add_option("--connections", connections, "Of the index")->capture_default_str();
  app.add_option("--build-search", build_search, "Of the index")->capture_default_str();
  app.add_option("--threads", threads, "Of exact questions and of building")->capture_default_str();
  app.add_flag("--exact", exact_only, "No index");
  CLI11_PARSE(app, argc, argv);
  const Embeddings words =
      path.empty() ? random_vectors(size, dimension) : Embeddings::load(path, loading);
  std::printf("%zu words of dimension %zu\n", words.size(), words.dimension());
  std::vector<std::string> asked;
  for (std::size_t i = 0; i < questions; ++i)
    asked.emplace_back(words.word(i * words.size() / questions));

  volatile float sink = 0;  // the rows are read
  measured("reading all vectors", [&] {
    float sum = 0;
    const float* const begin = words.vectors().data();
    const float* const end = begin + words.size() * words.vectors().stride();
    for (const float* p = begin; p < end; p += 16) sum += *p;  // a cache line
    sink = sum;
  });
  for (const std::size_t count : {std::size_t{1}, std::size_t{10}, questions}) {
    const std::vector<std::string> some(
        asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(std::min(count, questions)));
    measured("exact, " + std::to_string(some.size()) + " at a time", [&] {
      sink = words.most_similar_each(some, 10, {.threads = threads}).front().front().score;
    });
  }
  if (exact_only) return 0;
#if WORDLOOM_HAS_HNSWLIB
  std::vector<NearestIndex> index;
  measured("building the index", [&] {
    index.emplace_back(
        words, NearestIndex::Options{
                   .connections = connections, .build_search = build_search, .threads = threads});
  });
  for (const std::size_t search : std::vector<std::size_t>{10, 20, 50, 100, 200, 400, 800}) {
    const double time = measured("index, " + std::to_string(search) + " candidates", [&] {
      sink = index[0].most_similar_each(asked, 10, search, 1).front().front().score;
    });
    std::printf("  %.0f questions a second, recall of ten %.4f\n",
                static_cast<double>(questions) / time,
                index[0].recall(10, questions, search, threads));
  }
#endif
  return 0;
} catch (const std::exception& error) {
  std::cerr << "measure_neighbours: error: " << error.what() << '\n';
  return 1;
}
