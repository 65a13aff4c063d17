#include "train_on_host.hpp"

#if WORDLOOM_HAS_BLAS
template wordloom::TrainReport train_on_host<wordloom::GemmKernel>(const Job&);
#endif
