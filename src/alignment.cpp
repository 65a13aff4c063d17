// The functions of Alignment, for wordloom::precompiled where there is Eigen. Those of what they
// are built on are in other files: here they are only declared.
#define WORDLOOM_PRECOMPILED 1
#include <wordloom/algebra/detail/dense_rows.hpp>
#include <wordloom/wordloom.hpp>

#undef WORDLOOM_DEFINES_FUNCTIONS
#define WORDLOOM_DEFINES_FUNCTIONS 1
#define WORDLOOM_FUNCTION
#include <wordloom/alignment.hpp>
