#pragma once

// The headers that a program needs which trains words, saves and queries them.
#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/io/detail/vector_writers.hpp>
#include <wordloom/kernel/fused_kernel.hpp>
#include <wordloom/sampler/shared_negative.hpp>
#include <wordloom/train/trainer.hpp>
