// All functions that headers define as WORDLOOM_FUNCTION, for wordloom::precompiled.
#define WORDLOOM_PRECOMPILED 1
#define WORDLOOM_FUNCTION
#include <wordloom/columns.hpp>
#include <wordloom/core/detail/input_file.hpp>
#include <wordloom/encoders.hpp>
#include <wordloom/evaluation/classifier.hpp>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/graph.hpp>
#include <wordloom/kernel/bf16_kernel.hpp>
#include <wordloom/train/any_trainer.hpp>
#include <wordloom/wordloom.hpp>
