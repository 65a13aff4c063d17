// Highway's header before ours, after ours (WITH_HIGHWAY_LAST), and a unit with code of its own for
// all targets.
#include <cmath>
#include <cstdio>

double highway_first();
#if WITH_HIGHWAY_LAST
double highway_last();
#endif
double own_targets();

int main() {
  const double losses[] = {
    highway_first(),
    own_targets(),
#if WITH_HIGHWAY_LAST
    highway_last(),
#endif
  };
  for (const double loss : losses) {
    std::printf("%g\n", loss);
    if (!(std::abs(loss - losses[0]) < 0.01 * losses[0])) return 1;
  }
}
