#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wordloom/core/files.hpp>
#include <wordloom/core/random.hpp>
#include <wordloom/corpus/text_pieces.hpp>
#include <wordloom/evaluation/word_tests.hpp>

#include "demo_words.hpp"

/// A made-up corpus with known right answers: sentences from patterns (demo_words.hpp) about
/// members of a few kinds in their forms. For demonstrations without a download, and for tests.
namespace demo {

inline std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  wordloom::for_each_token(
      text, [&](std::string_view word) { words.push_back(word); }, [] {});
  return words;
}

/// Size and seed of the corpus. Equal options give equal bytes on every machine.
struct CorpusOptions {
  std::size_t tokens = 2'000'000;  // minimum; the last sentence is finished
  std::uint64_t seed = 1;
};

/// Returns the corpus as text, one sentence a line.
inline std::string make_corpus(const CorpusOptions& options = {}) {
  struct Member {
    std::vector<std::string_view> words;  // its forms, then its companions
    const Kind* kind;
  };
  std::vector<Member> members;
  for (const Kind& kind : kinds)
    for (const std::string_view line : kind.members) members.push_back({split(line), &kind});

  wordloom::Random random(options.seed);
  const auto any = [&](std::size_t count) { return static_cast<std::size_t>(random.below(count)); };
  std::string text;
  text.reserve(options.tokens * 6);
  std::size_t tokens = 0;
  const auto add = [&](std::string_view word) {
    text.append(word).append(1, ' ');
    ++tokens;
  };
  while (tokens < options.tokens) {
    if (any(12) == 0) {  // a group
      const Group& group = groups[any(groups.size())];
      const auto words = split(group.members);
      for (const std::string_view word : split(group.patterns[any(group.patterns.size())]))
        add(word == "@" ? words[any(words.size())] : word);
    } else {
      const Member& member = members[any(members.size())];
      const Kind& kind = *member.kind;
      const std::size_t form = any(kind.forms);
      const std::size_t each = kind.patterns.size() / kind.forms;
      const std::size_t companions = member.words.size() - kind.forms;
      std::size_t companion = any(companions);
      for (const std::string_view word : split(kind.patterns[form * each + any(each)])) {
        if (word == "@") {
          add(member.words[form]);
        } else if (word == "+") {
          add(member.words[kind.forms + companion]);
          companion = (companion + 1 + any(companions - 1)) % companions;  // another one
        } else {
          add(word);
        }
      }
    }
    text.back() = '\n';
  }
  return text;
}

/// Writes the corpus to a file, whole or not at all. Throws IoError.
inline void write_corpus(const std::filesystem::path& path, const CorpusOptions& options = {}) {
  wordloom::AtomicFile file(path);
  file.write(make_corpus(options));
  file.commit();
}

/// Words that belong together.
struct WordClass {
  std::string name;
  std::vector<std::string> words;
};

/// Returns a class for each form of each kind ("countries 1": france, italy, ...) and for each
/// group.
inline std::vector<WordClass> classes() {
  std::vector<WordClass> result;
  for (const Kind& kind : kinds)
    for (std::size_t form = 0; form < kind.forms; ++form) {
      result.push_back({std::string(kind.name) + " " + std::to_string(form + 1), {}});
      for (const std::string_view line : kind.members)
        result.back().words.emplace_back(split(line)[form]);
    }
  for (const Group& group : groups) {
    const auto words = split(group.members);
    result.push_back({std::string(group.name), {words.begin(), words.end()}});
  }
  return result;
}

/// Returns for each relation a section with every pair of members: "paris france rome italy" for
/// capital-country, else form 1 first: "bake baked paint painted". Relations of meaning come first,
/// those of grammar are named gram-...
inline std::vector<wordloom::AnalogySection> analogies() {
  std::vector<wordloom::AnalogySection> result;
  for (const Kind& kind : kinds)
    for (std::size_t relation = 0; relation < kind.relations.size(); ++relation) {
      const std::string name(kind.relations[relation]);
      const bool grammar = kind.name == "verbs" || kind.name == "adjectives" || name == "plural";
      wordloom::AnalogySection section{grammar ? "gram-" + name : name, {}};
      for (const std::string_view one : kind.members)
        for (const std::string_view other : kind.members) {
          if (one == other) continue;
          const auto x = split(one), y = split(other);
          std::size_t from = 0, to = relation + 1;
          if (name == "capital-country") std::swap(from, to);
          section.questions.push_back(
              {std::string(x[from]), std::string(x[to]), std::string(y[from]), std::string(y[to])});
        }
      result.push_back(std::move(section));
    }
  std::stable_partition(result.begin(), result.end(),
                        [](const auto& section) { return !section.syntactic(); });
  return result;
}

/// Returns word pairs with the similarity that the patterns give them: 2 for two words of one
/// class, which occur in the same places, 1 for two forms of one member, which share companions, 0
/// for words of different classes; as many of each.
inline std::vector<wordloom::SimilarityPair> similarity_pairs() {
  std::vector<wordloom::SimilarityPair> pairs;
  const auto all = classes();
  wordloom::Random random(1);
  const auto any = [&](const std::vector<std::string>& words) {
    return words[static_cast<std::size_t>(random.below(words.size()))];
  };
  for (const Kind& kind : kinds)
    for (const std::string_view line : kind.members) {
      const auto words = split(line);
      pairs.push_back({std::string(words[0]), std::string(words[1]), 1});
    }
  const std::size_t each = pairs.size();
  for (std::size_t i = 0; i < each; ++i) {
    const auto& own = all[i % all.size()];
    const std::string first = own.words[i / all.size() % own.words.size()];
    const std::string second = own.words[(i / all.size() + 1) % own.words.size()];
    pairs.push_back({first, second, 2});
    const auto& other = all[(i + all.size() / 2) % all.size()];
    pairs.push_back({any(own.words), any(other.words), 0});
  }
  return pairs;
}

}  // namespace demo
