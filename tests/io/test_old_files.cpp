#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/graph/graph.hpp>
#include <wordloom/io/embeddings_file.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/train/detail/checkpoint.hpp>

#include "catch.hpp"
#include "support.hpp"

using namespace wordloom;

namespace {

/// Files of older versions, see README.md there.
const auto old = std::filesystem::path(__FILE__).parent_path() / "old_files";

/// Returns whether all words and numbers are equal, except for the last digits of a text.
bool same(const Embeddings& a, const Embeddings& b) {
  if (!(a.words() == b.words()) || a.dimension() != b.dimension()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t c = 0; c < a.dimension(); ++c)
      if (std::abs(a.vector(i)[c] - b.vector(i)[c]) > 1e-7f) return false;
  return true;
}

std::vector<std::vector<WordId>> sentences_of(const EncodedCorpus& corpus) {
  std::vector<std::vector<WordId>> all;
  for (const auto sentence : corpus.sentences({}))
    all.emplace_back(sentence.begin(), sentence.end());
  return all;
}

}  // namespace

TEST_CASE("vectors of version 0.1 are read in all of its formats", "[io]") {
  const auto expected = Embeddings::load(old / "0.1/vectors.txt");
  REQUIRE(expected.size() == 13);
  CHECK(expected["the"][0] == 0.032349516f);
  CHECK(expected["königin"][1] == 0.07192562f);
  for (const char* name : {"binary", "glove.txt", "npy", "vectors.tsv"}) {
    INFO(name);
    CHECK(same(Embeddings::load(old / "0.1" / name), expected));
  }
}

TEST_CASE("a vocabulary of any version is read", "[io]") {
  for (const char* version : {"0.1", "0.8"}) {
    const auto words = Vocabulary::load(old / version / "vocabulary");
    CHECK(words.fingerprint() ==
          Vocabulary::from_text(old / "text", {.min_count = 2}).fingerprint());
    CHECK(words.count(*words.find("königin")) == 56);
  }
}

TEST_CASE("a model of any version is read", "[io]") {
  const auto first = Model::load(old / "0.2/model");
  CHECK(first.vocabulary.total_count() == 418);
  // Version 0.2 trained as version 0.1 did.
  CHECK(same(first.embeddings(), Embeddings::load(old / "0.1/vectors.txt")));
  CHECK(first.output.rows() == 13);
  CHECK(first.output.row(0)[0] != 0);

  const auto plain = Model::load(old / "0.8/model");
  CHECK(same(plain.embeddings(), Embeddings::load(old / "0.8/vectors.txt")));
  const auto with_state = Model::load(old / "0.8/model-adam");
  REQUIRE(with_state.state.size() == 6);
  for (const auto& [name, matrix] : with_state.state) CHECK(matrix.rows() == 13);
  const auto subwords = Model::load(old / "0.8/model-subwords");
  REQUIRE(subwords.subwords.has_value());
  CHECK(subwords.subwords->buckets == 10);
  CHECK(same(subwords.embeddings(), Embeddings::load(old / "0.8/vectors-subwords.txt")));
}

TEST_CASE("a graph of any version is read", "[io]") {
  const auto graph = Graph::load(old / "0.8/graph");
  const auto id = [&](const char* name) { return *graph.vocabulary().find(name); };
  CHECK(graph.node_count() == 4);
  CHECK(graph.edge_count() == 4);
  CHECK(graph.is_weighted());
  REQUIRE(graph.has_edge(id("dan"), id("cy")));
  CHECK(graph.weights(id("dan"))[0] == 2.0f);
  CHECK_FALSE(graph.has_edge(id("dan"), id("ada")));
  const TemporaryFolder folder;
  const auto load = [&] { static_cast<void>(Graph::load(folder / "graph")); };
  write_file(folder / "graph", "wordloom graph arrays 1\n");
  CHECK(contains(message_of<FormatError>(load), "written by an older version of Wordloom"));
}

TEST_CASE("a checkpoint is read if its random draws are those of this version", "[io]") {
  const auto load = [](const char* version) {
    return detail::Checkpoint::load(old / version / "state");
  };
  const auto now = load("0.8");
  REQUIRE(now.matrices.size() == 2);
  CHECK(now.matrices[0].matrix.rows() == 13);
  REQUIRE(now.ranks.size() == 1);
  CHECK(now.ranks[0].losses.size() == 40);
  for (const char* version : {"0.1", "0.2"})
    CHECK(contains(message_of<FormatError>([&] { load(version); }),
                   "written by an older version of Wordloom: use that version to read it"));
}

TEST_CASE("caches of older versions are made anew or refused, never misread", "[io]") {
  const TemporaryFolder folder;
  const auto cache = folder / "cache";
  const auto words = Vocabulary::load(old / "0.8/vocabulary");
  const auto read = [&] { return EncodedCorpus::from_text(old / "text", words, {.cache = cache}); };
  const auto expected = sentences_of(EncodedCorpus::from_text(old / "text", words));
  for (const char* version : {"0.2", "0.8"}) {
    std::filesystem::copy_file(old / version / "corpus-cache", cache,
                               std::filesystem::copy_options::overwrite_existing);
    CHECK(sentences_of(read()) == expected);
    CHECK(read_file(cache) != read_file(old / version / "corpus-cache"));
  }
  // Its caches do not begin with the name of their format.
  std::filesystem::copy_file(old / "0.1/corpus-cache", cache,
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(contains(message_of<FormatError>([&] { read(); }), "name another file, or remove it"));
  CHECK(read_file(cache) == read_file(old / "0.1/corpus-cache"));

  std::filesystem::copy_file(old / "0.8/graph", folder / "graph");
  const auto graph =
      Graph::from_edge_list(old / "edges", {.weighted = true, .cache = folder / "graph"});
  CHECK(graph.fingerprint() == Graph::load(old / "0.8/graph").fingerprint());
}
