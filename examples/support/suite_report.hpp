#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iomanip>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "evaluation_sets.hpp"
#include "suite.hpp"

/// A comparison of two methods on one test, the second minus the first.
struct SuiteComparison {
  std::string name;
  wordloom::Statistics::Difference seeds, items;
  double p = 0;  // the larger of the two, adjusted over the suite by Holm's method; NaN: none
  std::size_t common = 0;                    // items that both methods have scores of
  static constexpr std::size_t least = 100;  // items without which nothing is claimed

  std::string claim() const {
    const auto& difference = std::isnan(seeds.p_worse) ? items : seeds;
    if (common > 0 && common < least) return "too few items";
    if (std::isnan(p)) return "not compared";
    if (p < 0.05) return "not worse by more than 0.01";
    return difference.high < -0.01 && items.high < -0.01 ? "worse by more than 0.01" : "open";
  }
};

/// Returns the mean over the runs of each item that has a score in all runs of both methods.
inline std::pair<std::vector<double>, std::vector<double>> common_items(const SuiteEntry& a,
                                                                        const SuiteEntry& b) {
  std::pair<std::vector<double>, std::vector<double>> means;
  const auto mean = [](const SuiteEntry& entry, std::size_t i) {
    double sum = 0;
    for (const auto& run : entry.items) sum += run[i];
    return sum / static_cast<double>(entry.items.size());
  };
  for (std::size_t i = 0; i < a.items[0].size(); ++i) {
    const double x = mean(a, i), y = mean(b, i);
    if (std::isnan(x) || std::isnan(y)) continue;
    means.first.push_back(x);
    means.second.push_back(y);
  }
  return means;
}

/// Compares `scores` with those of `against` on each test: over seeds by Welch's t-test, and over
/// items by a paired bootstrap.
inline std::vector<SuiteComparison> compare(const SuiteScores& against, const SuiteScores& scores) {
  using wordloom::Statistics;
  std::vector<SuiteComparison> result;
  std::vector<double> p;
  for (const std::string& name : scores.order) {
    const SuiteEntry &a = against.entries.at(name), &b = scores.entries.at(name);
    SuiteComparison row{name, Statistics::welch(a.values, b.values), {}, 0, 0};
    const bool has_scores = !std::isnan(row.seeds.mean);
    if (has_scores && !a.people.empty()) {
      std::vector<double> people;
      std::vector<std::vector<double>> of_a(a.items.size()), of_b(b.items.size());
      const auto is_common = [&](std::size_t i) {
        const auto has = [i](const auto& run) { return !std::isnan(run[i]); };
        return std::all_of(a.items.begin(), a.items.end(), has) &&
               std::all_of(b.items.begin(), b.items.end(), has);
      };
      for (std::size_t i = 0; i < a.people.size(); ++i) {
        if (!is_common(i)) continue;
        people.push_back(a.people[i]);
        for (std::size_t r = 0; r < of_a.size(); ++r) of_a[r].push_back(a.items[r][i]);
        for (std::size_t r = 0; r < of_b.size(); ++r) of_b[r].push_back(b.items[r][i]);
      }
      row.common = people.size();
      row.items = Statistics::bootstrap_spearman(people, of_a, of_b);
    } else if (has_scores) {
      const auto [x, y] = common_items(a, b);
      row.common = x.size();
      row.items = Statistics::bootstrap(x, y);
    }
    const double over_seeds = row.seeds.p_worse, over_items = row.items.p_worse;
    p.push_back(row.common < SuiteComparison::least ? std::numeric_limits<double>::quiet_NaN()
                : std::isnan(over_seeds)            ? over_items
                : std::isnan(over_items)            ? over_seeds
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
    json[row.name] = {{"seeds", difference(row.seeds)},
                      {"items", difference(row.items)},
                      {"p", json_number(row.p)},
                      {"claim", row.claim()}};
  return json;
}

inline std::string fixed(double x, int digits) {
  if (std::isnan(x)) return "-";
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << x;
  return text.str();
}

/// Prints a table of the tests; `floor`: the scores of random vectors, or empty.
inline void print(std::ostream& out, const SuiteScores& scores, const SuiteScores& floor) {
  out << std::left << std::setw(58) << "test" << std::right << std::setw(15) << "measure"
      << std::setw(8) << "score" << std::setw(8) << "+-" << std::setw(4) << "n" << std::setw(8)
      << "used" << std::setw(10) << "left out" << std::setw(8) << "floor" << std::setw(9)
      << "seconds" << '\n';
  bool has_small = false;
  for (const std::string& name : scores.order) {
    const SuiteEntry& entry = scores.entries.at(name);
    const auto over = wordloom::Statistics::of(entry.values);
    const auto of_floor = floor.entries.find(name);
    const bool is_small = entry.used + entry.left_out < SuiteComparison::least;
    const bool is_known = entry.used > 0;
    has_small = has_small || is_small;
    out << std::left << std::setw(58) << name + (is_small ? " *" : "") << std::right
        << std::setw(15) << entry.measure << std::setw(8) << fixed(over.mean, 4) << std::setw(8)
        << fixed(over.deviation, 4) << std::setw(4) << over.count << std::setw(8) << entry.used
        << std::setw(10) << entry.left_out << std::setw(8)
        << (of_floor == floor.entries.end() ? "-" : fixed(of_floor->second.values[0], 4))
        << std::setw(9) << fixed(wordloom::Statistics::of(entry.seconds).mean, 2)
        << (is_known ? "" : "  none of its words has a vector") << '\n';
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
        << interval(row.items) << std::setw(8) << fixed(row.p, 4) << "  " << row.claim() << '\n';
}
