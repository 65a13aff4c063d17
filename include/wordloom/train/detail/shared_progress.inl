// Functions of SharedProgress (train/detail/shared_progress.hpp).
namespace wordloom { inline namespace WORDLOOM_ABI { namespace detail {

WORDLOOM_FUNCTION SharedProgress::SharedProgress(const TrainerSettings& options,
                                                 const Checkpoint::Rank& start,
                                                 std::uint64_t tokens_per_epoch, bool is_alone)
    : options_(options),
      is_alone_(is_alone),
      progress_{start, tokens_per_epoch * options.parameters.epochs},
      trained_(start.tokens > 0),
      has_contexts_(start.tokens > 0),
      training_(start.threads.size()) {}

WORDLOOM_FUNCTION Checkpoint::Rank SharedProgress::reached(bool stops) {
  const std::lock_guard lock(guard_);
  if (stops) {
    stop_ = true;
    epochs_called_ = never;
    changed_.notify_all();
  }
  return progress_.reached;
}

WORDLOOM_FUNCTION void SharedProgress::leave() {
  const std::lock_guard lock(guard_);
  --training_;
  if (is_caller()) caller_left_ = true;
  changed_.notify_all();
}

WORDLOOM_FUNCTION double SharedProgress::report(const WorkDone& done, std::size_t epoch,
                                                double rate, const Model& model) {
  const std::lock_guard lock(guard_);
  const std::uint64_t rounds = progress_.reached.tokens / round_words;
  progress_.add(done, epoch, rate);
  if (progress_.reached.tokens / round_words != rounds) round_ended_ = due_ = true;
  for (Called& called : called_) called.since.add(done.loss.value(), done.examples);
  trained_ |= done.blocks > 0;
  call_due(model, false);
  return progress_.fraction();
}

WORDLOOM_FUNCTION void SharedProgress::wait(std::optional<std::size_t> epoch, const Model& model) {
  std::unique_lock lock(guard_);
  if (++waiting_ == training_) changed_.notify_all();  // one of them may be alone to call back
  while (epoch ? epochs_called_ < *epoch : due_.load()) {
    if (due_ && waiting_ == training_ && (!callback_is_due_ || may_call(false))) {
      if (std::exchange(round_ended_, false)) end_round(progress_.rate);
      if (std::exchange(callback_is_due_, false) && !stopped()) call_due(model, true);
      due_ = false;
      changed_.notify_all();
    } else if (epochs_are_due() && may_call(true)) {
      call_epochs(model);
    } else if (stopped()) {
      break;
    } else {
      changed_.wait(lock);
    }
  }
  --waiting_;
}

WORDLOOM_FUNCTION bool SharedProgress::may_call(bool each_epoch) const {
  if (is_caller() || (!each_epoch && caller_left_)) return true;  // without those of the caller
  return std::ranges::none_of(options_.callbacks, [&](const Callback& callback) {
    return callback.on_calling_thread && callback.each_epoch == each_epoch &&
           (each_epoch || callback.takes_model);
  });
}

WORDLOOM_FUNCTION void SharedProgress::end_epoch(std::size_t thread, std::size_t epoch,
                                                 bool contexts, const Model& model) {
  const std::lock_guard lock(guard_);
  progress_.reached.threads[thread] = {.epoch = epoch + 1};
  progress_.note_epochs();
  has_contexts_ |= contexts;
  if (is_alone_ && epoch == 0 && progress_.epochs_ended() > 0 && !(trained_ && has_contexts_)) {
    epochs_called_ = never;  // by the other threads
    throw NothingTrained();
  }
  if (may_call(true)) call_epochs(model);
  changed_.notify_all();
}

WORDLOOM_FUNCTION void SharedProgress::end(const Model& model) {
  if (!stopped())
    progress_.total_tokens = progress_.reached.tokens;  // the shard of a rank is about its share
  call_epochs(model);                                   // of the last, where only this thread may
  for (std::size_t i = 0; i < called_.size(); ++i)
    if (!options_.callbacks[i].each_epoch) call_progress(i, model, true);
}

WORDLOOM_FUNCTION void SharedProgress::call_due(const Model& model, bool with_model) {
  for (std::size_t i = 0; i < called_.size(); ++i) {
    const Callback& callback = options_.callbacks[i];
    if (callback.each_epoch || progress_.seconds() < called_[i].last + callback.interval) continue;
    const bool may = !callback.on_calling_thread || is_caller();
    if (callback.takes_model == with_model) {
      if (may) call_progress(i, model);
    } else if (callback.takes_model && (may || !caller_left_)) {
      callback_is_due_ = due_ = true;
    }
  }
}

WORDLOOM_FUNCTION void SharedProgress::call_progress(std::size_t i, const Model& model,
                                                     bool ended) {
  Called& called = called_[i];
  Progress now = progress_.now();
  now.ended = ended;
  const auto since = std::exchange(called.since, {});
  if (since.examples > 0) called.last_loss = since.mean();
  now.mean_loss = called.last_loss;
  called.last = now.seconds;
  call(options_.callbacks[i], now, model);
}

WORDLOOM_FUNCTION void SharedProgress::call_epochs(const Model& model) {
  while (epochs_are_due()) {
    Progress now = progress_.now();
    now.epoch = epochs_called_++;
    now.mean_loss = progress_.reached.losses[now.epoch].mean();
    for (const Callback& callback : options_.callbacks)
      if (callback.each_epoch) call(callback, now, model);
  }
}

WORDLOOM_FUNCTION void SharedProgress::call(const Callback& callback, const Progress& now,
                                            const Model& model) {
  if (callback.takes_model) before_callbacks();
  bool goes_on = false;
  try {
    goes_on = callback.call(now, model);
  } catch (...) {  // others train until they learn of it
    if (callback.takes_model) after_callbacks();
    throw;
  }
  if (callback.takes_model) after_callbacks();
  if (goes_on) return;
  (is_alone_ ? stop_ : asked_) = true;
  changed_.notify_all();
}

WORDLOOM_FUNCTION void SharedProgress::set_checkpoint_failure(std::optional<IoError> failure) {
  const std::lock_guard lock(guard_);
  progress_.checkpoint_failure = std::move(failure);
}

}}}  // namespace wordloom::WORDLOOM_ABI::detail
