#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "evaluation_sets.hpp"
#include "suite.hpp"

/// A comparison of two methods on one test, the second minus the first, on the items that all runs
/// of both have scores of.
struct SuiteComparison {
  std::string name;
  wordloom::Statistics::Difference seeds, items;
  double p = 0;  // the larger of the two, adjusted over the suite by Holm's method; NaN: none
  std::size_t common = 0;                        // items that all runs have scores of
  std::size_t scored = 0;                        // items that any run has a score of
  static constexpr std::size_t min_items = 100;  // for a claim
  static constexpr const char *worse = "worse by more than 0.01",
                              *not_worse = "not worse by more than 0.01", *open = "open";

  std::string claim() const {
    const auto& difference = std::isnan(seeds.p_worse) ? items : seeds;
    if (scored > common && common == 0) return "not compared: no common items";
    if (common > 0 && common < min_items) return "too few items";
    if (std::isnan(p)) return "not compared";
    if (p < 0.05) return not_worse;
    // A score such as macro F1 has no items: seeds alone decide.
    const bool is_worse_on_items = scored == 0 || items.high < -0.01;
    return difference.high < -0.01 && is_worse_on_items ? worse : open;
  }
};

/// The scores of the runs of two methods on their common items, [runs][items].
struct CommonItems {
  CommonItems(const SuiteEntry& a, const SuiteEntry& b) : first(a.items.size()) {
    std::vector<const std::vector<double>*> all;
    for (const SuiteEntry* entry : {&a, &b})
      for (const auto& run : entry->items) all.push_back(&run);
    runs.resize(all.size());
    for (std::size_t i = 0; i < all[0]->size(); ++i) {
      const auto has = [i](const auto* run) { return !std::isnan((*run)[i]); };
      scored += std::any_of(all.begin(), all.end(), has);
      if (!std::all_of(all.begin(), all.end(), has)) continue;
      if (!a.people.empty()) people.push_back(a.people[i]);
      for (std::size_t r = 0; r < all.size(); ++r) runs[r].push_back((*all[r])[i]);
    }
  }

  std::size_t size() const { return runs[0].size(); }
  std::span<const std::vector<double>> of_first() const { return std::span(runs).first(first); }
  std::span<const std::vector<double>> of_second() const { return std::span(runs).subspan(first); }

  /// Returns the score of each run: Spearman's rho, or the mean.
  std::vector<double> scores(std::span<const std::vector<double>> of) const {
    std::vector<double> result;
    for (const auto& run : of)
      result.push_back(people.empty() ? wordloom::Statistics::of(run).mean
                                      : wordloom::Statistics::spearman(people, run));
    return result;
  }

  /// Returns the difference of the methods over other items of the kind.
  wordloom::Statistics::Difference difference() const {
    using wordloom::Statistics;
    if (!people.empty()) return Statistics::bootstrap_spearman(people, of_first(), of_second());
    const auto mean = [this](std::span<const std::vector<double>> of) {
      std::vector<double> sums(size());
      for (const auto& run : of)
        for (std::size_t i = 0; i < size(); ++i) sums[i] += run[i] / static_cast<double>(of.size());
      return sums;
    };
    return Statistics::bootstrap(mean(of_first()), mean(of_second()));
  }

  std::size_t first;                      // runs of the first method
  std::size_t scored = 0;                 // items that any run has a score of
  std::vector<double> people;             // empty, or the scores of the pairs that people gave
  std::vector<std::vector<double>> runs;  // of the first method, then of the second
};

/// Returns whether all runs of two methods have scored as many items.
inline bool has_equal_counts(const SuiteEntry& a, const SuiteEntry& b) {
  const auto is_first = [&](std::size_t count) { return count == a.used[0]; };
  return std::all_of(a.used.begin(), a.used.end(), is_first) &&
         std::all_of(b.used.begin(), b.used.end(), is_first);
}

