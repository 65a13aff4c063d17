#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/sync/combine.hpp>
#include <wordloom/sync/common_direction.hpp>
#include <wordloom/sync/concept.hpp>
#include <wordloom/sync/detail/row_changes.hpp>
#include <wordloom/sync/detail/row_exchange.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The memory of the host, for ReplicaRows.
struct HostMemory {
  using Replica = Model;
  using Values = std::span<float>;
  /// Floats whose first is on a 64-byte boundary.
  struct Floats : RowMatrix {
    Floats() = default;
    Floats(std::size_t size, const char*) : RowMatrix(1, size) {}
    std::size_t size() const noexcept { return columns(); }
  };

  simd::RowChangeFunctions functions = simd::row_change_functions();

  static std::vector<Values> all(Model& model) {
    std::vector<Values> result;
    for (const auto& [name, matrix] : model.matrices())
      result.emplace_back(matrix->data(), matrix->rows() * matrix->stride());
    return result;
  }
  static HostMemory bind(Model& model, RowsView& view) {
    view.model[0] = model.input.data();
    view.model[1] = model.output.data();
    view.stride = model.input.stride();
    view.columns = model.dimension();
    return {};
  }
  static Values values(float* data, std::size_t size) { return {data, size}; }
  static void copy(float* to, const float* from, std::size_t size) { std::copy_n(from, size, to); }
  static float read(const float* from) { return *from; }
  static void wait() {}
  template <class Work>
  void run(std::size_t count, const Work& work) const {
    for (std::size_t i = 0; i < count; ++i) work(functions, static_cast<std::uint32_t>(i));
  }
  void find_common(const RowsView& view) const {
    for (std::size_t m = 0; m < 2; ++m) {
      view.scale[2 * m] = 1;
      view.scale[2 * m + 1] =
          common_direction(functions, view.base[m], view.stride, view.common_rows(m), view.columns,
                           view.expected[m], view.direction_of(m));
    }
  }
};

/// Takes and puts changed rows in the memory that holds the model; Allreduce decides when. The
/// machine does all work in the order of submission. Holds a second model, and buffers for some
/// thousand rows. A `Machine` has
/// - `all(replica)`: the matrices of a model;
/// - `bind(replica, view)`: writes their addresses to the view and returns the machine;
/// - `Floats`: an array, made of a size and a name for errors; `copy` to and from it; `values(data,
///   size)`, as a Collective sums them;
/// - `run(count, work)`: calls work(functions, i) for each i below `count`, where `functions` are
///   RowChangeFunctions of its own; `read(place)`: returns a value after all submitted work;
///   `wait()`: waits until all work is done;
/// - `find_common(view)`: finds the common direction of each matrix.
template <class Machine>
class ReplicaRows {
  using Floats = typename Machine::Floats;

 public:
  using Replica = typename Machine::Replica;
  using Values = typename Machine::Values;

  /// Returns all matrices of the model.
  std::vector<Values> all(Replica& replica) const { return Machine::all(replica); }

  const RowsView& view() const noexcept { return view_; }

  /// Stores the current rows as the state that all ranks agree on, at `progress`.
  void remember(Replica& replica, const RankInfo& run, double progress) {
    const Machine machine = Machine::bind(replica, view_);
    view_.rows[0] = run.input_rows;
    view_.rows[1] = run.output_rows;
    const auto allocate_two = [&](Floats& array, float*(&parts)[2], std::size_t floats) {
      parts[0] = allocate(array, (view_.rows[0] + view_.rows[1]) * floats,
                          "the model that ranks agree on");
      parts[1] = parts[0] + view_.rows[0] * floats;
    };
    allocate_two(base_, view_.base, view_.stride);
    allocate_two(expected_, view_.expected, 1);
    for (std::size_t m = 0; m < 2; ++m) {
      std::vector<float> expected = m == 0 ? run.expected.input : run.expected.output;
      expected.resize(view_.rows[m]);
      machine.copy(view_.expected[m], expected.data(), expected.size());
      machine.copy(view_.base[m], view_.model[m], view_.rows[m] * view_.stride);
    }
    const std::vector<float> agreed((std::max)(run.input_rows, run.output_rows),
                                    static_cast<float>(progress));
    view_.agreed = allocate(agreed_, agreed.size(), "the state of rows");
    machine.copy(view_.agreed, agreed.data(), agreed.size());
    view_.direction = allocate(common_, 2 * (view_.stride + 2 + RowsView::max_common_rows),
                               "the common direction of rows");
    view_.scale = view_.direction + 2 * view_.stride;
    view_.along = view_.scale + 4;
  }

