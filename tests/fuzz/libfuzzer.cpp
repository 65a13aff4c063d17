// The same loaders for libFuzzer (Clang): the first byte of an input chooses the loader.
#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/loaders.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const TemporaryFolder folder;
  static const std::vector<Loader> loaders = all_loaders(folder);
  if (size != 0)
    loaders[data[0] % loaders.size()].check({reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
