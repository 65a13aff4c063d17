#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <wordloom/core/error.hpp>
#include <wordloom/core/words.hpp>

/// Recognizes files in a format that Wordloom does not read by their first bytes, so that nothing
/// is trained on compressed bytes.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The kind of content expected in a file: text (also graphs, labels and test sets) or vectors,
/// which may be binary.
enum class Content { text, vectors };

/// Throws ForeignFormat if `begin`, the first bytes of the content of `path` (at least 512, or all
/// of them), are those of a format that cannot be read as `content`.
void refuse_foreign(const std::filesystem::path& path, std::string_view begin, Content content);

#if WORDLOOM_DEFINES_FUNCTIONS

/// A format that is recognized by the bytes at the beginning.
struct ForeignMagic {
  std::string_view bytes, name;
  /// A shell command in which % is the file, or advice if it has no %.
  std::string_view help;
  std::size_t at = 0;
};

using std::string_view_literals::operator""sv;

inline constexpr ForeignMagic foreign_magics[] = {
    {"\3757zXZ\0"sv, "an xz file", "xz -dc %"},
    {"\x17rE8P\x90", "an empty bzip2 file", "bzip2 -dc %", 4},
    {"\x28\xb5\x2f\xfd", "a Zstandard file", "zstd -dc %"},
    {"\x2a\x4d\x18", "a Zstandard or LZ4 file", "zstd -dc %", 1},
    {"\x04\x22\x4d\x18", "an LZ4 file", "lz4 -dc %"},
    {"\x5d\0\0"sv, "an LZMA file", "xz -dc %"},
    {"LZIP\x01", "an lzip file", "lzip -dc %"},
    {"\x89LZO", "an lzop file", "lzop -dc %"},
    {"\xff\x06", "a Snappy file", "unpack it first", 0},
    // A text that was compressed twice; a .gz file itself is read.
    {"\x1f\x8b", "a gzip file within another", "gzip -dc % | gzip -dc"},
    {"\x1f\x9d", "a file of compress", "gzip -dc %"},
    {"\x1f\xa0", "a file of compress", "gzip -dc %"},
    {"\x1f\x1e", "a file of pack", "gzip -dc %"},
    {"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z e -so %"},
    {"Rar!\x1a\x07", "a RAR archive", "unrar p -inul %"},
    {"ustar", "a tar archive", "tar -xOf %", 257},
    {"\xff\xfe\0\0"sv, "a text in UTF-32", "iconv -f UTF-32 -t UTF-8 %"},
    {"\0\0\xfe\xff"sv, "a text in UTF-32", "iconv -f UTF-32 -t UTF-8 %"},
    {"\xff\xfe", "a text in UTF-16", "iconv -f UTF-16 -t UTF-8 %"},
    {"\xfe\xff", "a text in UTF-16", "iconv -f UTF-16 -t UTF-8 %"},
    {"%PDF-", "a PDF file", "pdftotext % -"},
    {"%!PS-", "a PostScript file", "ps2ascii %"},
    {"{\\rtf", "an RTF file", "pandoc -f rtf -t plain %"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a Microsoft Office file",
     "save it as plain text in UTF-8"},
    {"\177ELF", "a program or object file (ELF)", "name the file with the text"},
    {"MZ\x90\0"sv, "a Windows program", "name the file with the text"},
    {"\xcf\xfa\xed\xfe", "a program (Mach-O)", "name the file with the text"},
    {"\x89HDF\r\n\x1a\n", "an HDF5 file", "export its data as text, for example with h5py"},
    {"ARROW1", "an Arrow file", "export it as text, for example with pandas.read_feather"},
    {"SQLite format 3\0"sv, "an SQLite database", "sqlite3 % 'select ...'"},
    {"Obj\x01", "an Avro file", "export it as text"},
    {"\x89PNG\r\n", "a PNG picture", "name the file with the text"},
    {"\xff\xd8\xff", "a JPEG picture", "name the file with the text"},
    {"GIF89a", "a GIF picture", "name the file with the text"},
    {"MATLAB 5.0 MAT-file", "a MATLAB file", "export its data as text"},
    {"\x80\x02", "a file of Python's pickle", "export it as text (gensim: save_word2vec_format)"},
    {"\x80\x03", "a file of Python's pickle", "export it as text (gensim: save_word2vec_format)"},
    {"\x80\x04", "a file of Python's pickle", "export it as text (gensim: save_word2vec_format)"},
    {"\x80\x05", "a file of Python's pickle", "export it as text (gensim: save_word2vec_format)"},
};

