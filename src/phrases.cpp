// The functions of phrases, for wordloom::precompiled. Those of what they are built on are in
// functions.cpp: here they are only declared.
#define WORDLOOM_PRECOMPILED 1
#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/wordloom.hpp>

#undef WORDLOOM_DEFINES_FUNCTIONS
#define WORDLOOM_DEFINES_FUNCTIONS 1
#define WORDLOOM_FUNCTION
#include <wordloom/corpus/phrases.hpp>
