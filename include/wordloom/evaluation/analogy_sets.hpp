#pragma once
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <wordloom/core/detail/text_fields.hpp>
#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/evaluation/detail/test_file.hpp>
#include <wordloom/evaluation/letter_case.hpp>

/// Sets of analogies, in their published formats.
namespace wordloom { inline namespace WORDLOOM_ABI {

/// Questions about one relation: those given, and those made from each two of the pairs.
struct AnalogySection {
  /// The question "a is to b as c is to d".
  struct Question {
    std::string a, b, c, d;
  };

  /// A word and its answers, any of which is right.
  struct Pair {
    std::string word;
    std::vector<std::string> answers;
  };

  std::string name;
  std::vector<Question> questions;
  std::vector<Pair> pairs = {};
  /// The folder of a section of BATS, such as 1_Inflectional_morphology.
  std::string group = {};

  /// Returns whether questions are about syntax: sections named gram..., as in Google's set, and
  /// the morphology of BATS.
  bool syntactic() const { return name.starts_with("gram") || group.ends_with("morphology"); }

  /// Reads questions: a file like questions-words.txt, or a file of BATS, or a folder of such
  /// files.
  ///
  /// Like questions-words.txt: a line ": name" begins a section, other lines contain four words
  /// separated by tabs, commas, semicolons or white space, whichever occurs three times in the
  /// first of them (see TestFile). That line is a header if it contains one name numbered from 1 to
  /// 4, such as word1 ... word4.
  ///
  /// BATS: lines "word<TAB>answer/answer/...", or with commas between answers if there is no slash;
  /// the name of the file, without .txt, is that of the section. A folder is read with its
  /// subfolders, including links (except to one that it is in): all files named *.txt or *.txt.gz
  /// (or *.TXT), by name; the name of a subfolder is the group of its sections.
  ///
  /// Throws IoError, and FormatError with line and column.
  [[nodiscard]] static std::vector<AnalogySection> load(const std::filesystem::path& path);
};

namespace detail {

/// The words of an AnalogySection::Pair by id. It can be asked if the word and the first answer are
/// known.
struct KnownPair {
  std::optional<WordId> word, first;
  std::vector<WordId> answers = {};  // those that are known

