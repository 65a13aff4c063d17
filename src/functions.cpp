// The functions that headers define as WORDLOOM_FUNCTION, for wordloom::precompiled. Those that few
// programs use are in files of their own, so that the others do not link them.
#define WORDLOOM_PRECOMPILED 1
#ifdef _WIN32
// There the linker refuses a function that is inline in another object, as in those of vector code.
#define WORDLOOM_FUNCTION [[gnu::used]] inline
#else
#define WORDLOOM_FUNCTION
#endif
#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/sync/detail/quantised_rows.hpp>
#include <wordloom/wordloom.hpp>

template void wordloom::check_parameter(std::string_view, double, double, double);
template void wordloom::check_parameter(std::string_view, std::size_t, int, int);