  /// Chooses rows `first` to `last` of both matrices for an exchange.
  void choose(Replica& replica, std::size_t first, std::size_t last) {
    const Machine machine = Machine::bind(replica, view_);
    view_.first = first;
    view_.last = last;
    view_.items = view_.items_before(last) - view_.items_before(first);
    if (own_.size() < view_.items * view_.columns) {
      machine.wait();  // the changes before may still be in use
      view_.own = allocate(own_, view_.items * view_.columns, "the changes of this rank");
    }
  }
  /// Returns the changes of the chosen rows, to be summed over ranks, with `flag`.
  Values take(Replica& replica, float flag) {
    const Machine machine = Machine::bind(replica, view_);
    const std::size_t floats = view_.items * (view_.columns + 2) + 1;
    if (changes_.size() < floats) {
      machine.wait();
      view_.sums = allocate(changes_, floats, "the changes that ranks exchange");
    }
    machine.run(view_.last - view_.first, TakeRow{view_, flag});
    return machine.values(view_.sums, floats);
  }

  /// Returns a function that turns the sum of an item's changes into the change that all add: see
  /// QuantisedRows. Arguments as of put().
  template <class Combine>
  auto combiner(const Combine& combine, std::size_t ranks, double progress, double rates) {
    const HostMemory machine;
    machine.find_common(view_);
    return [put = PutRow<Combine>{view_, combine, static_cast<float>(ranks), progress, rates},
            functions = machine.functions](std::size_t item, float* sum, float touched,
                                           float squares) {
      const auto [matrix, row] = put.view.place_of(item);
      const double since = put.progress - static_cast<double>(put.view.agreed[row]);
      put.combine_item(functions, matrix, row, since, sum, touched, squares);
    };
  }

  /// Turns the sum of the changes that `take` returned into the change that all ranks add by the
  /// rule `combine`, and adds it. `rates`: the sum of learning rates of one rank's words in the
  /// whole run, with the learning rate at `progress`. Returns the sum of flags.
  template <class Combine>
  float put(Replica& replica, const Combine& combine, std::size_t ranks, double progress,
            double rates) {
    const Machine machine = Machine::bind(replica, view_);
    if (ranks > 1) {  // one rank does not change the rows
      machine.find_common(view_);
      machine.run(view_.last - view_.first,
                  PutRow<Combine>{view_, combine, static_cast<float>(ranks), progress, rates});
    }
    return machine.read(view_.flag());
  }

 private:
  /// Frees the array before allocating another, so that both need not fit.
  static float* allocate(Floats& array, std::size_t size, const char* what) {
    array = {};
    array = Floats(size, what);
    return array.data();
  }

  RowsView view_{};
  Floats base_, expected_, agreed_, common_, changes_, own_;  // see RowsView
};

/// The rows of a model in the memory of the host.
using HostRows = ReplicaRows<HostMemory>;

/// The rows that ranks synchronise: `Ranks::Rows` of those on a device.
template <class Ranks>
struct RowsOf : std::type_identity<HostRows> {};
template <class Ranks>
requires requires { typename Ranks::Rows; }
struct RowsOf<Ranks> : std::type_identity<typename Ranks::Rows> {};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
