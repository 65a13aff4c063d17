#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/core/words.hpp>
#include <wordloom/graph/detail/edge_fields.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// The header of a Matrix Market file.
struct MatrixMarketHeader {
  std::uint64_t nodes = 0, edges = 0;
  std::uint64_t lines = 0;  // up to the first edge
  bool symmetric = false;
};

/// Returns the header of a file, or nothing for a file of another format. `begin`: its first lines.
/// The banner may have letters of any case, and white space before it. Throws FormatError with the
/// line.
std::optional<MatrixMarketHeader> read_matrix_market_header(const std::filesystem::path& path,
                                                            std::string_view begin, bool weighted);

#if WORDLOOM_DEFINES_FUNCTIONS

WORDLOOM_FUNCTION std::optional<MatrixMarketHeader> read_matrix_market_header(
    const std::filesystem::path& path, std::string_view begin, bool weighted) {
  constexpr std::uint64_t max_nodes = (std::numeric_limits<WordId>::max)() - 1;
  constexpr std::string_view banner = "%%matrixmarket";
  const std::string_view start = trimmed_field(without_byte_order_mark(begin));
  if (in_lower_case(start.substr(0, banner.size())) != banner) return std::nullopt;
  MatrixMarketHeader header;
  bool has_banner = false, complete = false;
  for_each_line(begin, [&](std::string_view line, std::uint64_t number) {
    if (complete) return;
    const auto refuse = [&](const std::string& expected) {
      throw FormatError::at_line(path, number, expected, shown(line));
    };
    std::array<std::string, 5> fields;
    const std::size_t count =
        for_each_run(line, by_white_space, [&](std::size_t i, std::size_t, auto field) {
          if (i < fields.size()) fields[i] = field;
        });
    header.lines = number;
    if (count == 0) return;
    if (!has_banner) {
      has_banner = true;
      for (std::string& field : fields) field = in_lower_case(field);
      const auto is_one_of = [](std::string_view field, auto... names) {
        return ((field == names) || ...);
      };
      if (count != 5 || fields[1] != "matrix" || fields[2] != "coordinate" ||
          !is_one_of(fields[3], "real", "integer", "pattern") ||
          !is_one_of(fields[4], "general", "symmetric"))
        refuse(
            "'%%MatrixMarket matrix coordinate', then real, integer or pattern, then general "
            "or symmetric");
      if (weighted && fields[3] == "pattern") refuse("weights, which a pattern does not have");
      header.symmetric = fields[4] == "symmetric";
      return;
    }
    if (fields[0].starts_with('%')) return;
    std::array<std::optional<std::uint64_t>, 3> sizes;
    for (std::size_t i = 0; i < 3; ++i) sizes[i] = number_in<std::uint64_t>(fields[i]);
    if (count != 3 || !sizes[0] || !sizes[1] || !sizes[2] || sizes[0] != sizes[1])
      refuse("rows and as many columns, and the number of edges");
    if (*sizes[0] > max_nodes) refuse(joined({"at most ", max_nodes, " rows"}));
    header.nodes = *sizes[0];
    header.edges = *sizes[2];
    complete = true;
  });
  if (!complete)
    throw FormatError::at_line(path, header.lines, "the number of rows, columns and edges", "none");
  return header;
}

#endif

}}}  // namespace wordloom::WORDLOOM_ABI::detail
