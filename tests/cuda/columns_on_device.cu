// Columns that are trained on a device against the same arithmetic on the host, which
// test_columns.cpp compares with the host's own kernels. Returns 77 (skipped) where there is no
// device; what needs two is left out where there is one. Usage: test_columns_device [CASE], all
// without.
#define WORDLOOM_CUDA_ROW_SIZES 1, 10, 16
#include <wordloom/cuda.hpp>
#if WORDLOOM_HAS_NCCL
#include <wordloom/nccl.hpp>
#endif

#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/cuda/detail/host_kernel.hpp>
#include <wordloom/sync/thread_ranks.hpp>

#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device_cases.hpp"
#include "small_models.hpp"

using namespace wordloom;

namespace {

WordContextMatrix matrix_of(const std::filesystem::path& file = {}, std::size_t columns = 2) {
  // Sentences are short, so that one often ends between a word and its context.
  const auto corpus = EncodedCorpus::from_sentences(random_sentences(600, 4, words), vocabulary());
  return WordContextMatrix::from(corpus, vocabulary(),
                                 {.columns = columns, .window = 3, .threads = 1, .file = file});
}

template <class Kernel, class... Sync>
Trained train(const Hyperparameters& parameters, const WordContextMatrix& matrix, Sync... sync) {
  Trainer<UniformMatrix, Kernel, Sync..., LinearDecay> trainer(parameters, std::move(sync)...);
  Model model = random_model(vocabulary(), parameters.dimension);
  const TrainReport got = trainer.train(matrix, model);
  return {std::move(model), got.loss};
}
template <class Kernel>
Trained train_alone(const Hyperparameters& parameters, const WordContextMatrix& matrix) {
  return train<Kernel>(parameters, matrix, NoSync());
}

template <class Optimizer>
void compare(const std::string& name, Hyperparameters parameters,
             const WordContextMatrix& matrix = matrix_of()) {
  using OnHost = cuda::ColumnKernel<cuda::HostMachine, cuda::CudaMethod::RowSizes, Optimizer>;
  const Trained host = train_alone<OnHost>(parameters, matrix);
  const Trained device = train_alone<CudaUniformKernel<Optimizer>>(parameters, matrix);
  const Trained again = train_alone<CudaUniformKernel<Optimizer>>(parameters, matrix);
  const Trained before{random_model(vocabulary(), parameters.dimension), host.loss};
  const double differs = difference(host, device);
  std::printf("%s, D=%zu: device and host differ by %.2g\n", name.c_str(), parameters.dimension,
              differs);
  report(name, host.loss > 1 && differs < tolerance && difference(before, host) > min_change &&
                   host.model.matrices().size() == device.model.matrices().size());
  report(name + ", the same bits again", same_matrices(device.model, again.model));
}

/// Waits for the first column in flight. One place for leave_out.sh.
template <class Run>
[[gnu::noinline]] double loss_of_next(Run& run) {
  return run.wait().loss;
}

/// Starts to train a column of a matrix, of which the device finds the contexts or is given them.
template <class Run>
void begin_column(Run& run, const WordContextMatrix& matrix, std::uint64_t column) {
  std::vector<WordId> contexts;
  if (!run.finds_contexts()) {
    contexts.resize(matrix.words().size());
    matrix.contexts(column, 0, contexts);
  }
  run.begin_column(column, column, contexts);
  run.train(Block::Sides::inputs, 0.1);
  run.train(Block::Sides::outputs, 0.1);
  run.end_column();
}

/// Trains some columns by the run of a kernel, two of them in flight at a time, and uses the model
/// at once; the run ends with two more in flight. Returns the model and the sum of the losses.
template <class Kernel>
Trained train_by_run(const WordContextMatrix& matrix, bool finds_contexts) {
  Hyperparameters parameters{.dimension = 32};
  Trained result{random_model(vocabulary(), parameters.dimension), 0};
  auto run = Kernel::from(parameters).start(UniformMatrix(), parameters, result.model);
  run->set_words(matrix.words(), {0, detail::ColumnParts{matrix.words().size()}.count()});
  if (finds_contexts) run->set_contexts(*matrix.lists());
  for (std::uint64_t column = 0; column <= 6; ++column) {
    if (column < 6) begin_column(*run, matrix, column);
    if (column > 0) result.loss += loss_of_next(*run);
  }
  run->download(result.model);
  Trained copy{random_model(vocabulary(), parameters.dimension), result.loss};
  copy.model.set_matrices(result.model.copy_of_matrices());
  begin_column(*run, matrix, 6);
  begin_column(*run, matrix, 7);
  return copy;
}

/// The same by the device and the host.
void compare_runs(const char* name, bool finds_contexts) {
  using Kernel = CudaUniformKernel<Adam>;
  using OnHost = cuda::ColumnKernel<cuda::HostMachine, cuda::CudaMethod::RowSizes, Adam>;
  const WordContextMatrix matrix = matrix_of();
  const Trained host = train_by_run<OnHost>(matrix, finds_contexts);
  const double differs = difference(host, train_by_run<Kernel>(matrix, finds_contexts));
  std::printf("%s: device and host differ by %.2g\n", name, differs);
  report(name, host.loss > 1 && differs < tolerance);
}

/// Copies a batch that is staged in several pieces. A function for leave_out.sh.
[[gnu::noinline]] void copy_long_batch() {
  cuda::CudaMachine::Queue machine;
  cuda::CudaMachine::Slot slot;
  detail::SentenceBatch batch;
  batch.words.resize(5 * cuda::CudaMachine::Slot::staged_words / 2);
  std::iota(batch.words.begin(), batch.words.end(), WordId{7});
  std::vector<std::uint32_t> expected(batch.words), got(expected.size() + 1);
  batch.ends.push_back(static_cast<std::uint32_t>(expected.size()));
  expected.push_back(batch.ends[0]);
  const cuda::DeviceArray<std::uint32_t> to(got.size());
  slot.copy(batch, to.data(), machine);
  machine.copy(got.data(), to.data(), got.size());
  report("copy", got == expected);
}

/// Copies a matrix back in several pieces, while a batch that is staged in the first slot is still
/// being copied. A function for leave_out.sh.
[[gnu::noinline]] void copy_long_matrix_back() {
  using Machine = cuda::CudaMachine;
  Machine::Queue machine;
  Machine::Slot slots[2];
  constexpr std::size_t stride = 32, rows = 5 * Machine::Slot::staged_words / 2 / stride;
  RowMatrix expected(rows, 20), got(rows, 20);
  for (std::size_t i = 0; i < rows; ++i)
    std::iota(expected.row(i).begin(), expected.row(i).end(), static_cast<float>(i));
  cuda::DeviceMatrix<Machine> matrix(expected, stride, "a matrix", machine);
  cuda::check(cudaDeviceSynchronize());  // so that nothing delays the way back but the batch
  detail::SentenceBatch batch;
  batch.add(std::vector<WordId>(1000, 7), 1000);
  const cuda::DeviceArray<std::uint32_t> to(1001);
  slots[0].copy(batch, to.data(), machine);
  matrix.download(got, machine, slots);
  report("copy back", same_matrix(got, expected));
  std::vector<std::uint32_t> copied(to.size());
  machine.copy(copied.data(), to.data(), copied.size());
  report("copy back, batch", std::ranges::count(copied, 7u) == 1000);
}

/// Trains an epoch of so many columns that several groups of them are waited for. On an emulated
/// device, counts how often the host waits for it: for each group, not for each column.
void train_groups(const std::string& name, const std::filesystem::path& folder = {}) {
  using OnHost = cuda::ColumnKernel<cuda::HostMachine, cuda::CudaMethod::RowSizes, Sgd>;
  const Hyperparameters parameters{.dimension = 20, .learning_rate = 0.01, .epochs = 1};
  std::size_t waits[2] = {};
  for (const std::size_t columns : {3, 40}) {
    const WordContextMatrix matrix =
        matrix_of(folder.empty() ? folder : folder / std::to_string(columns), columns);
    const auto count = [] {
#ifdef WORDLOOM_EMULATED_CUDA
      return emu::World::get().waits;
#else
      return 0;
#endif
    };
    const auto before = count();
    const Trained device = train_alone<CudaUniformKernel<Sgd>>(parameters, matrix);
    waits[columns == 40] = count() - before;
    const double differs = difference(train_alone<OnHost>(parameters, matrix), device);
    std::printf("%s, %zu columns: device and host differ by %.2g, %zu waits\n", name.c_str(),
                columns, differs, waits[columns == 40]);
    report(name, differs < tolerance);
  }
#ifdef WORDLOOM_EMULATED_CUDA
  report(name + ", a wait for each 16 columns", waits[1] == waits[0] + 2);
#endif
}

/// Ranks, each with the sync policy make_sync(self), have the bits of one.
template <class Kernel, class MakeSync>
bool are_one(std::size_t size, bool own_devices, MakeSync make_sync) {
  const Hyperparameters parameters{.dimension = 32, .learning_rate = 0.05, .epochs = 2};
  const WordContextMatrix matrix = matrix_of();
  const Trained alone = train_alone<Kernel>(parameters, matrix);
  std::vector<std::optional<Trained>> of_ranks(size);
  ThreadRanks::run(size, [&](ThreadRanks self) {
    Hyperparameters own = parameters;
    own.device = own_devices ? self.rank() : 0;
    of_ranks[self.rank()].emplace(train<Kernel>(own, matrix, make_sync(self)));
  });
  for (const auto& rank : of_ranks)
    if (!same_matrices(rank->model, alone.model)) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1) only = argv[1];
  int devices = 0;
  try {
    cuda::use_device(0);
    cuda::check(cudaGetDeviceCount(&devices));
  } catch (const DeviceError& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  const auto parameters = [](std::size_t dimension, double rate) {
    return Hyperparameters{.dimension = dimension, .learning_rate = rate, .epochs = 2};
  };
  if (is_wanted("sgd")) {
    compare<Sgd>("sgd", parameters(20, 0.1));
    Hyperparameters many = parameters(300, 0.1);
    many.minibatch = 7;
    many.shared_negatives = 9;
    compare<Sgd>("sgd, 7 words share 9 negatives", many);
    many = parameters(500, 0.1);
    many.minibatch = 1;
    compare<Sgd>("sgd, negatives of each pair", many);
  }
  if (is_wanted("adam")) compare<Adam>("adam", parameters(20, 1e-3));
  if (is_wanted("adagrad")) compare<AdaGrad>("adagrad", parameters(300, 1e-2));
  if (is_wanted("file")) {
    std::string name =
        (std::filesystem::temp_directory_path() / "wordloom-columns-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw IoError("cannot make " + name);
    compare<Sgd>("contexts in a file", parameters(20, 0.1), matrix_of(name + "/contexts"));
    train_groups("groups of columns in a file", name);
    std::filesystem::remove_all(name);
  }
  if (is_wanted("copy")) copy_long_batch();
  if (is_wanted("copy_back")) copy_long_matrix_back();
  if (is_wanted("groups")) train_groups("groups of columns");
  if (is_wanted("run")) compare_runs("run", true);
  if (is_wanted("given")) compare_runs("given contexts", false);
  using Kernel = CudaUniformKernel<Adam>;
  if (is_wanted("staged"))
    report("two ranks on a device, by way of the host",
           are_one<Kernel>(2, false, [](ThreadRanks self) {
             return RowAllgather<StagedRanks<ThreadRanks>, CudaUniformKernel<Adam>::Replica>(
                 StagedRanks<ThreadRanks>(self));
           }));
  if (is_wanted("nccl")) {
#if WORDLOOM_HAS_NCCL
    if (devices > 1) {
      report("two ranks by NCCL", are_one<Kernel>(2, true, [](ThreadRanks self) {
               return RowAllgather<NcclRanks<ThreadRanks>, CudaUniformKernel<Adam>::Replica>(
                   NcclRanks<ThreadRanks>(self, self.rank()));
             }));
      return failures == 0 ? 0 : 1;
    }
#endif
    std::printf("left out: two ranks by NCCL, which need it and two devices\n");
  }
  return failures == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::printf("failed: %s\n", error.what());
  return 1;
}
