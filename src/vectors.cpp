// Readers of vectors, small vectors, and what else few programs use of wordloom.hpp, for
// wordloom::precompiled.
#define WORDLOOM_PRECOMPILED 1
#include "main_headers.hpp"

#undef WORDLOOM_DEFINES_FUNCTIONS
#define WORDLOOM_DEFINES_FUNCTIONS 1
#define WORDLOOM_FUNCTION
#include <wordloom/sync/detail/quantised_rows.hpp>
#include <wordloom/wordloom.hpp>
