#pragma once
#include <wordloom/core/low.hpp>
