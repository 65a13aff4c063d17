#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/atomic_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/hash.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>

namespace wordloom {

/// Where a training run stands, between two sentences of each thread of each rank: all that
/// `Trainer::resume` needs but corpus and vocabulary.
///
/// As a file: the line "wordloom checkpoint 2", then three sections, each followed by a 64-bit hash
/// of it: numbers (64 bits each, little-endian, the first their count), input [V x D] and output
/// [V x D] (32-bit floats without padding).
struct Checkpoint {
  /// Where a thread is in its shard, and what it has not reported yet.
  struct Thread {
    std::uint64_t epoch = 0, sentences = 0;            // done, of that epoch
    std::uint64_t random_state = 0, random_gamma = 0;  // of Random
    std::uint64_t tokens = 0, pairs = 0;
    double loss = 0;
  };
  static constexpr std::size_t of_thread = 7;  // numbers
  struct EpochLoss {
    double loss = 0;
    std::uint64_t pairs = 0;
  };

  /// What a rank has done.
  struct Rank {
    std::uint64_t tokens = 0;       // trained and reported, all epochs together
    std::vector<EpochLoss> losses;  // of each epoch
    std::vector<Thread> threads;

    /// As many for each rank of a run.
    std::vector<std::uint64_t> numbers() const {
      std::vector<std::uint64_t> all{tokens};
      for (const auto& [loss, pairs] : losses) {
        all.push_back(std::bit_cast<std::uint64_t>(loss));
        all.push_back(pairs);
      }
      for (const Thread& t : threads)
        for (const std::uint64_t value : {t.epoch, t.sentences, t.random_state, t.random_gamma,
                                          t.tokens, t.pairs, std::bit_cast<std::uint64_t>(t.loss)})
          all.push_back(value);
      return all;
    }
    static constexpr std::size_t size(std::size_t epochs, std::size_t threads) {
      return 1 + 2 * epochs + of_thread * threads;
    }
    /// From size(epochs, threads) numbers.
    static Rank from(std::span<const std::uint64_t> all, std::size_t epochs, std::size_t threads) {
      auto next = all.begin();
      Rank rank{*next++, std::vector<EpochLoss>(epochs), std::vector<Thread>(threads)};
      for (EpochLoss& epoch : rank.losses) {
        epoch.loss = std::bit_cast<double>(*next++);
        epoch.pairs = *next++;
      }
      for (Thread& t : rank.threads) {
        for (std::uint64_t* value :
             {&t.epoch, &t.sentences, &t.random_state, &t.random_gamma, &t.tokens, &t.pairs})
          *value = *next++;
        t.loss = std::bit_cast<double>(*next++);
      }
      return rank;
    }
  };

  std::uint64_t method = 0;            // a fingerprint of policies and hyperparameters
  std::uint64_t vocabulary = 0;        // Vocabulary::fingerprint()
  std::uint64_t corpus_tokens = 0;     // of an epoch
  std::uint64_t synchronisations = 0;  // of ranks, that are over
  std::uint64_t sync_options = 0;      // a fingerprint of how ranks synchronise
  std::vector<Rank> ranks;             // with as many threads and epochs each
  RowMatrix input, output;

  /// All or nothing is written. Throws IoError.
  void save(const std::filesystem::path& path) const {
    AtomicFile file(path);
    file.write(magic);
    const auto all = numbers();
    std::vector<std::uint64_t> section{all.size()};
    section.insert(section.end(), all.begin(), all.end());
    write(file, section.data(), section.size() * sizeof(std::uint64_t));
    for (const RowMatrix* matrix : {&input, &output}) {
      Hash hash;
      for (std::size_t i = 0; i < matrix->rows(); ++i) {
        const auto row = matrix->row(i);
        hash.add(row.data(), row.size_bytes());
        file.write({reinterpret_cast<const char*>(row.data()), row.size_bytes()});
      }
      write_number(file, hash.value());
    }
    file.commit();
  }

