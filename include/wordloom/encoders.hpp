#pragma once

/// Words whose vectors an encoder computes; in addition to wordloom.hpp and columns.hpp.
#include <wordloom/encoder/char_cnn_embeddings.hpp>
#include <wordloom/encoder/encoded.hpp>

#if WORDLOOM_HAS_BLAS
#include <wordloom/encoder/char_cnn.hpp>
#endif