/// Formats of vectors and of Wordloom itself, which are not texts.
inline constexpr ForeignMagic binary_vectors[] = {
    {"\x93NUMPY", "a NumPy array", "give it where vectors are read, or export it as text"},
    {"\xba\x16\x4f\x2f", "a model of fastText", "give it where vectors or models are read"},
    {"wordloom model ", "a model of Wordloom", "give it where vectors or models are read"},
    {"wordloom graph arrays ", "a graph of Wordloom", "give it where a cache of a graph is read"},
    {"wordloom checkpoint ", "a checkpoint of Wordloom", "give it where checkpoints are read"},
    {"CORPUS3\0"sv, "an encoded corpus of Wordloom", "give it where a cache of a corpus is read"},
    {"CORPUS4\0"sv, "an encoded corpus of Wordloom", "give it where a cache of a corpus is read"},
    {"WORDLOOM SMALL\n", "compressed vectors of Wordloom", "give it where vectors are read"},
    {"WORDCX2\0"sv, "a word-context matrix of Wordloom",
     "give it where a file of contexts is read"},
};

/// Returns `path` quoted as one word of a shell command.
inline std::string shell_word(const std::filesystem::path& path) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%,=";
  std::string name = path.string();
  if (!name.empty() && name.find_first_not_of(plain) == name.npos) return name;
  std::string word = "'";
  for (const char c : name) c == '\'' ? word.append("'\\''") : word.append(1, c);
  return word + "'";
}

[[noreturn]] inline void throw_foreign(const std::filesystem::path& path, std::string_view name,
                                       std::string_view help) {
  const std::size_t at = help.find('%');
  if (at == help.npos) throw ForeignFormat(path, name, help, false);
  throw ForeignFormat(path, name,
                      joined({help.substr(0, at), shell_word(path), help.substr(at + 1)}), true);
}

/// Refuses a .zip file, with advice that depends on its content.
inline void refuse_zip(const std::filesystem::path& path, std::string_view begin) {
  // The name of the first file in the archive is at byte 30, then its content if it is not
  // compressed.
  const auto holds = [&](std::string_view part) {
    return begin.substr(0, 4096).find(part) != begin.npos;
  };
  const auto extension = path.extension();
  const bool is_office = holds("[Content_Types].xml");
  if (extension == ".docx" || (is_office && holds("word/")))
    throw_foreign(path, "a Word document", "pandoc -f docx -t plain %");
  if (extension == ".odt" || holds("application/vnd.oasis.opendocument.text"))
    throw_foreign(path, "an OpenDocument text", "pandoc -f odt -t plain %");
  if (extension == ".xlsx" || extension == ".ods" || (is_office && holds("xl/")))
    throw_foreign(path, "a spreadsheet", "save it as CSV in UTF-8");
  if (extension == ".pptx") throw_foreign(path, "a presentation", "save it as plain text in UTF-8");
  if (extension == ".epub" || holds("application/epub+zip"))
    throw_foreign(path, "an EPUB book", "pandoc -f epub -t plain %");
  if (extension == ".npz" || holds(".npy"))
    throw_foreign(path, "a NumPy archive (.npz)", "save its arrays apart, with numpy.save");
  if (holds("data.pkl") || holds("/byteorder"))
    throw_foreign(path, "a PyTorch file", "export it as text or with numpy.save");
  // unzip does not read standard input.
  if (path == "-") throw ForeignFormat(path, "a zip archive", "funzip", true);
  throw_foreign(path, "a zip archive", "unzip -p %");
}

