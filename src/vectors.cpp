// The other functions of wordloom.hpp, which few programs use, for wordloom::precompiled: readers of
// vectors and small vectors, for example.
#define WORDLOOM_PRECOMPILED 1
#include "main_headers.hpp"

#undef WORDLOOM_DEFINES_FUNCTIONS
#define WORDLOOM_DEFINES_FUNCTIONS 1
#define WORDLOOM_FUNCTION
#include <wordloom/sync/detail/quantised_exchange.hpp>
#include <wordloom/wordloom.hpp>
