#include "races.hpp"
