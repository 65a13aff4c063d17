#pragma once
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "demo_corpus.hpp"

/// The text to measure on: a given file, or the demo corpus in a temporary folder.
class BenchmarkText {
 public:
  BenchmarkText(const std::string& given, std::size_t tokens) : path_(given) {
    if (!given.empty()) return;
    folder_ = std::filesystem::temp_directory_path() /
              ("wordloom-benchmark-" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder_);
    path_ = folder_ / "text";
    demo::write_corpus(path_, {.tokens = tokens});
  }
  BenchmarkText(const BenchmarkText&) = delete;
  BenchmarkText& operator=(const BenchmarkText&) = delete;
  ~BenchmarkText() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_, folder_;
};
