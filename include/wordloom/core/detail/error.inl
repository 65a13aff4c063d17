// Functions of errors (core/error.hpp).
namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

WORDLOOM_FUNCTION void MessagePart::append_to(std::string& message) const {
  if (kind_ == Kind::text) {
    message += text_;
  } else if (kind_ == Kind::path) {
    message += path_->string();
  } else if (kind_ == Kind::real) {  // the shortest text that is read as this number again
    std::array<char, 32> digits;
    message.append(digits.data(),
                   std::to_chars(digits.data(), digits.data() + digits.size(), real_).ptr);
  } else {
    message += kind_ == Kind::integer ? std::to_string(static_cast<std::int64_t>(natural_))
                                      : std::to_string(natural_);
  }
}

WORDLOOM_FUNCTION void MessagePart::add_to(FilePlace& place) const {
  if (kind_ == Kind::path && place.path.empty()) place.path = *path_;
  if (kind_ == Kind::line && !place.line) place.line = natural_;
  if (kind_ == Kind::byte && !place.byte) place.byte = natural_;
}

WORDLOOM_FUNCTION std::string joined(std::initializer_list<MessagePart> parts) {
  std::string message;
  for (const MessagePart& part : parts) part.append_to(message);
  return message;
}

}  // namespace detail

WORDLOOM_FUNCTION Error::Error(std::initializer_list<detail::MessagePart> message)
    : std::runtime_error(detail::joined(message)) {
  detail::FilePlace place;
  for (const detail::MessagePart& part : message) part.add_to(place);
  if (!place.path.empty()) place_ = std::make_shared<const detail::FilePlace>(std::move(place));
}

WORDLOOM_FUNCTION IoError IoError::from_errno(std::string_view action,
                                              const std::filesystem::path& path, int error_number) {
  return IoError{"cannot ", action, " '",
                 path,      "': ",  std::generic_category().message(error_number)};
}

WORDLOOM_FUNCTION FormatError FormatError::at_byte(const std::filesystem::path& path,
                                                   std::uint64_t byte, std::string_view expected,
                                                   std::string_view got) {
  return FormatError{path,     ": byte ", detail::ByteNumber{byte}, ": expected ", expected,
                     ", got ", got};
}

WORDLOOM_FUNCTION FormatError FormatError::at_line(const std::filesystem::path& path,
                                                   std::uint64_t line, std::string_view expected,
                                                   std::string_view got) {
  return FormatError{path,     ": line ", detail::LineNumber{line}, ": expected ", expected,
                     ", got ", got};
}

WORDLOOM_FUNCTION FormatError FormatError::at_line(const std::filesystem::path& path,
                                                   std::uint64_t line, std::uint64_t column,
                                                   std::string_view expected,
                                                   std::string_view got) {
  return FormatError{path,        ": line ", detail::LineNumber{line},
                     ", column ", column,    ": expected ",
                     expected,    ", got ",  got};
}

WORDLOOM_FUNCTION CorpusError CorpusError::no_known_word(const detail::MessagePart& source,
                                                         std::uint64_t words) {
  return CorpusError{source,
                     words == 0 ? ": no words" : ": none of its words is in the vocabulary"};
}

WORDLOOM_FUNCTION UnknownWord::UnknownWord(std::string_view w)
    : Error("unknown word '" + detail::without_controls(w.substr(0, 1000)) +
            (w.size() > 1000 ? "...'" : "'")),
      word(w) {}

namespace detail {

WORDLOOM_FUNCTION std::string without_controls(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 32 || byte == 127)
      result.append("\\x").append(1, digits[byte / 16]).append(1, digits[byte % 16]);
    else
      result += c;
  }
  return result;
}

WORDLOOM_FUNCTION std::string shown(std::string_view bytes) {
  std::string text(bytes.substr(0, 40));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
  return "'" + text + (bytes.size() > 40 ? "...'" : "'");
}

}  // namespace detail

}}  // namespace wordloom::WORDLOOM_ABI
