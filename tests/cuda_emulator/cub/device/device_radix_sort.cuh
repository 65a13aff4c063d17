#pragma once
#include "../../cub.hpp"
