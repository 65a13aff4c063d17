#pragma once
#include <condition_variable>
#include <cstddef>
#include <mutex>

#include <wordloom/core/types.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

/// Lets threads use pieces in the order of their indexes. If one fails, none waits for ever.
class Turns {
 public:
  /// Calls `work()` after those of all lower indexes. Returns false, without a call, if another
  /// thread has failed.
  template <class Work>
  bool take(std::size_t index, const Work& work) {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [&] { return index == next_ || failed_; });
    if (failed_) return false;
    work();
    ++next_;
    changed_.notify_all();
    return true;
  }
  /// Ends the waits of all threads.
  void fail() {
    const std::lock_guard lock(guard_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  std::size_t next_ = 0;
  bool failed_ = false;
};

}}}  // namespace wordloom::WORDLOOM_ABI::detail
