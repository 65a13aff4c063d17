#pragma once

#include <wordloom/kernel/dot_kernel.hpp>
#include <wordloom/sampler/hogwild.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/train/trainer.hpp>

/// Makes the compiler check the composition of `Trainer`.
template <class Trainer>
void compose() {
  Trainer trainer(wordloom::Hyperparameters{});
}
