#include <wordloom/cuda/detail/device_rows.hpp>

#include <algorithm>
#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/cuda/detail/warp_scheme.hpp>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/thread_ranks.hpp>
#include <wordloom/wordloom.hpp>

#include "catch.hpp"
#include "sync/row_scenario.hpp"

using namespace wordloom;

namespace {

using Kernel = cuda::HostKernel<cuda::WarpScheme<11>, 1, cuda::HostTeam<32>>;
template <class Combine>
using DeviceSync = Allreduce<ThreadRanks, Combine, cuda::DeviceRows<cuda::HostMachine>>;

template <class Combine>
void compare() {
  using namespace row_scenario;
  const auto on_host = run_on_host<Combine>();
  const auto on_device = run([](ThreadRanks self, Model& model) {
    const auto kernel = Kernel().start(SharedNegative(), {.dimension = columns}, model);
    auto replica = kernel->replica();
    DeviceSync<Combine> sync(self, options);
    const auto put = [&] {
      for (WordId i = 0; i < words; ++i) {
        std::ranges::copy(model.input.row(i), replica.view.input_row(i));
        std::ranges::copy(model.output.row(i), replica.view.output_row(i));
      }
    };
    run_rank(
        sync, model, replica, [&] { kernel->download(model); }, put);
  });
  CHECK(difference(on_host, on_device) < 1e-4);
  CHECK(difference(on_host, run([](ThreadRanks, Model&) {})) > 0.5);
}

}  // namespace

TEST_CASE("rows on a device are combined like rows on the host", "[sync][cuda]") {
  compare<Average>();
  compare<DeltaSum>();
  compare<TouchedAverage>();
  compare<CoherentSum>();
}
