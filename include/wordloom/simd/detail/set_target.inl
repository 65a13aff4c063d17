// Highway's macros (HWY_NAMESPACE, HWY_ATTR, ...) for the HWY_TARGET that was just defined.
#undef HWY_SET_MACROS_PER_TARGET
#ifdef HWY_TARGET_TOGGLE
#define HWY_SET_MACROS_PER_TARGET
#endif
#include <hwy/ops/set_macros-inl.h>
