#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/row_matrix.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/corpus/subwords.hpp>
#include <wordloom/corpus/vocabulary.hpp>

/// The .bin files of fastText, read part by part.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The header before the words, in fastText's names.
struct [[gnu::packed]] FastTextHeader {
  std::int32_t magic = 793712314, version = 12;
  std::int32_t dim = 0, ws = 0, epoch = 0, min_count = 0, neg = 0, word_ngrams = 1;
  std::int32_t loss = 2;   // 1 hs, 2 ns, 3 softmax, 4 ova
  std::int32_t model = 2;  // 1 cbow, 2 skipgram, 3 supervised
  std::int32_t bucket = 0, minn = 0, maxn = 0, lr_update_rate = 100;
  double t = 0;
  std::int32_t size = 0, nwords = 0, nlabels = 0;
  std::int64_t ntokens = 0, pruneidx_size = -1;  // -1: not pruned
};
static_assert(sizeof(FastTextHeader) == 92);

/// Returns whether a file begins with the magic number 793712314, little-endian like the machine.
inline bool has_fasttext_magic(std::string_view text) noexcept {
  static_assert(std::endian::native == std::endian::little);
  return text.starts_with("\xba\x16\x4f\x2f");
}

/// Reads a file of fastText from front to back: constructor, `input`, then `output` or
/// `skip_output`. Throws FormatError with the byte; allocates only memory for content that the file
/// is long enough to hold.
class FastTextReader {
 public:
  /// The file must outlive the reader.
  explicit FastTextReader(const InputFile& file) : cursor_(file) {
    if (!has_fasttext_magic(cursor_.rest()))
      cursor_.fail(0, "fastText's magic number 793712314", shown(cursor_.rest().substr(0, 4)));
    using H = FastTextHeader;
    constexpr std::int64_t max_int = 0x7fff'ffff;
    const H h = header_ = read<H>("a header of 92 bytes");
    check_field(offsetof(H, version), "version", h.version, 11, 12);
    check_field(offsetof(H, dim), "dim", h.dim, 1, max_int);
    check_field(offsetof(H, loss), "loss", h.loss, 1, 4);
    check_field(offsetof(H, model), "an unsupervised model (3 is a classifier),", h.model, 1, 2);
    check_field(offsetof(H, maxn), "maxn", h.maxn, 0, 1000);
    check_field(offsetof(H, minn), "minn", h.minn, 0, h.maxn == 0 ? max_int : h.maxn);
    check_field(offsetof(H, bucket), "bucket", h.bucket, h.maxn == 0 ? 0 : 1, max_int);
    check_field(offsetof(H, nwords), "nwords", h.nwords, 1, max_int);
    check_field(offsetof(H, nlabels), "nlabels", h.nlabels, 0, max_int);
    const std::int64_t size = std::int64_t{h.nwords} + h.nlabels;
    check_field(offsetof(H, size), "size", h.size, size, size);
    check_field(offsetof(H, pruneidx_size), "a model that is not pruned,", h.pruneidx_size, -1, -1);

    WordCounter counter;
    for (std::int32_t i = 0; i < h.nwords; ++i) read_word(counter);
    // Labels that were in the text (__label__...) follow the words; in a model of words neither
    // matrix has rows for them.
    WordCounter labels;
    for (std::int32_t i = 0; i < h.nlabels; ++i) read_word(labels, 1);
    vocabulary_ = Vocabulary::from_counter(counter, {.min_count = 1}, file.path());
    // fastText leaves words with equal counts in any order.
    counter.for_each(
        [&](std::string_view word, std::uint64_t) { ids_.push_back(*vocabulary_.find(word)); });
  }

  const Vocabulary& vocabulary() const noexcept { return vocabulary_; }
  /// Returns the options of subwords; maxn is 0 if there are no n-grams.
  SubwordOptions subwords() const noexcept {
    if (header_.maxn == 0) return {.maxn = 0};
    return {static_cast<std::size_t>(header_.minn), static_cast<std::size_t>(header_.maxn),
            static_cast<std::size_t>(header_.bucket)};
  }