/// Compares `scores` with those of `against` on each test, on the common items alone if words
/// differ: over seeds by Welch's t-test, and over items by a paired bootstrap.
inline std::vector<SuiteComparison> compare(const SuiteScores& against, const SuiteScores& scores) {
  using wordloom::Statistics;
  std::vector<SuiteComparison> result;
  std::vector<double> p;
  for (const std::string& name : scores.order) {
    const SuiteEntry &a = against.entries.at(name), &b = scores.entries.at(name);
    SuiteComparison row{name, Statistics::welch(a.values, b.values), {}, 0, 0, 0};
    const CommonItems items(a, b);
    row.common = items.size();
    row.scored = items.scored;
    if (row.common < row.scored)
      row.seeds =
          Statistics::welch(items.scores(items.of_first()), items.scores(items.of_second()));
    else if (row.scored == 0 && !has_equal_counts(a, b))  // one score of other words, without items
      row.seeds = {};
    if (!std::isnan(row.seeds.mean)) row.items = items.difference();
    const double over_seeds = row.seeds.p_worse, over_items = row.items.p_worse;
    const std::size_t count = row.scored == 0 ? a.used[0] : row.common;
    p.push_back(count < SuiteComparison::min_items ? std::numeric_limits<double>::quiet_NaN()
                : std::isnan(over_seeds)           ? over_items
                : std::isnan(over_items)           ? over_seeds
                                                   : std::max(over_seeds, over_items));
    result.push_back(row);
  }
  const auto adjusted = Statistics::holm(p);
  for (std::size_t i = 0; i < result.size(); ++i) result[i].p = adjusted[i];
  return result;
}

/// Returns the scores in the form {"similarity/ws353": {"values": [...], "mean": ...}, ...}.
inline nlohmann::ordered_json json_of(const SuiteScores& scores) {
  auto json = nlohmann::ordered_json::object();
  for (const std::string& name : scores.order) {
    const SuiteEntry& entry = scores.entries.at(name);
    const auto over = wordloom::Statistics::of(entry.values);
    auto& of_test = json[name];
    of_test["measure"] = entry.measure;
    of_test["values"] = nlohmann::ordered_json::array();
    for (const double value : entry.values) of_test["values"].push_back(json_number(value));
    of_test["details"] = entry.details;
    of_test["seconds"] = entry.seconds;
    of_test["mean"] = json_number(over.mean);
    of_test["deviation"] = json_number(over.deviation);
    of_test["interval"] = {json_number(over.low), json_number(over.high)};
  }
  return json;
}

inline nlohmann::ordered_json json_of(const std::vector<SuiteComparison>& rows) {
  auto json = nlohmann::ordered_json::object();
  const auto difference = [](const wordloom::Statistics::Difference& d) {
    return nlohmann::ordered_json{{"difference", json_number(d.mean)},
                                  {"interval", {json_number(d.low), json_number(d.high)}},
                                  {"p", json_number(d.p_worse)}};
  };
  for (const auto& row : rows)
    json[row.name] = {{"seeds", difference(row.seeds)}, {"items", difference(row.items)},
                      {"p", json_number(row.p)},        {"common_items", row.common},
                      {"scored_items", row.scored},     {"claim", row.claim()}};
  return json;
}

inline std::string fixed(double x, int digits) {
  if (std::isnan(x)) return "-";
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << x;
  return text.str();
}

/// Returns the number of items, or the range of it if the runs know different words.
inline std::string counts(const std::vector<std::size_t>& of_runs) {
  const auto [least, most] = std::minmax_element(of_runs.begin(), of_runs.end());
  return std::to_string(*least) + (*least == *most ? "" : "-" + std::to_string(*most));
}

