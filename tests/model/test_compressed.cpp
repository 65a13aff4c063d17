#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/core/random.hpp>
#include <wordloom/io/embeddings_file.hpp>
#include <wordloom/model/compressed_embeddings.hpp>
#include <wordloom/model/embeddings.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

using Compression = Embeddings::Compression;
constexpr Compression::Format all_formats[] = {Compression::float32, Compression::float16,
                                               Compression::int8, Compression::product};

WordList numbered_words(std::size_t count) {
  WordList words;
  for (std::size_t i = 0; i < count; ++i) words.append("w" + std::to_string(i));
  return words;
}

/// Vectors of random numbers of several magnitudes; the last word has zeros.
Embeddings random_vectors(std::size_t words, std::size_t dimension) {
  RowMatrix rows(words, dimension);
  Random random(7);
  for (std::size_t i = 0; i + 1 < words; ++i)
    for (float& x : rows.row(i))
      x = static_cast<float>((random.uniform() - 0.5) * std::pow(10.0, double(i % 9) - 5));
  std::vector<std::uint64_t> counts(words, 3);
  return {numbered_words(words), std::move(rows), counts};
}

/// Vectors that float16, int8 and (up to 256 words) product quantisation hold exactly.
Embeddings exact_vectors(std::size_t words, std::size_t dimension) {
  RowMatrix rows(words, dimension);
  Random random(8);
  for (std::size_t i = 0; i < words; ++i) {
    for (float& x : rows.row(i)) x = static_cast<float>(random.below(255)) - 127;
    rows.row(i)[i % dimension] = i % 2 == 0 ? 127 : -127;
  }
  return {numbered_words(words), std::move(rows)};
}

/// The nearest number of half precision, the even one of two, in double precision.
double half_precision(double x) {
  if (x == 0) return 0;
  const double step = std::ldexp(1.0, std::max(std::ilogb(x), -14) - 10);
  return std::nearbyint(x / step) * step;
}

void check_equal(const std::vector<Neighbour>& a, const std::vector<Neighbour>& b, double error) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].word == b[i].word);
    CHECK(std::abs(double(a[i].score) - double(b[i].score)) <= error);
  }
}

}  // namespace

TEST_CASE("compressed numbers are the nearest that their form has", "[compressed]") {
  for (const std::size_t dimension : {1u, 15u, 64u, 77u}) {
    const Embeddings words = random_vectors(300, dimension);
    const auto exact = words.compress({.format = Compression::float32});
    const auto half = words.compress({.format = Compression::float16});
    const auto whole = words.compress({.format = Compression::int8});
    for (std::size_t id = 0; id < words.size(); ++id) {
      const auto vector = words.vector(id);
      double largest = 0;
      for (const float x : vector) largest = std::max(largest, std::abs(double(x)));
      const auto a = exact.vector(id), b = half.vector(id), c = whole.vector(id);
      for (std::size_t i = 0; i < dimension; ++i) {
        REQUIRE(a[i] == vector[i]);
        REQUIRE(double(b[i]) == half_precision(double(vector[i])));
        REQUIRE(std::abs(double(c[i]) - double(vector[i])) <= largest / 127 / 2 * 1.00001);
      }
    }
  }
}

TEST_CASE("halves are rounded to even, to the smallest and the largest", "[compressed]") {
  const std::vector<float> numbers{1.0f + 0x1p-11f, 1.0f + 0x3p-11f,  -65504.0f,  65519.0f,
                                   0x1p-24f,        0x1p-25f,         0x1.8p-24f, 0x1.ffcp-15f,
                                   0x1.ffep-15f,    -0x1.000002p-25f, -0.0f,      1e-30f};
  RowMatrix rows(1, numbers.size());
  std::ranges::copy(numbers, rows.row_data(0));
  const auto small =
      Embeddings(numbered_words(1), std::move(rows)).compress({.format = Compression::float16});
  for (std::size_t i = 0; i < numbers.size(); ++i)
    CHECK(double(small.vector("w0")[i]) == half_precision(double(numbers[i])));
}

