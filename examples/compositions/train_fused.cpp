#include "train_on_host.hpp"

template wordloom::TrainReport train_on_host<wordloom::FusedKernel>(const Job&);
