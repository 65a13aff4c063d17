#pragma once
#include <wordloom/train/high.hpp>
