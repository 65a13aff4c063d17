#pragma once
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// hnswlib's own vector code, which is not used, defines functions in each file that includes it.
#ifndef NO_MANUAL_VECTORIZATION
#define NO_MANUAL_VECTORIZATION
#include <hnswlib/hnswlib.h>
#undef NO_MANUAL_VECTORIZATION
#else
#include <hnswlib/hnswlib.h>
#endif

#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/parallel.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/query/detail/dot_products.hpp>
#include <wordloom/query/nearest_rows.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A negated cosine: a type of our own, so that hnswlib's class with it is ours, too.
struct GraphDistance {
  GraphDistance() = default;
  GraphDistance(float v) : value(v) {}
  GraphDistance operator-() const noexcept { return {-value}; }
  friend bool operator<(GraphDistance a, GraphDistance b) noexcept { return a.value < b.value; }
  friend bool operator>(GraphDistance a, GraphDistance b) noexcept { return a.value > b.value; }
  friend bool operator==(GraphDistance a, GraphDistance b) noexcept { return a.value == b.value; }
  float value = 0;
};
using Hnsw = hnswlib::HierarchicalNSW<GraphDistance>;

}}}  // namespace wordloom::WORDLOOM_ABI::detail

/// hnswlib draws levels from one generator, which threads would share without a lock; NearestGraph
/// gives each point its level.
template <>
inline int hnswlib::HierarchicalNSW<wordloom::detail::GraphDistance>::getRandomLevel(double) {
  return 0;
}

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// A graph of near rows. Its points are where the rows are: it holds no copies.
class NearestGraph : private hnswlib::SpaceInterface<GraphDistance> {
 public:
  struct Shape {
    std::size_t connections, build_search;
  };

  /// Makes a graph without points.
  NearestGraph(const RowMatrix& rows, std::span<const float> inverse_lengths, Shape shape,
               std::size_t points)
      : rows_(rows), inverse_lengths_(inverse_lengths) {
    if (points > 0) graph_.reset(new Hnsw(this, points, shape.connections, shape.build_search));
  }

  std::size_t size() const noexcept { return graph_ ? graph_->cur_element_count : 0; }
  WordId row_of(std::size_t point) const noexcept {
    return static_cast<WordId>(graph_->getExternalLabel(static_cast<unsigned>(point)));
  }

  /// Adds rows, whose lengths are not 0, by several threads.
  void add(const std::vector<WordId>& rows, std::uint64_t seed, std::size_t threads);

  /// Returns at most k rows near to a vector of length 1, best first, without `skipped`.
  std::vector<NearestRow> nearest(const float* unit, std::size_t k, std::size_t search,
                                  std::size_t skipped) const;

  /// Writes the points and links as sections of a file.
  void save(SectionWriter& file) const;
  /// Reads them. Throws FormatError for links that no graph has.
  void load(SectionReader& file);

 private:
  /// The data of a point.
  struct Point {
    const float* row;
    float inverse_length;
  };

  std::size_t get_data_size() override { return sizeof(Point); }
  hnswlib::DISTFUNC<GraphDistance> get_dist_func() override { return distance; }
  void* get_dist_func_param() override { return this; }

  static GraphDistance distance(const void* a, const void* b, const void* graph) {
    const auto& self = *static_cast<const NearestGraph*>(graph);
    Point x, y;  // hnswlib does not align them
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    const float cosine = self.multiply_(x.row, y.row, self.rows_.stride()) * y.inverse_length;
    return {-(cosine * x.inverse_length)};
  }

  Point point_of(WordId row) const { return {rows_.row_data(row), inverse_lengths_[row]}; }
  int level_of(WordId row, std::uint64_t seed) const {
    const double level = -std::log(1.0 - Random(seed, row).uniform()) * graph_->mult_;
    return static_cast<int>((std::min)(level, 100.0));
  }
  unsigned* links_of(std::size_t point, std::size_t level) const {
    return graph_->get_linklist_at_level(static_cast<unsigned>(point), static_cast<int>(level));
  }

  const RowMatrix& rows_;
  std::span<const float> inverse_lengths_;
  simd::DotOfTwoFunction multiply_ = simd::dot_of_two_function();
  std::unique_ptr<Hnsw> graph_;  // null: no points
};

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION void NearestGraph::add(const std::vector<WordId>& rows, std::uint64_t seed,
                                         std::size_t threads) {
  const auto add_one = [&](WordId row) {
    const Point point = point_of(row);
    graph_->addPoint(&point, row, level_of(row, seed));
  };
  if (rows.empty()) return;
  add_one(rows.front());
  std::atomic<std::size_t> next{1};
  run_threads((std::min)(resolve_threads(threads), rows.size()), [&](std::size_t) {
    for (std::size_t i; (i = next.fetch_add(1)) < rows.size();) add_one(rows[i]);
  });
  decltype(graph_->label_lookup_)().swap(graph_->label_lookup_);  // is for changes only
}

