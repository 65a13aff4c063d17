#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wordloom/core/error.hpp>
#include <wordloom/core/types.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/optimizer/concept.hpp>
#include <wordloom/sync/concept.hpp>

namespace wordloom { inline namespace WORDLOOM_ABI {

namespace detail {

/// A SyncPolicy for training by strata.
template <class P, class Replica>
concept PassesRows = requires(P& sync, Replica& replica, std::span<const RowId> rows,
                              std::vector<std::string> to, std::span<const std::uint64_t> first,
                              const RankTeam& team) {
  sync.begin_pass(replica, Model::Side::output, rows, std::size_t{0}, team);
  sync.has_passed();
  sync.end_pass(replica, Model::Side::output, rows, team);
  sync.gather_rows(replica, Model::Side::output, rows, first);
  sync.begin_exchange(to);
  sync.end_exchange();
};

/// A SyncPolicy behind AnySync.
template <class Replica>
struct ErasedSync {
  explicit ErasedSync(bool policy_shares_rows) : shares_rows(policy_shares_rows) {}
  virtual ~ErasedSync() = default;
  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;
  virtual std::uint64_t start(Replica& replica, RankInfo& run) = 0;
  virtual RankInfo::Signal tick(Replica& replica, double progress, RankInfo::Signal request) = 0;
  virtual RankInfo::Positions gather(Replica& replica, std::span<const std::uint64_t> numbers) = 0;
  virtual RankInfo::Signal finish(Replica& replica) = 0;
  virtual void fail(const std::string& cause) = 0;
  virtual void share_rows(Replica& replica, Model::Side side, std::size_t first,
                          std::size_t last) = 0;
  virtual void begin_exchange(std::vector<std::string> to) = 0;
  virtual std::vector<std::string> end_exchange() = 0;
  virtual void begin_pass(Replica& replica, Model::Side side, std::span<const RowId> given,
                          std::size_t most, const RankTeam& team) = 0;
  virtual bool has_passed() = 0;
  virtual void end_pass(Replica& replica, Model::Side side, std::span<const RowId> taken,
                        const RankTeam& team) = 0;
  virtual void gather_rows(Replica& replica, Model::Side side, std::span<const RowId> rows,
                           std::span<const std::uint64_t> first) = 0;

  const bool shares_rows;  // instead of changes
};

template <class Replica, class Sync>
struct ErasedSyncOf final : ErasedSync<Replica> {
  explicit ErasedSyncOf(Sync policy)
      : ErasedSync<Replica>(detail::shares_rows<Sync>), sync(std::move(policy)) {}
  std::size_t rank() const override { return sync.rank(); }
  std::size_t size() const override { return sync.size(); }
  std::uint64_t start(Replica& replica, RankInfo& run) override { return sync.start(replica, run); }
  RankInfo::Signal tick(Replica& replica, double progress, RankInfo::Signal request) override {
    return sync.tick(replica, progress, request);
  }
  RankInfo::Positions gather(Replica& replica, std::span<const std::uint64_t> numbers) override {
    return sync.gather(replica, numbers);
  }
  RankInfo::Signal finish(Replica& replica) override { return sync.finish(replica); }
  void fail(const std::string& cause) override { sync.fail(cause); }
  void share_rows([[maybe_unused]] Replica& replica, [[maybe_unused]] Model::Side side,
                  [[maybe_unused]] std::size_t first, [[maybe_unused]] std::size_t last) override {
    if constexpr (detail::shares_rows<Sync>) sync.share_rows(replica, side, first, last);
  }
  void begin_exchange([[maybe_unused]] std::vector<std::string> to) override {
    if constexpr (PassesRows<Sync, Replica>)
      sync.begin_exchange(std::move(to));
    else
      throw InvalidArgument("training by strata needs the SyncPolicy RowAllgather");
  }
  std::vector<std::string> end_exchange() override {
    if constexpr (PassesRows<Sync, Replica>) return sync.end_exchange();
    return {};
  }
  void begin_pass([[maybe_unused]] Replica& replica, [[maybe_unused]] Model::Side side,
                  [[maybe_unused]] std::span<const RowId> given, [[maybe_unused]] std::size_t most,
                  [[maybe_unused]] const RankTeam& team) override {
    if constexpr (PassesRows<Sync, Replica>) sync.begin_pass(replica, side, given, most, team);
  }
  bool has_passed() override {
    if constexpr (PassesRows<Sync, Replica>) return sync.has_passed();
    return true;
  }
  void end_pass([[maybe_unused]] Replica& replica, [[maybe_unused]] Model::Side side,
                [[maybe_unused]] std::span<const RowId> taken,
                [[maybe_unused]] const RankTeam& team) override {
    if constexpr (PassesRows<Sync, Replica>) sync.end_pass(replica, side, taken, team);
  }
  void gather_rows([[maybe_unused]] Replica& replica, [[maybe_unused]] Model::Side side,
                   [[maybe_unused]] std::span<const RowId> rows,
                   [[maybe_unused]] std::span<const std::uint64_t> first) override {
    if constexpr (PassesRows<Sync, Replica>) sync.gather_rows(replica, side, rows, first);
  }