  void require_negative_sampling() const {
    if (header_.loss != FastTextHeader().loss)
      cursor_.fail(offsetof(FastTextHeader, loss), "loss 2 (ns) to train on",
                   detail::joined({header_.loss, ": load_fasttext reads its vectors"}));
  }

  /// Returns the rows of the words, by id, then those of the n-grams: [V + subwords().rows() x D].
  RowMatrix input() {
    const std::size_t rows = word_count() + static_cast<std::size_t>(header_.bucket);
    return rows_of(take_matrix("an input matrix", rows), word_count() + subwords().rows());
  }
  RowMatrix output() { return rows_of(skip_output(), word_count()); }  // [V x D]
  std::string_view skip_output() {
    const std::string_view floats = take_matrix("an output matrix", word_count());
    cursor_.end_file();
    return floats;
  }

 private:
  /// Reads an entry of the dictionary; `type`: 0 words, 1 labels.
  void read_word(WordCounter& counter, std::int8_t type = 0) {
    const std::size_t at = cursor_.position();
    const std::string_view word = cursor_.rest().substr(0, cursor_.rest().find('\0'));
    if (word.size() == cursor_.rest().size())
      cursor_.fail(at, "a word and a zero byte", "the end of the file");
    if (word.empty()) cursor_.fail(at, "a word", "an empty one");
    cursor_.take(word.size() + 1);
    const auto count = read<std::int64_t>("a count");
    check_field(last_, "count", count, 1, (std::numeric_limits<std::int64_t>::max)() - total_);
    total_ += count;
    if (!counter.add(word, static_cast<std::uint64_t>(count)))
      cursor_.fail(at, "each word once", shown(word) + " again");
    const auto got = read<std::int8_t>("a type");
    check_field(last_, type == 0 ? "a type of words," : "a type of labels,", got, type, type);
  }

  /// Returns the floats of a matrix [rows x D].
  std::string_view take_matrix(const std::string& name, std::size_t rows) {
    const auto quantised = read<std::uint8_t>(name);
    check_field(last_, name + " that is not quantised,", quantised, 0, 0);
    const auto shape = [](auto r, auto c) { return detail::joined({r, " x ", c}); };
    const std::string expected = name + " of " + shape(rows, dimension());
    const auto got = read<std::array<std::int64_t, 2>>(expected);
    if (std::cmp_not_equal(got[0], rows) || got[1] != header_.dim)
      cursor_.fail(last_, expected, shape(got[0], got[1]));
    const std::size_t row_bytes = dimension() * sizeof(float), left = cursor_.rest().size();
    if (rows > left / row_bytes)
      cursor_.fail(cursor_.position(), expected,
                   detail::joined({"the end of the file after ", left, " bytes"}));
    return cursor_.take(rows * row_bytes);
  }

  /// Returns the first `count` of these rows, those of words by id.
  RowMatrix rows_of(std::string_view floats, std::size_t count) const {
    RowMatrix rows(count, dimension());
    const std::size_t bytes = dimension() * sizeof(float);
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(rows.row_data(i < word_count() ? ids_[i] : i), floats.data() + i * bytes, bytes);
    return rows;
  }

  std::size_t word_count() const noexcept { return ids_.size(); }
  std::size_t dimension() const noexcept { return static_cast<std::size_t>(header_.dim); }

  template <class T>
  T read(std::string_view expected) {
    last_ = cursor_.position();
    const std::string_view bytes = cursor_.take(sizeof(T));
    if (bytes.size() != sizeof(T)) cursor_.fail(last_, expected, "the end of the file");
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  void check_field(std::size_t at, std::string_view name, std::int64_t value, std::int64_t min,
                   std::int64_t max) const {
    if (value >= min && value <= max) return;
    const std::string upper = min == max ? "" : " to " + std::to_string(max);
    cursor_.fail(at, detail::joined({name, " ", min, upper}), std::to_string(value));
  }

  Cursor cursor_;
  std::size_t last_ = 0;  // the position of the last item that was read
  FastTextHeader header_;
  std::int64_t total_ = 0;  // sum of the counts
  Vocabulary vocabulary_;
  std::vector<WordId> ids_;  // [V] of the words in the order of the file
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
