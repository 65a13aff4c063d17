// The functions of matrices of graphs, for wordloom::precompiled. Those of what they are built on
// are in other files: here they are only declared.
#define WORDLOOM_PRECOMPILED 1
#include <wordloom/graph.hpp>
#include <wordloom/wordloom.hpp>

#undef WORDLOOM_DEFINES_FUNCTIONS
#define WORDLOOM_DEFINES_FUNCTIONS 1
#define WORDLOOM_FUNCTION
#include <wordloom/algebra.hpp>