  Sync sync;
};

}  // namespace detail

/// A SyncPolicy that is chosen at run time, NoSync by default: one trainer serves one process and
/// several. Costs an indirect call for each tick. Copies share the policy.
///
/// `of_columns`: true for samplers that train columns or strata, whose policies, such as
/// RowAllgather, share rows. A trainer knows that when it is compiled.
template <class ReplicaType = Model, bool of_columns = false>
class AnySync {
 public:
  using Replica = ReplicaType;
  static constexpr bool shares_rows = of_columns;

  AnySync() : AnySync(NoSync()) {}
  template <SyncPolicy<Replica> Sync>
  requires(!std::same_as<Sync, AnySync<Replica, !of_columns>>) AnySync(Sync sync)
      : policy_(std::make_shared<detail::ErasedSyncOf<Replica, Sync>>(std::move(sync))) {}
  explicit AnySync(const AnySync<Replica, !of_columns>& other) : policy_(other.policy_) {}

  std::size_t rank() const { return policy_->rank(); }
  std::size_t size() const { return policy_->size(); }
  /// Throws InvalidArgument for a policy of several ranks that is for the other kind of samplers.
  std::uint64_t start(Replica& replica, RankInfo& run) {
    if (size() > 1 && policy_->shares_rows != of_columns)
      throw InvalidArgument(
          of_columns ? "ranks that train columns or strata need the SyncPolicy RowAllgather"
                     : "the SyncPolicy RowAllgather is for samplers that train columns "
                       "or strata");
    return policy_->start(replica, run);
  }
  RankInfo::Signal tick(Replica& replica, double progress, RankInfo::Signal request) {
    return policy_->tick(replica, progress, request);
  }
  RankInfo::Positions gather(Replica& replica, std::span<const std::uint64_t> numbers) {
    return policy_->gather(replica, numbers);
  }
  RankInfo::Signal finish(Replica& replica) { return policy_->finish(replica); }
  void fail(const std::string& cause) { policy_->fail(cause); }
  void share_rows(Replica& replica, Model::Side side, std::size_t first, std::size_t last) {
    policy_->share_rows(replica, side, first, last);
  }
  void begin_exchange(std::vector<std::string> to) { policy_->begin_exchange(std::move(to)); }
  std::vector<std::string> end_exchange() { return policy_->end_exchange(); }
  void begin_pass(Replica& replica, Model::Side side, std::span<const RowId> given,
                  std::size_t most, const detail::RankTeam& team) {
    policy_->begin_pass(replica, side, given, most, team);
  }
  bool has_passed() { return policy_->has_passed(); }
  void end_pass(Replica& replica, Model::Side side, std::span<const RowId> taken,
                const detail::RankTeam& team) {
    policy_->end_pass(replica, side, taken, team);
  }
  void gather_rows(Replica& replica, Model::Side side, std::span<const RowId> rows,
                   std::span<const std::uint64_t> first) {
    policy_->gather_rows(replica, side, rows, first);
  }

 private:
  friend class AnySync<Replica, !of_columns>;

  std::shared_ptr<detail::ErasedSync<Replica>> policy_;
};

static_assert(SyncPolicy<AnySync<>>);

}}  // namespace wordloom::WORDLOOM_ABI
