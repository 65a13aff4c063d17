#include <cstddef>
#include <string>
#include <wordloom/core/error.hpp>
#include <wordloom/corpus/phrases.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

TEST_CASE("a damaged file of phrases is refused with its line", "[phrases]") {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& text) {
    write_file(folder / "p", text);
    return message_of<FormatError>([&] { static_cast<void>(Phrases::load(folder / "p")); });
  };
  const std::string head = "wordloom-phrases 2 _ of\n";
  CHECK(contains(error(""), "line 1: expected 'wordloom-phrases 2'"));
  CHECK(contains(error("new york 5\n"), "line 1: expected 'wordloom-phrases 2'"));
  CHECK(contains(error("wordloom-phrases 1 _\n"), "got 'wordloom-phrases 1 _'"));
  CHECK(contains(error("wordloom-phrases 2\n"), "line 1: "));
  CHECK(contains(error("wordloom-phrases 2x _\n"), "line 1: "));
  CHECK(contains(error(head + "new york 5\nnew york\n"), "line 3: expected two words and"));
  CHECK(contains(error(head + "york 5\n"), "line 2: expected two words and their score"));
  CHECK(contains(error(head + "new york nan\n"), "line 2: "));
  CHECK(contains(error(head + "new york city 5\n"), "line 2: expected two words, and only conn"));
  CHECK(contains(error(head + "of york 5\n"), "line 2: expected two words, and only conn"));
  CHECK(contains(error(head + "a b 5\n\na b 6\na c 5\na b 4\nend\n"),
                 "line 6: expected each phrase"));
  CHECK(contains(error(head + std::string(100, '\n')), "line 65: expected at most 64 passes"));
  const std::string whole = head + "a of b 5\n\na_of_b c 2\nend";
  write_file(folder / "p", whole);
  CHECK(Phrases::load(folder / "p").join("a of b c") == "a_of_b_c");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO("cut after byte " << size);
    CHECK(contains(error(whole.substr(0, size)), "line "));
  }
  CHECK(contains(error(head + "a b 5\n"),
                 "line 3: expected phrases up to a line 'end', got the end"));
  CHECK(contains(error(whole + "\na b 5\n"), "line 6: expected the end of the file after 'end'"));
}
