#pragma once
#include <array>
#include <string>
#include <wordloom/presets.hpp>
#include <wordloom/wordloom.hpp>

#include "training_options.hpp"

/// The names of --preset.
inline constexpr std::array preset_names{"word2vec", "fast", "best"};

/// Sets the method and the hyperparameters of --preset. Options on the command line keep their
/// values. Throws InvalidArgument for options that would change the method of `fast` and `best`.
inline void choose_preset(TrainingOptions& options) {
  if (options.preset.empty()) return;
  const auto unless_given = [&](const char* name, auto& value, const auto& of_preset) {
    if (!options.is_given(name)) value = of_preset;
  };
  const bool is_word2vec = options.preset == "word2vec", is_fast = options.preset == "fast";
  if (!is_word2vec) {
    for (const char* name : {"--sampler", "--kernel", "--optimizer", "--cbow", "--hs", "--maxn",
                             "--char-cnn", "--load-model"})
      if (options.is_given(name))
        throw wordloom::InvalidArgument(std::string(name) + " does not go with --preset " +
                                        options.preset +
                                        ", which chooses the method: leave one out");
    options.sampler = "shared";
    options.optimizer = "row-adagrad";
  } else {
    unless_given("--kernel", options.kernel, "dot");
    if (options.cbow == 1)
      unless_given("--cbow-gradient", options.cbow_gradient, "whole");
    else
      unless_given("--sampler", options.sampler, "hogwild");
  }
  auto& p = options.parameters;
  const wordloom::Hyperparameters of = is_word2vec ? wordloom::Presets::word2vec(p)
                                       : is_fast   ? wordloom::Presets::fast(p)
                                                   : wordloom::Presets::best(p);
  unless_given("--iter", p.epochs, of.epochs);
  unless_given("--sample", p.subsample, of.subsample);
  unless_given("--negative-exponent", p.negative_exponent, of.negative_exponent);
  unless_given("--negative-pool", p.negative_pool, of.negative_pool);
  unless_given("--private-rows", p.private_rows, of.private_rows);
  unless_given("--hs-sample", p.node_sample, of.node_sample);
  // word2vec's rate differs with CBOW: it is the default for its gradient.
  if (!is_word2vec && !options.alpha) options.alpha = wordloom::Presets::rate(p.epochs);
}