/// Returns why a test has no mean score; empty if it has one.
inline std::string reason_of(const SuiteEntry& entry) {
  const auto is_zero = [](std::size_t count) { return count == 0; };
  const bool has_unknown = std::any_of(entry.used.begin(), entry.used.end(), is_zero);
  if (has_unknown && std::all_of(entry.left_out.begin(), entry.left_out.end(), is_zero))
    return "  there are no such items";
  if (!entry.is_known()) return "  no item of which all words can be looked up";
  if (has_unknown) return "  no mean: in some files no item has all its words";
  const auto is_nan = [](double value) { return std::isnan(value); };
  if (std::any_of(entry.values.begin(), entry.values.end(), is_nan))
    return "  no score: fewer than two items, or all are equal";
  return "";
}

/// Prints a table of the tests; `floor`: the scores of random vectors, or empty.
inline void print(std::ostream& out, const SuiteScores& scores, const SuiteScores& floor) {
  out << std::left << std::setw(58) << "test" << std::right << std::setw(15) << "measure"
      << std::setw(8) << "score" << std::setw(8) << "+-" << std::setw(4) << "n" << std::setw(12)
      << "used" << std::setw(12) << "left out" << std::setw(8) << "floor" << std::setw(9)
      << "seconds" << '\n';
  bool has_small = false;
  for (const std::string& name : scores.order) {
    const SuiteEntry& entry = scores.entries.at(name);
    const auto over = wordloom::Statistics::of(entry.values);
    const auto of_floor = floor.entries.find(name);
    const bool is_small = entry.used[0] + entry.left_out[0] < SuiteComparison::min_items;
    has_small = has_small || is_small;
    out << std::left << std::setw(58) << name + (is_small ? " *" : "") << std::right
        << std::setw(15) << entry.measure << std::setw(8) << fixed(over.mean, 4) << std::setw(8)
        << fixed(over.deviation, 4) << std::setw(4) << over.count << std::setw(12)
        << counts(entry.used) << std::setw(12) << counts(entry.left_out) << std::setw(8)
        << (of_floor == floor.entries.end() ? "-" : fixed(of_floor->second.values[0], 4))
        << std::setw(9) << fixed(wordloom::Statistics::of(entry.seconds).mean, 2)
        << reason_of(entry) << '\n';
  }
  if (has_small) out << "* fewer than 100 items: too few to tell methods apart\n";
}

inline void print(std::ostream& out, const std::vector<SuiteComparison>& rows) {
  out << '\n'
      << std::left << std::setw(58) << "VECTORS minus --against" << std::right << std::setw(9)
      << "mean" << std::setw(20) << "95 % over seeds" << std::setw(20) << "95 % over items"
      << std::setw(8) << "p, Holm"
      << "  claim\n";
  const auto interval = [](const auto& d) {
    return std::isnan(d.low) ? "-" : fixed(d.low, 4) + " .. " + fixed(d.high, 4);
  };
  for (const auto& row : rows)
    out << std::left << std::setw(58) << row.name << std::right << std::setw(9)
        << fixed(row.seeds.mean, 4) << std::setw(20) << interval(row.seeds) << std::setw(20)
        << interval(row.items) << std::setw(8) << fixed(row.p, 4) << "  " << row.claim()
        << (row.common > 0 && row.common < row.scored
                ? " (on " + std::to_string(row.common) + " of " + std::to_string(row.scored) +
                      " items, which all files know)"
                : "")
        << '\n';
  const auto count = [&](const std::string& claim) {
    return std::count_if(rows.begin(), rows.end(),
                         [&](const auto& row) { return row.claim() == claim; });
  };
  const auto yes = count(SuiteComparison::worse), no = count(SuiteComparison::not_worse),
             open = count(SuiteComparison::open);
  out << "\nIs VECTORS worse than --against by more than 0.01? Of " << rows.size()
      << " tests, yes: " << yes << ", no: " << no << ", open: " << open
      << " (more seeds may decide), not compared or too few items: "
      << static_cast<std::ptrdiff_t>(rows.size()) - yes - no - open << '\n';
}
