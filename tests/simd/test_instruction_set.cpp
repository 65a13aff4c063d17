#include <string>
#include <vector>
#include <wordloom/core/error.hpp>
#include <wordloom/simd/instruction_set.hpp>

#include "catch.hpp"

using namespace wordloom;

TEST_CASE("the best target runs unless another is named", "[target]") {
  const std::vector<InstructionSet> available{{"avx512", 1}, {"avx2", 2}, {"scalar", 3}};
  CHECK(detail::choose_instruction_set(available, nullptr).highway == 1);
  CHECK(detail::choose_instruction_set(available, "avx2").highway == 2);
  CHECK(detail::choose_instruction_set(available, "scalar").highway == 3);
}

TEST_CASE("a missing target is refused with the list of available ones", "[target]") {
  const std::vector<InstructionSet> available{{"avx2", 2}, {"scalar", 3}};
  for (const char* wanted : {"avx512", "", "AVX2", "avx2 "}) {
    std::string message;
    try {
      detail::choose_instruction_set(available, wanted);
    } catch (const InvalidArgument& error) {
      message = error.what();
    }
    CHECK(message == "WORDLOOM_TARGET is '" + std::string(wanted) +
                         "', this program on this machine has: avx2, scalar");
  }
}

TEST_CASE("the target of the compiler's flags is always available, and last", "[target]") {
  const auto available = detail::available_instruction_sets();
  REQUIRE_FALSE(available.empty());
  CHECK(available.back().highway == HWY_STATIC_TARGET);
  for (std::size_t i = 1; i < available.size(); ++i)
    CHECK(available[i - 1].highway < available[i].highway);  // Highway's numbers: lower is better
}
