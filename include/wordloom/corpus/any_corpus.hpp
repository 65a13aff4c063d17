#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <wordloom/core/types.hpp>
#include <wordloom/corpus/concept.hpp>
#include <wordloom/corpus/sentence_range.hpp>

namespace wordloom {

/// Any corpus whose epochs repeat, chosen at run time: a virtual call for each sentence. Immutable;
/// copies share the corpus; thread-safe as that is.
class AnyCorpus {
  struct Reader {
    virtual ~Reader() = default;
    virtual bool next() = 0;
    virtual std::span<const WordId> sentence() const = 0;
  };
  struct Interface {
    virtual ~Interface() = default;
    virtual std::uint64_t token_count() const = 0;
    virtual std::uint64_t vocabulary_fingerprint() const = 0;
    virtual std::shared_ptr<Reader> read(const Shard& shard) const = 0;
  };

  template <class Range>
  struct ReaderOf final : Reader {
    explicit ReaderOf(Range sentences) : range(std::move(sentences)) {}
    bool next() override {
      if (at)
        ++*at;
      else
        at.emplace(range.begin());
      return !(*at == range.end());
    }
    std::span<const WordId> sentence() const override { return **at; }
    Range range;
    std::optional<decltype(range.begin())> at;
  };
  template <class C>
  struct Holder final : Interface {
    explicit Holder(C held) : corpus(std::move(held)) {}
    std::uint64_t token_count() const override { return corpus.token_count(); }
    std::uint64_t vocabulary_fingerprint() const override {
      return corpus.vocabulary_fingerprint();
    }
    std::shared_ptr<Reader> read(const Shard& shard) const override {
      return std::make_shared<ReaderOf<decltype(corpus.sentences(shard))>>(corpus.sentences(shard));
    }
    C corpus;
  };

 public:
  static constexpr bool repeats = true;

  template <Corpus C>
  requires(C::repeats && !std::same_as<C, AnyCorpus>) explicit AnyCorpus(C corpus)
      : corpus_(std::make_shared<Holder<C>>(std::move(corpus))) {}

  std::uint64_t token_count() const { return corpus_->token_count(); }
  std::uint64_t vocabulary_fingerprint() const { return corpus_->vocabulary_fingerprint(); }
  /// The sentences of a shard, as the corpus has them.
  auto sentences(const Shard& shard) const {
    return SentenceRange([corpus = corpus_, shard] { return corpus->read(shard); });
  }

 private:
  std::shared_ptr<const Interface> corpus_;
};

static_assert(Corpus<AnyCorpus>);

}  // namespace wordloom