TEST_CASE("product quantisation takes the nearest centre in each part", "[compressed]") {
  const Embeddings words = random_vectors(700, 10);
  const auto small = words.compress({.format = Compression::product, .bytes = 3});
  const std::pair<std::size_t, std::size_t> parts[] = {{0, 4}, {4, 7}, {7, 10}};
  // Directions, which are compressed, and as they are decoded.
  std::vector<std::vector<double>> units, decoded;
  for (std::size_t id = 0; id + 1 < words.size(); ++id) {
    const double scale = double(words.inverse_lengths()[id]);
    const auto of = [&](const auto& vector) {
      std::vector<double> unit;
      for (const float x : vector) unit.push_back(double(x) * scale);
      return unit;
    };
    units.push_back(of(words.vector(id)));
    decoded.push_back(of(small.vector(id)));
  }
  double error = 0;
  for (const auto& [first, last] : parts) {
    const auto distance = [&](const auto& a, const auto& b) {
      double sum = 0;
      for (std::size_t c = first; c < last; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
      return sum;
    };
    for (std::size_t i = 0; i < units.size(); ++i) {
      const double own = distance(units[i], decoded[i]);
      error += own;
      for (std::size_t j = 0; j < units.size(); j += 3)
        REQUIRE(own <= distance(units[i], decoded[j]) + 1e-6);
    }
  }
  CHECK(error / double(units.size()) < 0.15);  // of squared lengths of 1
  for (const float x : small.vector(words.size() - 1)) CHECK(x == 0);
  CHECK(small.vector_bytes() < 700 * (3 + 8) + 10 * 256 * 4 + 320);
}

TEST_CASE("queries give what those of float32 give", "[compressed]") {
  for (const std::size_t dimension : {5u, 16u, 45u}) {
    const Embeddings words = exact_vectors(150, dimension);
    for (const auto format : all_formats) {
      CAPTURE(dimension, int(format));
      const auto small = words.compress({.format = format});
      const double error = 2e-6;
      REQUIRE(small.format() == format);
      CHECK(std::abs(small.similarity("w3", "w4") - words.similarity("w3", "w4")) <= error);
      check_equal(small.most_similar("w7", 20), words.most_similar("w7", 20), error);
      check_equal(small.most_similar({"w7", "w9"}), words.most_similar({"w7", "w9"}), error);
      check_equal(small.most_similar({.positive = {"w1", "w2"}, .negative = {"w3"}}, 5),
                  words.most_similar({.positive = {"w1", "w2"}, .negative = {"w3"}}, 5), error);
      check_equal(small.most_similar(words.vector("w8"), 3, {.restrict_vocabulary = 7}),
                  words.most_similar(words.vector("w8"), 3, {.restrict_vocabulary = 7}), error);
      for (const auto method : {AnalogyMethod::cos_add, AnalogyMethod::cos_mul})
        check_equal(small.analogy("w1", "w2", "w3", 5, method),
                    words.analogy("w1", "w2", "w3", 5, method), 2e-5);
      std::vector<std::string> all;
      for (std::size_t i = 0; i < words.size(); ++i) all.emplace_back(words.word(i));
      const auto one = small.most_similar_each(all, 4, {.threads = 1});
      const auto three = small.most_similar_each(all, 4, {.threads = 3});
      const auto expected = words.most_similar_each(all, 4);
      for (std::size_t i = 0; i < all.size(); ++i) {
        check_equal(one[i], expected[i], error);
        check_equal(three[i], one[i], 0);
      }
      CHECK(small.most_similar("w1", 1000).size() == 149);
      CHECK(small.most_similar("w1", 0).empty());
    }
  }
  const auto small = exact_vectors(20, 4).compress({});
  CHECK_THROWS_AS(small.vector("x"), UnknownWord);
  CHECK_THROWS_AS(small.most_similar(Embeddings::Sum{}), InvalidArgument);
  CHECK_THROWS_AS(small.most_similar(std::vector<float>(3)), InvalidArgument);
  CHECK_THROWS_AS(small.most_similar(std::vector<float>(4, std::nanf(""))), InvalidArgument);
}

TEST_CASE("a compressed file is mapped with its words and counts", "[compressed]") {
  const TemporaryFolder folder;
  const Embeddings numbers = random_vectors(5, 9);
  const std::vector<std::string> odd{"a", "New York", "", "a", "\n\xff"};
  const Embeddings words(WordList::from(odd), numbers.vectors().copy(),
                         std::vector<std::uint64_t>(5, 6));
  for (const auto format : all_formats) {
    CAPTURE(int(format));
    const auto path = folder / "small";
    const auto made = words.compress({.format = format, .threads = 1});
    made.save(path);
    CHECK(read_file(path).size() == made.bytes());
    words.compress({.format = format, .threads = 3}).save(folder / "by threads");
    CHECK(read_file(path) == read_file(folder / "by threads"));
    const auto small = CompressedEmbeddings::load(path);
    small.validate();
    CHECK(small.format() == format);
    CHECK(small.find("a") == 0u);
    CHECK(small.find("") == 2u);
    CHECK(small.find("\n\xff") == 4u);
    CHECK_FALSE(small.contains("b"));
    CHECK(small.word(1) == "New York");
    CHECK(small.counts()[4] == 6);
    CHECK(small.vector(1) == made.vector(1));
    small.save(path);  // over the file that is mapped
    CHECK(CompressedEmbeddings::load(path).vector(3) == small.vector(3));
    // Code for vectors of any format decodes them.
    CHECK(VectorFile(path).format() == VectorFormat::compressed);
    const auto loaded = Embeddings::load(path);
    CHECK(loaded.words() == words.words());
    CHECK(loaded.vector(1)[3] == small.vector(1)[3]);
    CHECK(Embeddings::load(path, {.limit = 2}).size() == 2);
  }
  CHECK(contains(
      message_of<InvalidArgument>([&] { words.save(folder / "int8", VectorFormat::compressed); }),
      "embeddings.compress({...}).save(path)"));
}

TEST_CASE("a damaged compressed file is refused with the byte", "[compressed]") {
  const TemporaryFolder folder;
  const auto path = folder / "small";
  for (const auto format : all_formats) {
    CAPTURE(int(format));
    exact_vectors(6, 2).compress({.format = format}).save(path);
    const std::string whole = read_file(path);
    const auto load = [&](std::string bytes) {
      write_file(folder / "x", bytes);
      return CompressedEmbeddings::load(folder / "x");
    };
    // The centres of product quantisation are long: not each of their bytes.
    const std::size_t step = format == Compression::product ? 7 : 1;
    for (std::size_t size = 0; size < whole.size(); size += step) {
      CAPTURE(size);
      const auto message = message_of<FormatError>([&] { load(whole.substr(0, size)); });
      CHECK(
          contains(message, size < 15 ? "x: byte 0: expected" : "x: byte " + std::to_string(size)));
    }
    CHECK(contains(message_of<FormatError>([&] { load(whole + '\n'); }), "1 more bytes"));
    for (std::size_t at = 0; at < whole.size(); at += step) {
      CAPTURE(at);
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ 0x81);
      message_of<FormatError>([&] { load(bytes).validate(); });
      try {  // Without validate() answers may be wrong, but all memory is its own.
        const auto small = load(bytes);
        for (const char* const word : {"w0", "w5", "x"}) {
          const std::size_t found = small.contains(word) ? small.most_similar(word, 9).size() : 0;
          CHECK(found < 6);
        }
      } catch (const FormatError& error) {
        CHECK(tells_its_place(error));
      }
    }
    std::string newer = whole;
    newer[16] = 2;
    CHECK(contains(message_of<FormatError>([&] { load(newer); }),
                   "x: byte 16: expected version 1 of compressed vectors, got version 2, written "
                   "by a newer version of Wordloom"));
  }
}

