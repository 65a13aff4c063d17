// Macros of Qt, Windows, Apple and X11, which hosts define before they include the library. They
// may not meet what the headers of the library themselves include: those of the standard, Highway
// and the optional libraries come first.
#include <algorithm>
#include <any>
#include <array>
#include <atomic>
#include <barrier>
#include <bit>
#include <bitset>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <compare>
#include <complex>
#include <concepts>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <limits>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <ranges>
#include <semaphore>
#include <set>
#include <shared_mutex>
#include <span>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include <hwy/highway.h>
#include <Eigen/Core>
#if WORDLOOM_HAS_BLAS
#include <cblas.h>
#endif
#if WORDLOOM_HAS_LIBLINEAR
#include <linear.h>
#endif
#if WORDLOOM_HAS_ZLIB
#include <zlib.h>
#endif
#define slots
#define signals public
#define emit
#define foreach for
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define small char
#define near
#define far
#define interface struct
#define ERROR 0
#define IN
#define OUT
#define OPTIONAL
#define DELETE 0x00010000L
#define GetMessage GetMessageA
#define CALLBACK
#define VOID void
#define CONST const
#define check(assertion) static_assert(false, "check")
#define verify(assertion) static_assert(false, "verify")
#define require(assertion, label) static_assert(false, "require")
#define None 0L
#define Bool int
#define Status int
#define True 1
#define False 0
#define Success 0
#define Always 2
#define Unsorted 0
#define I _Complex_I
#include <wordloom/columns.hpp>
#include <wordloom/eigen.hpp>
#include <wordloom/graph.hpp>
#include <wordloom/presets.hpp>
#include <wordloom/registry.hpp>
#include <wordloom/wordloom.hpp>
