#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <wordloom/core/atomic_file.hpp>
#include <wordloom/core/mapped_file.hpp>
#include <wordloom/io/vector_rows.hpp>
#include <wordloom/model/embeddings.hpp>

/// The words of formats that keep them apart from the numbers, one a line.
namespace wordloom::detail {

inline void save_word_lines(const Embeddings& embeddings, const std::filesystem::path& path) {
  AtomicFile file(path);
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    file.write(checked_word(embeddings.word(i)));
    file.write("\n");
  }
  file.commit();
}

/// Throws FormatError unless there are `count` words.
inline WordList load_word_lines(const std::filesystem::path& path, std::size_t count) {
  const MappedFile file(path);
  Cursor cursor(path, file.text());
  WordList::Builder words;
  while (!cursor.at_end()) {
    const std::size_t begin = cursor.position();
    const std::string_view word = cursor.token();
    if (word.empty()) cursor.fail(begin, "a word", shown(cursor.rest()));
    if (words.size() == count)
      cursor.fail(begin, std::to_string(count) + " words, as there are vectors", "more");
    cursor.end_line("one word in a line");
    words.add(word);
  }
  if (words.size() != count)
    cursor.fail(cursor.position(), std::to_string(count) + " words, as there are vectors",
                std::to_string(words.size()));
  return std::move(words).build();
}

}  // namespace wordloom::detail
