#pragma once

/// Vectors of nodes and words by sparse algebra: factorisations, propagation and new nodes; in
/// addition to graph.hpp.
#include <wordloom/algebra/cleora.hpp>
#include <wordloom/algebra/extend.hpp>
#include <wordloom/algebra/light_ne.hpp>
#include <wordloom/algebra/pmi_svd.hpp>
#include <wordloom/algebra/principal_components.hpp>
#include <wordloom/algebra/prone.hpp>
#include <wordloom/algebra/sparse_matrix.hpp>