  /// Throws IoError, and FormatError with the byte where a file is cut short or damaged.
  static Checkpoint load(const std::filesystem::path& path) {
    const MappedFile file(path);
    Reader reader{path, file.text(), 0};
    if (reader.take(magic.size(), "a checkpoint of Wordloom") != magic)
      throw FormatError::at_byte(path, 0, "a checkpoint of Wordloom, version 2",
                                 detail::shown(file.text().substr(0, magic.size())));
    const std::uint64_t count = reader.number();
    if (count > file.text().size() / sizeof(std::uint64_t)) reader.refuse("numbers");
    std::vector<std::uint64_t> section{count};
    for (std::uint64_t i = 0; i < count; ++i) section.push_back(reader.number());
    reader.check(section.data(), section.size() * sizeof(std::uint64_t));
    Checkpoint result;
    std::uint64_t rows = 0, columns = 0;
    if (!result.set_numbers(std::span(section).subspan(1), rows, columns)) reader.refuse("numbers");
    const std::uint64_t left = file.text().size() - reader.at;
    if (columns == 0 || rows > left / sizeof(float) / columns ||
        left != 2 * (rows * columns * sizeof(float) + sizeof(std::uint64_t)))
      reader.refuse("two matrices of " + std::to_string(rows) + " x " + std::to_string(columns) +
                    " floats");
    for (RowMatrix* matrix : {&result.input, &result.output}) {
      *matrix = RowMatrix(rows, columns);
      Hash hash;
      for (std::size_t i = 0; i < rows; ++i) {
        const auto row = matrix->row(i);
        std::memcpy(row.data(), reader.take(row.size_bytes(), "a row").data(), row.size_bytes());
        hash.add(row.data(), row.size_bytes());
      }
      reader.check(hash);
    }
    return result;
  }

 private:
  static constexpr std::string_view magic = "wordloom checkpoint 2\n";
  static constexpr std::size_t fixed = 11;

  /// Of bytes, a multiple of four at a time.
  class Hash {
   public:
    void add(const void* bytes, std::size_t size) {
      words_.resize(size / sizeof(WordId));
      std::memcpy(words_.data(), bytes, size);
      hash_.add(words_);
    }
    std::uint64_t value() const noexcept { return hash_.value(); }

   private:
    detail::IdsHash hash_;
    std::vector<WordId> words_;
  };

  struct Reader {
    const std::filesystem::path& path;
    std::string_view text;
    std::uint64_t at;

    [[noreturn]] void refuse(const std::string& expected) const {
      throw FormatError::at_byte(path, at, expected,
                                 std::to_string(text.size() - at) + " bytes that are not");
    }
    std::string_view take(std::size_t size, const char* what) {
      if (text.size() - at < size)
        throw FormatError::at_byte(path, at, what, "the end of the file");
      at += size;
      return text.substr(at - size, size);
    }
    std::uint64_t number() {
      std::uint64_t value = 0;
      std::memcpy(&value, take(sizeof value, "a number").data(), sizeof value);
      return value;
    }
    void check(const Hash& hash) {
      const std::uint64_t begin = at;
      if (number() != hash.value())
        throw FormatError::at_byte(path, begin, "the hash of what stands before", "another");
    }
    void check(const void* bytes, std::size_t size) {
      Hash hash;
      hash.add(bytes, size);
      check(hash);
    }
  };

  static void write_number(AtomicFile& file, std::uint64_t value) {
    file.write({reinterpret_cast<const char*>(&value), sizeof value});
  }
  static void write(AtomicFile& file, const void* bytes, std::size_t size) {
    Hash hash;
    hash.add(bytes, size);
    file.write({static_cast<const char*>(bytes), size});
    write_number(file, hash.value());
  }

  std::vector<std::uint64_t> numbers() const {
    const std::size_t epochs = ranks.empty() ? 0 : ranks[0].losses.size();
    const std::size_t threads = ranks.empty() ? 0 : ranks[0].threads.size();
    std::vector<std::uint64_t> all{method,       vocabulary,   corpus_tokens,   synchronisations,
                                   sync_options, input.rows(), input.columns(), ranks.size(),
                                   epochs,       threads,      of_thread};
    for (const Rank& rank : ranks) {
      const auto of_rank = rank.numbers();
      all.insert(all.end(), of_rank.begin(), of_rank.end());
    }
    return all;
  }
  /// False when there are not as many as they say.
  bool set_numbers(std::span<const std::uint64_t> all, std::uint64_t& rows,
                   std::uint64_t& columns) {
    if (all.size() < fixed || all[10] != of_thread) return false;
    const std::uint64_t count = all[7], epochs = all[8], threads = all[9];
    if (count == 0 || count > all.size() || epochs > all.size() || threads > all.size() ||
        all.size() - fixed != count * Rank::size(epochs, threads))
      return false;
    method = all[0];
    vocabulary = all[1];
    corpus_tokens = all[2];
    synchronisations = all[3];
    sync_options = all[4];
    rows = all[5];
    columns = all[6];
    const std::size_t size = Rank::size(epochs, threads);
    for (std::size_t rank = 0; rank < count; ++rank)
      ranks.push_back(Rank::from(all.subspan(fixed + rank * size, size), epochs, threads));
    return true;
  }
};

}  // namespace wordloom
