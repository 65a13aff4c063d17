// A user's own code for all targets of Highway, beside wordloom::precompiled.
#include "train.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mixed_flags/highway/own_targets.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace own::HWY_NAMESPACE {

float twice(float x) {
  const hwy::HWY_NAMESPACE::ScalableTag<float> d;
  return hwy::HWY_NAMESPACE::GetLane(
      hwy::HWY_NAMESPACE::Add(hwy::HWY_NAMESPACE::Set(d, x), hwy::HWY_NAMESPACE::Set(d, x)));
}

}  // namespace own::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace own {
HWY_EXPORT(twice);
static float best_twice(float x) { return HWY_DYNAMIC_DISPATCH(twice)(x); }
}  // namespace own
double own_targets() { return loss_of_small_run() * own::best_twice(0.5f); }
#endif