/// Returns whether every second byte of a text is zero, as in Western texts in UTF-16 without a
/// byte order mark. `zero`: which, 0 or 1.
inline bool is_utf16(std::string_view begin, std::size_t zero) {
  begin = begin.substr(0, 64);
  if (begin.size() < 8) return false;
  for (std::size_t i = 0; i < begin.size(); ++i)
    if ((begin[i] == '\0') != (i % 2 == zero)) return false;
  return true;
}

/// Returns whether bytes are unlikely to be a text in any encoding: more than 6 % are control
/// characters that are neither white space nor escapes. Random bytes have 10 %. Zero bytes count
/// only beside bytes above 127, since some texts in ASCII hold them.
inline bool is_binary(std::string_view begin) {
  begin = begin.substr(0, 4096);
  const auto count = [&](auto is) {
    return static_cast<std::size_t>(std::count_if(
        begin.begin(), begin.end(), [&](char c) { return is(static_cast<unsigned char>(c)); }));
  };
  const std::size_t zeros = count([](unsigned char c) { return c == 0; });
  const std::size_t control = count([](unsigned char c) {
    return (c > 0 && c < 8) || (c > 13 && c < 32 && c != 26 && c != 27) || c == 127;
  });
  const bool is_ascii = count([](unsigned char c) { return c > 127; }) == 0;
  const std::size_t odd = is_ascii ? control : control + zeros;
  return odd >= 16 && odd * 100 > 6 * begin.size();
}

/// Returns whether a file begins as vectors in word2vec's binary format: "V D", and then a word and
/// floats, some of whose bytes are not text.
inline bool is_word2vec_binary(std::string_view begin) {
  // No newline in 64 bytes: a text, which may be one line of gigabytes.
  const std::size_t end =
      (std::min)({begin.substr(0, 64).find('\n'), begin.size(), std::size_t{64}});
  const std::string_view header = begin.substr(0, end);
  const std::size_t blank = header.find(' ');
  if (blank == header.npos || !number_in<std::uint32_t>(header.substr(0, blank)) ||
      !number_in<std::uint32_t>(header.substr(blank + 1)))
    return false;
  begin = begin.substr(end, 4096);
  const auto has = [&](unsigned char first, unsigned char last) {
    return std::any_of(begin.begin(), begin.end(), [&](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return byte >= first && byte <= last;
    });
  };
  return has(128, 255) && (has(0, 7) || has(14, 25));
}

WORDLOOM_FUNCTION void refuse_foreign(const std::filesystem::path& path, std::string_view begin,
                                      Content content) {
  if (begin.starts_with("BZh") &&
      begin.substr((std::min<std::size_t>)(begin.size(), 4)).starts_with("1AY&SY"))
    throw_foreign(path, "a bzip2 file", "bzip2 -dc %");
  for (const ForeignMagic& magic : foreign_magics)
    if (begin.size() >= magic.at && begin.substr(magic.at).starts_with(magic.bytes))
      throw_foreign(path, magic.name, magic.help);
  if (begin.starts_with("PK\x03\x04") || begin.starts_with("PK\x05\x06")) refuse_zip(path, begin);
  if (begin.starts_with("PAR1") && (begin.ends_with("PAR1") || is_binary(begin)))
    throw_foreign(path, "a Parquet file",
                  "export it as text, for example with pandas.read_parquet");
  if (content == Content::vectors) return;
  for (const ForeignMagic& magic : binary_vectors)
    if (begin.starts_with(magic.bytes)) throw_foreign(path, magic.name, magic.help);
  if (is_utf16(begin, 1)) throw_foreign(path, "a text in UTF-16", "iconv -f UTF-16LE -t UTF-8 %");
  if (is_utf16(begin, 0)) throw_foreign(path, "a text in UTF-16", "iconv -f UTF-16BE -t UTF-8 %");
  if (is_word2vec_binary(begin))
    throw_foreign(path, "a file of vectors (word2vec's binary format)",
                  "give it where vectors are read");
  if (is_binary(begin)) throw_foreign(path, "a binary file", "name the file with the text");
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
