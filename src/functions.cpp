// The functions that nearly all programs use of those that headers define as WORDLOOM_FUNCTION, for
// wordloom::precompiled. The others are in files of their own, which few programs link.
#define WORDLOOM_PRECOMPILED 1
#ifdef _WIN32
// There the linker refuses a function that is inline in another object, as in those of vector code.
#define WORDLOOM_FUNCTION [[gnu::used]] inline
#else
#define WORDLOOM_FUNCTION
#endif
#include "main_headers.hpp"

template void wordloom::check_parameter(std::string_view, double, double, double);
template void wordloom::check_parameter(std::string_view, std::size_t, int, int);
