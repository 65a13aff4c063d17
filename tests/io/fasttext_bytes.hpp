#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace fasttext {

/// A file written from fastText's own description of it, number by number.
struct Bytes {
  struct Entry {
    std::string word;
    std::int64_t count;
    std::int8_t type = 0;
  };
  std::int32_t magic = 793712314, version = 12;
  std::int32_t dim = 2, loss = 2, model = 2, bucket = 3, minn = 3, maxn = 6;
  std::int32_t size = 3, nwords = 3, nlabels = 0;
  std::int64_t pruned = -1;
  std::vector<Entry> entries{{"y", 5}, {"zz", 5}, {"x", 5}};
  std::int8_t quantised_input = 0, quantised_output = 0;
  std::int64_t input_rows = 6, input_columns = 2, output_rows = 3, output_columns = 2;
  std::vector<float> input{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, output{21, 22, 23, 24, 25, 26};
  std::string after;

  std::string text() const {
    std::string all;
    const auto put = [&](auto value) {
      all.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    put(magic);
    put(version);
    for (const std::int32_t x : {dim, 5, 1, 5, 5, 1, loss, model, bucket, minn, maxn, 100}) put(x);
    put(1e-4);
    for (const std::int32_t x : {size, nwords, nlabels}) put(x);
    put(std::int64_t{15});
    put(pruned);
    for (const Entry& entry : entries) {
      all.append(entry.word).append(1, '\0');
      put(entry.count);
      put(entry.type);
    }
    put(quantised_input);
    put(input_rows);
    put(input_columns);
    for (const float x : input) put(x);
    put(quantised_output);
    put(output_rows);
    put(output_columns);
    for (const float x : output) put(x);
    return all + after;
  }
};

}  // namespace fasttext