WORDLOOM_FUNCTION std::vector<NearestRow> NearestGraph::nearest(const float* unit, std::size_t k,
                                                                std::size_t search,
                                                                std::size_t skipped) const {
  std::vector<NearestRow> found;
  if (k == 0 || size() == 0) return found;
  const Point question{unit, 1.0f};
  const std::size_t wanted = k < size() ? k + 1 : size();  // one may be skipped
  auto queue = graph_->searchKnn(&question, (std::min)((std::max)(wanted, search), size()));
  const auto exact = simd::dot_product_function();  // scores have the bits of the exact search
  for (; !queue.empty(); queue.pop()) {
    const std::size_t row = queue.top().second;
    if (row == skipped) continue;
    found.push_back({static_cast<WordId>(row), 0});
    exact({.questions = unit,
           .question_count = 1,
           .rows = rows_.row_data(row),
           .row_count = 1,
           .stride = rows_.stride(),
           .scales = &inverse_lengths_[row],
           .products = &found.back().score,
           .to_next = 1});
  }
  std::sort(found.begin(), found.end());
  found.resize((std::min)(found.size(), k));
  return found;
}

WORDLOOM_FUNCTION void NearestGraph::save(SectionWriter& file) const {
  std::string rows, levels, counts, links;  // of all points, each from the lowest level on
  const auto append = [](std::string& to, const void* from, std::size_t size) {
    to.append(static_cast<const char*>(from), size);
  };
  for (std::size_t point = 0; point < size(); ++point) {
    const WordId row = row_of(point);
    append(rows, &row, sizeof row);
    const auto top = static_cast<std::size_t>(graph_->element_levels_[point]);
    levels += static_cast<char>(top);
    for (std::size_t level = 0; level <= top; ++level) {
      unsigned* const list = links_of(point, level);
      const std::size_t count = graph_->getListCount(list);
      counts += static_cast<char>(count);
      append(links, list + 1, count * sizeof(unsigned));
    }
  }
  const std::uint64_t entry[] = {size() == 0 ? 0 : graph_->enterpoint_node_};
  file.numbers(entry);
  for (const std::string* text : {&rows, &levels, &counts, &links}) file.text(*text);
}

WORDLOOM_FUNCTION void NearestGraph::load(SectionReader& file) {
  const std::size_t points = graph_ ? graph_->max_elements_ : 0;
  const auto refuse = [&](const std::string& got) {
    file.refuse_section("the graph of an index", got);
  };
  const auto entry = file.numbers();
  if (entry.size() != 1 || (entry[0] >= points && entry[0] != 0)) refuse("a wrong entry point");
  const auto rows = file.text();
  if (rows.size() != points * sizeof(WordId)) refuse(joined({rows.size(), " bytes of rows"}));
  std::vector<bool> seen(rows_.rows());
  for (std::size_t i = 0; i < points; ++i) {
    WordId row = 0;
    std::memcpy(&row, rows.data() + i * sizeof row, sizeof row);
    if (row >= seen.size() || seen[row]) refuse(joined({"row ", row}));
    seen[row] = true;
  }
  const auto levels = file.text();
  if (levels.size() != points) refuse(joined({levels.size(), " levels"}));
  const auto level_of_point = [&](std::size_t i) {
    return std::size_t{static_cast<unsigned char>(levels[i])};
  };
  for (std::size_t i = 0; i < points; ++i)
    if (level_of_point(i) > level_of_point(entry[0])) refuse("a level above that of the entry");
  const auto counts = file.text();
  std::size_t lists = 0, total = 0;
  for (std::size_t i = 0; i < points; ++i)
    for (std::size_t level = 0; level <= level_of_point(i); ++level, ++lists) {
      if (lists >= counts.size()) refuse(joined({counts.size(), " lists of links"}));
      const std::size_t count = static_cast<unsigned char>(counts[lists]);
      if (count > (level == 0 ? graph_->maxM0_ : graph_->maxM_)) refuse(joined({count, " links"}));
      total += count;
    }
  if (lists != counts.size()) refuse(joined({counts.size(), " lists of links"}));
  const auto links = file.text();
  if (links.size() != total * sizeof(unsigned)) refuse(joined({links.size(), " bytes of links"}));

  std::size_t list = 0, at = 0;
  for (std::size_t i = 0; i < points; ++i) {
    WordId row = 0;
    std::memcpy(&row, rows.data() + i * sizeof row, sizeof row);
    const Point data = point_of(row);
    const auto point = static_cast<unsigned>(i);
    const std::size_t top = level_of_point(i);
    std::memset(graph_->get_linklist0(point), 0, graph_->size_data_per_element_);
    std::memcpy(graph_->getDataByInternalId(point), &data, sizeof data);
    graph_->setExternalLabel(point, row);
    if (top > 0) {
      const std::size_t bytes = graph_->size_links_per_element_ * top;
      graph_->linkLists_[i] = static_cast<char*>(std::calloc(bytes, 1));
      if (graph_->linkLists_[i] == nullptr) throw std::bad_alloc();
    }
    graph_->element_levels_[i] = static_cast<int>(top);
    graph_->cur_element_count = i + 1;
    for (std::size_t level = 0; level <= top; ++level, ++list) {
      unsigned* const to = links_of(i, level);
      const std::size_t count = static_cast<unsigned char>(counts[list]);
      graph_->setListCount(to, static_cast<unsigned short>(count));
      std::memcpy(to + 1, links.data() + at, count * sizeof(unsigned));
      at += count * sizeof(unsigned);
      for (std::size_t k = 1; k <= count; ++k)
        if (to[k] >= points || level_of_point(to[k]) < level)
          refuse(joined({"a link to point ", to[k]}));
    }
  }
  if (points == 0) return;
  graph_->enterpoint_node_ = static_cast<unsigned>(entry[0]);
  graph_->maxlevel_ = static_cast<int>(level_of_point(entry[0]));
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
