#include <string>
#include <wordloom/evaluation/letter_case.hpp>

#include "catch.hpp"

using namespace wordloom;

TEST_CASE("letters of all scripts become lower case", "[evaluation]") {
  CHECK(lower_case("") == "");
  CHECK(lower_case("Az@[`{09 ") == "az@[`{09 ");
  CHECK(lower_case("Österreich ÀÞ×ß÷ÿ ŸŽ") == "österreich àþ×ß÷ÿ ÿž");
  CHECK(lower_case("ĀāĂ İSTANBUL Iı ŁÓDŹ ǄǅǇ ẞ Ạ") == "āāă istanbul iı łódź ǆǆǉ ß ạ");
  CHECK(lower_case("ΑΘΉΝΑ Ὀδυσσεύς ἝΛΛΗΝ") == "αθήνα ὀδυσσεύς ἕλλην");
  CHECK(lower_case("Франция ЁЖИК Ѐ Ӏ Ұлт") == "франция ёжик ѐ ӏ ұлт");
  CHECK(lower_case("ՀԱՅԱՍՏԱՆ") == "հայաստան");
  CHECK(lower_case("Ⴀ Ა") == "ⴀ ა");
  CHECK(lower_case("Ꭰ Ⅷ Ⓐ Ａ Ω") == "ꭰ ⅷ ⓐ ａ ω");  // the last is the unit of resistance
  CHECK(lower_case("\U00010400 \U0001E900") == "\U00010428 \U0001E922");
  CHECK(lower_case("東京 عربي हिन्दी 한국 😀") == "東京 عربي हिन्दी 한국 😀");
}

TEST_CASE("a capital sigma that ends a word becomes the final one", "[evaluation]") {
  CHECK(lower_case("ΣΙΣΥΦΟΣ") == "σισυφος");
  CHECK(lower_case("Σ") == "σ");
}

TEST_CASE("bytes that are not UTF-8 do not change", "[evaluation]") {
  for (const std::string text :
       {"\xff", "\xc3", "\xc3z", "\x80", "\xe2\x82", "\xf5\x80\x80\x80", "\xc1\x81"})
    CHECK(lower_case("A" + text + "B") == "a" + text + "b");
  CHECK(lower_case(std::string("A\0B", 3)) == std::string("a\0b", 3));
}
