// Highway's header before ours, after ours, and a unit with code of its own for all targets.
#include <cmath>
#include <cstdio>

double highway_first();
double highway_last();
double own_targets();

int main() {
  const double losses[] = {highway_first(), highway_last(), own_targets()};
  std::printf("%g %g %g\n", losses[0], losses[1], losses[2]);
  for (const double loss : losses)
    if (!(std::abs(loss - losses[0]) < 0.01 * losses[0])) return 1;
}
