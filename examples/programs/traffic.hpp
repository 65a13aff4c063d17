#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>
#include <wordloom/sync/allreduce.hpp>
#include <wordloom/sync/row_allgather.hpp>
#include <wordloom/train/progress.hpp>

#include "cluster.hpp"
#include "training_options.hpp"

/// Returns the name of the format in which processes exchange changes.
inline std::string sync_format(const TrainingOptions& options, const Cluster& cluster) {
  using Format = wordloom::SyncOptions::Format;
  auto sync = sync_options_of(options);
  if (!is_for_gpu(options.kernel) && !owns_rows(options))
    sync = wordloom::Allreduce<Cluster::Ranks, wordloom::SyncOptions::Rule>::with_format(
        sync, *cluster.ranks(), rule_of(options));
  else if (sync.format == Format::automatic)
    sync.format = trains_strata(options)
                      ? wordloom::RowAllgather(*cluster.ranks(), sync.format).format()
                      : Format::fp32;
  return std::ranges::find(wordloom::SyncOptions::formats, sync.format,
                           [](const auto& named) { return named.second; })
      ->first;
}

/// Returns the number of words that this process has trained, without those before it resumed.
/// `report`: a Progress or TrainReport.
inline std::uint64_t words_of(const auto& report) {
  const double words = report.words_per_second * report.seconds;
  return std::isfinite(words) ? static_cast<std::uint64_t>(words + 0.5) : 0;
}

/// Returns the traffic of this process so far, for the line of progress; empty if it trains alone.
inline std::string traffic_text(const Cluster& cluster, const wordloom::Progress& progress) {
  const std::uint64_t words = words_of(progress);
  if (cluster.size() == 1 || words == 0) return "";
  const auto traffic = cluster.traffic();
  char text[96];
  std::snprintf(text, sizeof text, "%.0f B/word  %.0f Mbit/s  waited %.0f%%  ",
                static_cast<double>(traffic.bytes) / static_cast<double>(words),
                traffic.wire_mbit / progress.seconds,
                100 * traffic.waited_seconds / progress.seconds);
  return text;
}

/// Returns a note if this process spends much of its time waiting for those on other machines,
/// with the bandwidth that it would need to wait for none; empty if not, or in the first seconds.
inline std::string waiting_note(const TrainingOptions& options, const Cluster& cluster,
                                const wordloom::Progress& progress) {
  constexpr double min_seconds = 3, min_share = 0.3;
  const auto traffic = cluster.traffic();
  const double trained = progress.seconds - traffic.waited_seconds;
  if (progress.seconds < min_seconds || trained <= 0 ||
      traffic.waited_seconds < min_share * progress.seconds)
    return "";
  char text[320];
  std::snprintf(text, sizeof text,
                "note: this process waits %.0f%% of its time for the others: it sends "
                "%.0f Mbit/s, and without waiting it would send %.0f; if the network carries less, "
                "try ",
                100 * traffic.waited_seconds / progress.seconds,
                traffic.wire_mbit / progress.seconds, traffic.wire_mbit / trained);
  const bool by_strata = trains_strata(options);
  const std::string fewer = by_strata ? "8bit" : is_for_gpu(options.kernel) ? "bf16" : "2bit";
  const bool has_fewest = options.sync_format == fewer || options.sync_format == "1bit" ||
                          (by_strata && options.sync_format == "auto");
  return text + (has_fewest ? "" : "--sync-format " + fewer + ", then ") +
         (by_strata ? "a larger --episode, as long as the run has 8 or more"
          : options.is_given("--sync-interval") ? "a larger --sync-interval"
                                                : "a smaller --sync-bytes-per-word");
}

/// The traffic of all processes in a run.
struct ClusterTraffic {
  double bytes_per_word = 0;           // mean over all words
  std::vector<double> waited_seconds;  // of each process

  ClusterTraffic(Cluster& cluster, std::uint64_t all_words) {
    const auto own = cluster.traffic();
    bytes_per_word = static_cast<double>(cluster.sum(own.bytes)) /
                     static_cast<double>((std::max<std::uint64_t>)(all_words, 1));
    for (const auto ms : cluster.gather(static_cast<std::uint64_t>(own.waited_seconds * 1000)))
      waited_seconds.push_back(static_cast<double>(ms) / 1000);
  }
  /// Returns a line for the user: "sent 64 bytes a word; processes waited up to 3.1 s for others,
  /// least rank 2, the slowest (0.2 s)".
  std::string text() const {
    char line[160];
    std::snprintf(line, sizeof line,
                  "sent %.0f bytes a word; processes waited up to %.1f s for others, least rank "
                  "%zu, the slowest (%.1f s)",
                  bytes_per_word, std::ranges::max(waited_seconds), slowest_rank(),
                  waited_seconds[slowest_rank()]);
    return line;
  }
  /// Returns the process that waited least, because the others waited for it.
  std::size_t slowest_rank() const {
    return static_cast<std::size_t>(std::ranges::min_element(waited_seconds) -
                                    waited_seconds.begin());
  }
};
