#pragma once
#include <cstddef>
#include <cstdint>

#include <wordloom/core/detail/abi.hpp>

/// The functions of Windows that the library calls, under names of its own: <windows.h> defines
/// many macros, and declares them otherwise.
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail { namespace windows {

extern "C" {
void* wordloom_virtual_alloc(void* address, std::size_t bytes, unsigned long how,
                             unsigned long access) __asm__("VirtualAlloc");
int wordloom_virtual_free(void* address, std::size_t bytes,
                          unsigned long how) __asm__("VirtualFree");
void* wordloom_create_file_mapping(void* file, void* security, unsigned long access,
                                   unsigned long high, unsigned long low,
                                   const wchar_t* name) __asm__("CreateFileMappingW");
void* wordloom_map_view_of_file(void* mapping, unsigned long access, unsigned long high,
                                unsigned long low, std::size_t bytes) __asm__("MapViewOfFile");
int wordloom_unmap_view_of_file(const void* view) __asm__("UnmapViewOfFile");
int wordloom_close_handle(void* handle) __asm__("CloseHandle");
int wordloom_file_information(void* file, int what, void* information,
                              unsigned long bytes) __asm__("GetFileInformationByHandleEx");
unsigned long wordloom_last_error() __asm__("GetLastError");
}

/// FILE_BASIC_INFO: times in units of 100 ns since 1601.
struct FileTimes {
  std::int64_t created, read, written, changed;
  unsigned long attributes;
};

}}}}  // namespace wordloom::WORDLOOM_ABI::detail::windows
