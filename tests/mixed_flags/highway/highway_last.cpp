#include "train.hpp"

#include <hwy/highway.h>

double highway_last() { return loss_of_small_run(); }
