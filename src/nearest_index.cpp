// The functions of NearestIndex, for wordloom::precompiled where there is hnswlib. Those of what
// they are built on are in functions.cpp: here they are only declared.
#define WORDLOOM_PRECOMPILED 1
#define WORDLOOM_HAS_HNSWLIB 1
#include <wordloom/core/detail/section_file.hpp>
#include <wordloom/wordloom.hpp>

#undef WORDLOOM_DEFINES_FUNCTIONS
#define WORDLOOM_DEFINES_FUNCTIONS 1
#define WORDLOOM_FUNCTION
#include <wordloom/nearest_index.hpp>
