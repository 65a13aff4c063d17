#pragma once
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lookup_options.hpp"

/// The choice of tests of a folder on a command line.
struct SuiteOptions {
  std::filesystem::path folder;
  std::vector<std::string> only;
  std::string protocol = "default";
  bool slow = false;
  LookupOptions lookup;

  /// Without a choice, all but the slow ones, or all but the slowest.
  bool wants(const std::string& part) const {
    const bool is_slow = part == "cnn" || part == "lstm" || part == "relations";
    if (only.empty()) return part != "cnn-trained" && (slow || !is_slow);
    return std::find(only.begin(), only.end(), part) != only.end();
  }
  bool has_networks() const { return reads_sentences_by_networks() || wants("relations"); }
  bool reads_sentences_by_networks() const {
    return wants("cnn") || wants("cnn-trained") || wants("lstm");
  }
};

inline const std::vector<std::string> suite_parts{
    "similarity", "cos-add", "cos-mul",     "lrcos", "categorization",
    "mean",       "cnn",     "cnn-trained", "lstm",  "relations"};

/// The scores of one test with the vectors of several runs of a method.
struct SuiteEntry {
  std::string measure;
  std::vector<double> values;  // of each run; NaN if nothing is known
  std::vector<double> seconds;
  nlohmann::ordered_json details = nlohmann::ordered_json::array();
  std::vector<std::size_t> used, left_out;  // items, of each run
  std::vector<std::vector<double>> items;   // of each run: scores of the items, NaN if left out
  std::vector<double> people;               // the scores of pairs, for rank correlations

  bool is_known() const {
    return std::any_of(used.begin(), used.end(), [](std::size_t count) { return count > 0; });
  }
};

/// The entries of a method, by name, in the order of the suite.
struct SuiteScores {
  std::vector<std::string> order;
  std::map<std::string, SuiteEntry> entries;

  SuiteEntry& at(const std::string& name) {
    if (!entries.contains(name)) order.push_back(name);
    return entries[name];
  }
};