  /// `find(text)` returns the id of a word, or nothing.
  template <class Find>
  static KnownPair of(const AnalogySection::Pair& pair, const Find& find) {
    KnownPair known{find(pair.word), std::nullopt};
    if (!pair.answers.empty()) known.first = find(pair.answers[0]);
    for (const auto& answer : pair.answers)
      if (const auto id = find(answer)) known.answers.push_back(*id);
    return known;
  }
  bool has_answer(WordId row) const {
    return std::find(answers.begin(), answers.end(), row) != answers.end();
  }
};

}  // namespace detail

#if WORDLOOM_DEFINES_FUNCTIONS

namespace detail {

/// Returns the name of a file without .txt and .gz.
inline std::string section_name(const std::filesystem::path& path) {
  std::filesystem::path name = path.filename();
  for (const char* const extension : {".gz", ".txt"})
    if (lower_case(name.extension().string()) == extension) name = name.stem();
  return name.string();
}

/// Returns whether fields are one name followed by the numbers 1 to 4.
inline bool is_question_header(const std::vector<TestFile::Field>& fields) {
  std::string number = "1";
  const std::string name = fields.empty() ? "" : column_name(fields[0].text);
  for (const auto& field : fields) {
    if (column_name(field.text) != name.substr(0, name.size() - 1) + number) return false;
    ++number[0];
  }
  return fields.size() == 4 && name.size() > 1 && name.ends_with('1');
}

inline AnalogySection::Pair read_analogy_pair(const TestFile& file, const TestFile::Line& line) {
  const auto fields = file.fields(line);
  constexpr auto expected = "a word, a tab and its answers";
  if (fields.size() != 2) file.refuse_count(line, fields, expected);
  if (fields[0].text.empty()) file.refuse(line, fields[0].column, "a word", "nothing");
  AnalogySection::Pair pair{fields[0].text, {}};
  std::string_view rest = fields[1].text;
  const char separator = rest.find('/') != rest.npos ? '/' : ',';
  while (!rest.empty()) {
    const std::size_t end = (std::min)(rest.find(separator), rest.size());
    const std::string_view answer = trimmed(rest.substr(0, end), is_white_space);
    rest.remove_prefix((std::min)(end + 1, rest.size()));
    if (!answer.empty()) pair.answers.emplace_back(answer);
  }
  if (pair.answers.empty()) file.refuse(line, fields[1].column, expected, shown(fields[1].text));
  return pair;
}

/// Reads the lines of a file like questions-words.txt.
inline void read_questions(TestFile& file, std::vector<AnalogySection>& sections,
                           const std::string& name) {
  bool is_first = true;
  for (const auto& line : file.lines()) {
    const std::size_t begin = line.text.find_first_not_of(white_space);
    if (line.text[begin] == ':') {
      std::string section;
      for_each_token(
          line.text.substr(begin + 1),
          [&](std::string_view token) { section.append(section.empty() ? "" : " ").append(token); },
          [] {});
      sections.push_back({std::move(section), {}});
      continue;
    }
    if (is_first) file.separate_as(line, 3);
    const auto fields = file.fields(line);
    if (std::exchange(is_first, false) && is_question_header(fields)) continue;
    if (fields.size() != 4) file.refuse_count(line, fields, "four words or ': section'");
    for (const auto& field : fields)
      if (field.text.empty()) file.refuse(line, field.column, "a word", "nothing");
    if (sections.empty()) sections.push_back({name, {}});
    sections.back().questions.push_back(
        {fields[0].text, fields[1].text, fields[2].text, fields[3].text});
  }
}

inline std::vector<AnalogySection> load_analogy_file(const std::filesystem::path& path,
                                                     const std::string& name,
                                                     const std::string& group) {
  TestFile file(path);
  std::vector<AnalogySection> sections;
  if (file.lines().empty()) file.refuse_empty("questions");
  const auto& first = file.lines()[0];
  file.separate_as(first, 1);
  const bool has_pairs =
      file.separator() == '\t' && !first.text.starts_with(':') && file.fields(first).size() == 2;
  if (!has_pairs) {
    read_questions(file, sections, name);
    const auto is_empty = [](const AnalogySection& section) { return section.questions.empty(); };
    if (std::ranges::all_of(sections, is_empty)) file.refuse_empty("questions");
    return sections;
  }
  std::size_t words = 0;
  for_each_token(
      first.text, [&](std::string_view) { ++words; }, [] {});
  if (words == 4)
    file.refuse(first, 1, "four words with one kind of separator, or a word and its answers",
                "two and two words");
  sections.push_back({section_name(path), {}, {}, group});
  for (const auto& line : file.lines()) sections[0].pairs.push_back(read_analogy_pair(file, line));
  if (file.lines().size() == 1)
    file.refuse(first, 1, "pairs of words, of which two make a question", "one pair");
  return sections;
}

/// Returns the files of a folder and its subfolders that may hold analogies.
inline std::vector<std::filesystem::path> analogy_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error, ignored;
  std::vector<std::filesystem::path> above{std::filesystem::canonical(folder, ignored)};
  const auto holds_folder = [root = above[0]](const std::filesystem::path& target) {
    return std::mismatch(target.begin(), target.end(), root.begin(), root.end()).first ==
           target.end();
  };
  std::filesystem::recursive_directory_iterator at(
      folder, std::filesystem::directory_options::follow_directory_symlink, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    if (at->is_directory(ignored)) {
      above.resize(static_cast<std::size_t>(at.depth()) + 1);
      const auto target = std::filesystem::canonical(at->path(), ignored);
      // A link to a folder that it is in: its files are read there, or are no part of this folder.
      if (holds_folder(target) || std::find(above.begin(), above.end(), target) != above.end())
        at.disable_recursion_pending();
      above.push_back(target);
    }
    const std::string name = lower_case(at->path().filename().string());
    if (!name.starts_with('.') && (name.ends_with(".txt") || name.ends_with(".txt.gz")) &&
        at->is_regular_file(ignored))
      files.push_back(at->path());
  }
  if (error) throw IoError::from_errno("read", folder, error.value());
  if (files.empty()) throw FormatError{folder, ": expected files *.txt of questions, got none"};
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace detail

WORDLOOM_FUNCTION std::vector<AnalogySection> AnalogySection::load(
    const std::filesystem::path& path) {
  const auto folder_of = [](const std::filesystem::path& file) {
    return std::filesystem::absolute(file).parent_path().lexically_normal().filename().string();
  };
  if (std::error_code ignored; !std::filesystem::is_directory(path, ignored)) {
    const std::string folder = folder_of(path);
    const bool is_of_bats = folder.ends_with("morphology") || folder.ends_with("semantics");
    return detail::load_analogy_file(path, "questions", is_of_bats ? folder : "");
  }
  std::vector<AnalogySection> sections;
  for (const auto& file : detail::analogy_files(path)) {
    auto more = detail::load_analogy_file(file, detail::section_name(file), folder_of(file));
    sections.insert(sections.end(), std::move_iterator(more.begin()),
                    std::move_iterator(more.end()));
  }
  return sections;
}

#endif

[[deprecated("use AnalogySection::load")]] inline std::vector<AnalogySection> load_analogies(
    const std::filesystem::path& path) {
  return AnalogySection::load(path);
}

}}  // namespace wordloom::WORDLOOM_ABI
