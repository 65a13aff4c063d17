#include <wordloom/core/detail/hash.hpp>

std::string text = wordloom::detail::shown(CLI::detail::join(words));
