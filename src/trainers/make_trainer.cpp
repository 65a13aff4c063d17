// make_trainer, which chooses among the trainers of the other files, for wordloom::any_trainer.
#undef WORDLOOM_PRECOMPILED_TRAINERS
#define WORDLOOM_PRECOMPILED_TRAINERS 0
#include <wordloom/any_trainer.hpp>

#define WORDLOOM_SHARED
#include "shared.hpp"

// A reference emits the function, which is inline.
[[gnu::used]] static const auto function = &wordloom::make_trainer;