TEST_CASE("compression refuses what it cannot hold", "[compressed]") {
  const auto message = [](const Embeddings& words, const Compression& compression) {
    return message_of<InvalidArgument>([&] { static_cast<void>(words.compress(compression)); });
  };
  const Embeddings words = exact_vectors(3, 4);
  CHECK(
      contains(message(words, {.format = Compression::int8, .bytes = 2}), "bytes is for product"));
  CHECK(contains(message(words, {.format = Compression::product, .bytes = 5}), "bytes is 5"));
  const auto with = [](float x) {
    RowMatrix rows(2, 2);
    rows.row(1)[1] = x;
    return Embeddings(numbered_words(2), std::move(rows));
  };
  for (const auto format : all_formats)
    CHECK(contains(message(with(std::numeric_limits<float>::quiet_NaN()), {.format = format}),
                   "the vector of 'w1' contains a number that is not finite"));
  CHECK(contains(message(with(65520), {.format = Compression::float16}), "65504: use int8"));
  CHECK(contains(message(with(1e-8f), {.format = Compression::float16}), "use int8"));
  for (const float x : {3.2e38f, 2e-39f})
    CHECK(contains(message(with(x), {.format = Compression::product}),
                   "the vector of 'w1' has the length"));
  const Embeddings large = with(3e38f);
  CHECK(large.compress({.format = Compression::product, .bytes = 2}).vector(1)[1] == Approx(3e38f));
  CHECK(large.similarity(1, 1) == Approx(1));
  CHECK(large.compress({}).similarity(1, 1) == Approx(1));
}
