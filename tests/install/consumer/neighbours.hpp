#pragma once

#include <string>
#include <wordloom/wordloom.hpp>

/// The word nearest to `word`.
std::string nearest(const wordloom::Embeddings& words, const std::string& word);
