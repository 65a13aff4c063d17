// DefaultTrainer, for wordloom::precompiled.
#define WORDLOOM_PRECOMPILED 1
#define WORDLOOM_DEFAULT_TRAINER
#include <wordloom/wordloom.hpp>
