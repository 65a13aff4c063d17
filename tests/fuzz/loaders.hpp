#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <wordloom/corpus/encoded_corpus.hpp>
#include <wordloom/corpus/phrases.hpp>
#include <wordloom/corpus/text_corpus.hpp>
#include <wordloom/corpus/vocabulary.hpp>
#include <wordloom/corpus/word_context_matrix.hpp>
#include <wordloom/evaluation/node_labels.hpp>
#include <wordloom/evaluation/word_tests.hpp>
#include <wordloom/graph/graph.hpp>
#include <wordloom/graph/random_walks.hpp>
#include <wordloom/io/embeddings_file.hpp>
#include <wordloom/io/fasttext_file.hpp>
#include <wordloom/model/model.hpp>
#include <wordloom/train/detail/checkpoint.hpp>

#if WORDLOOM_HAS_ZLIB
#include <zlib.h>
#endif

#include "small_models.hpp"
#include "support.hpp"

/// What a loader has done that it must not do.
struct FuzzFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Something that reads a file that may hold any bytes.
struct Loader {
  std::string name;
  std::vector<std::string> samples;  // files that it takes
  std::filesystem::path path;        // where the file must lie
  /// Whether the format has a checksum of all bytes, so that only the samples may be taken.
  bool has_checksum;
  std::function<void(const std::filesystem::path&)> load;  // throws wordloom::Error

  /// Loads `bytes`. Throws FuzzFailure, and what it should not: anything but wordloom::Error.
  void check(const std::string& bytes) const {
    write_file(path, bytes);
    try {
      load(path);
    } catch (const wordloom::Error& error) {
      if (std::string(error.what()).empty()) throw FuzzFailure("an error without a message");
      if (error.kind() == wordloom::Error::Kind::format &&
          (error.path().empty() || !tells_its_place(error)))
        throw FuzzFailure(std::string("a program is not told the place: ") + error.what());
      return;
    }
    if (has_checksum && std::find(samples.begin(), samples.end(), bytes) == samples.end())
      throw FuzzFailure("a changed file was taken");
  }
};

/// Returns all loaders, with samples that were saved into `folder`.
inline std::vector<Loader> all_loaders(const TemporaryFolder& folder) {
  using namespace wordloom;
  std::vector<Loader> loaders;
  const auto vocabulary = vocabulary_of_counts({70, 30, 20, 3, 1});

  const auto use = [](const Embeddings& words) {
    if (words.most_similar(words.vector(0), 1, {.threads = 1}).empty())
      throw FuzzFailure("no nearest word");
  };
  std::vector<std::string> detectable;
  const auto add_vectors = [&](const std::string& name, const std::string& file,
                               VectorFormat format) {
    Loader loader{name, {}, folder / file, false, [=](const auto& path) {
                    use(VectorFile(path).embeddings(format));
                    if (VectorFile(path).embeddings(format, {.limit = 1}).size() != 1)
                      throw FuzzFailure("more words than the limit");
                  }};
    for (const std::size_t dimension : {1u, 3u, 20u}) {
      random_model(vocabulary, dimension).embeddings().save(loader.path, format);
      loader.samples.push_back(read_file(loader.path));
      if (format != VectorFormat::projector_tsv) detectable.push_back(loader.samples.back());
    }
    loaders.push_back(std::move(loader));
  };
  add_vectors("word2vec_binary", "v.bin", VectorFormat::word2vec_binary);
  add_vectors("word2vec_text", "v.txt", VectorFormat::word2vec_text);
  add_vectors("glove", "v.glove", VectorFormat::glove_text);
  loaders[1].samples.push_back("3 2\nNew York 1 2\n  3 4\n9 11 -5 .6\n");
  loaders[2].samples.push_back(". . . 1 2\nthe 3 4\n9 11 5 6\n");
  add_vectors("npy", "v.npy", VectorFormat::npy);
  add_vectors("tsv", "v.tsv", VectorFormat::projector_tsv);
  Loader fasttext{"fasttext", {}, folder / "v.ft", false, [use](const auto& path) {
                    const SubwordEmbeddings words = detail::load_fasttext(path);
                    use(words.in_vocabulary());
                    const Model loaded = detail::load_fasttext_model(path);
                    if (!(loaded.vocabulary.words() == words.words()))
                      throw FuzzFailure("the loaders differ");
                  }};
  for (const SubwordOptions& subwords : {SubwordOptions{.maxn = 0}, SubwordOptions{2, 3, 4}}) {
    Model model(
        vocabulary,
        {.dimension = 3, .input_rows = vocabulary.size() + subwords.rows(), .subwords = subwords});
    model.save_fasttext(fasttext.path);
    fasttext.samples.push_back(read_file(fasttext.path));
    detectable.push_back(fasttext.samples.back());
  }
  // With a label: nwords, then the entries, then matrices without a row for it.
  std::string labelled = fasttext.samples[0];
  const std::size_t after_words = labelled.size() - 2 * (1 + 16 + vocabulary.size() * 12);
  labelled.insert(after_words, std::string("__label__\0\1\0\0\0\0\0\0\0\1", 19));
  labelled[64] = static_cast<char>(vocabulary.size() + 1);
  labelled[72] = 1;
  fasttext.samples.push_back(labelled);
  loaders.push_back(std::move(fasttext));
  loaders.push_back({"npy_words",
                     {read_file(folder / "v.npy.words.txt")},
                     folder / "w",
                     false,
                     [vectors = folder / "v2.npy", use](const auto& path) {
                       use(detail::load_npy(vectors, path));
                     }});
  write_file(folder / "v2.npy", loaders[3].samples.back());
  write_file(folder / "v.words.txt", read_file(folder / "v.npy.words.txt"));
  loaders.push_back({"detection", detectable, folder / "v", false,
                     [use](const auto& path) { use(Embeddings::load(path)); }});

  Loader compressed{"compressed", {}, folder / "small", true, [use](const auto& path) {
                      use(CompressedEmbeddings::load(path).decoded());
                    }};
  for (const auto format : {Embeddings::Compression::float16, Embeddings::Compression::product}) {
    random_model(vocabulary, 3).embeddings().compress({.format = format}).save(compressed.path);
    compressed.samples.push_back(read_file(compressed.path));
  }
  loaders.push_back(std::move(compressed));

  vocabulary.save(folder / "vocabulary");
  loaders.push_back({"vocabulary",
                     {read_file(folder / "vocabulary"), "x 1\r\n</s> 9\r\ny\t5",
                      "</s> 0\nNew York 5\n", "3\nx 5 word\n</s> 4 word\n__label__ 1 label\n"},
                     folder / "vocabulary",
                     false,
                     [&folder](const auto& path) {
                       // What is loaded is the same when it is saved and loaded again, or cannot be
                       // saved.
                       const auto loaded = Vocabulary::load(path);
                       loaded.save(folder / "again");
                       if (Vocabulary::load(folder / "again").fingerprint() != loaded.fingerprint())
                         throw FuzzFailure("a saved vocabulary is another one");
                     }});

  loaders.push_back({"phrases",
                     {"wordloom-phrases 2 _ of the\nnew york 1.5\nbank of america 1e3\n\n"
                      "new_york city 9\n\nend\n"},
                     folder / "phrases",
                     false,
                     [&folder](const auto& path) {
                       const auto loaded = Phrases::load(path);
                       loaded.save(folder / "again");
                       if (Phrases::load(folder / "again") != loaded)
                         throw FuzzFailure("saved phrases are others");
                       static_cast<void>(loaded.join("in new york city or the bank of america"));
                     }});

  Model model = random_model(vocabulary, 3);
  model.save(folder / "model");
  Loader models{
      "model", {read_file(folder / "model")}, folder / "model", true, [](const auto& path) {
        static_cast<void>(Model::load(path));
      }};
  model.state_matrix("input.squares", 5, 1).row(4)[0] = 2;
  model.save(folder / "model");
  models.samples.push_back(read_file(folder / "model"));
  loaders.push_back(std::move(models));

  detail::Checkpoint checkpoint{{1, "window 5\n"}, 2, 3, 4, 5, 6, {}, model.copy_of_matrices()};
  Loader checkpoints{"checkpoint", {}, folder / "checkpoint", true, [](const auto& path) {
                       static_cast<void>(detail::Checkpoint::load(path));
                     }};
  for (const std::size_t ranks : {1u, 3u}) {
    checkpoint.ranks.assign(ranks, {7, std::vector<detail::Checkpoint::EpochLoss>(2),
                                    std::vector<detail::Checkpoint::Thread>(ranks)});
    checkpoint.save(checkpoints.path);
    checkpoints.samples.push_back(read_file(checkpoints.path));
  }
  loaders.push_back(std::move(checkpoints));

  const std::string text = "w100 w101 w100\n\nw102 rare w100\r\nw104 w103 w104\n";
  write_file(folder / "text", text);
  static_cast<void>(
      EncodedCorpus::from_text(folder / "text", vocabulary, {.cache = folder / "cache"}));
  const auto source = detail::CorpusSource::of(folder / "text", vocabulary.fingerprint(), 1000, {});
  loaders.push_back({"corpus_cache",
                     {read_file(folder / "cache")},
                     folder / "cache",
                     true,
                     [source](const auto& path) {
                       if (!detail::open_corpus_file(path, source)) throw CorpusError("made again");
                     }});

  const auto read_text = [vocabulary](const std::filesystem::path& path) {
    const CorpusOptions options{.max_sentence_length = 3, .threads = 1, .piece_bytes = 16};
    const auto words = Vocabulary::from_text(path, {.min_count = 1, .threads = 1});
    if (EncodedCorpus::from_text(path, words, options).token_count() != words.total_count())
      throw FuzzFailure("the corpus has other words than the vocabulary");
    std::size_t tokens = 0;
    for (const auto sentence : TextCorpus(path, vocabulary, options).sentences({.count = 2}))
      tokens += sentence.size();
    if (tokens > words.total_count()) throw FuzzFailure("a shard has more words than its text");
    return words.fingerprint();
  };
  loaders.push_back({"text", {text}, folder / "plain", false, [=](const auto& path) {
                       static_cast<void>(read_text(path));
                     }});
#if WORDLOOM_HAS_ZLIB
  const auto packed = (folder / "text.gz").string();
  const gzFile file = ::gzopen(packed.c_str(), "wb");
  ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  ::gzclose(file);
  // Only the text has a checksum, not the header, which may hold any name and time. Copies of a
  // whole file are members of a larger one.
  const std::string sample = read_file(packed);
  std::set<std::uint64_t> known;
  for (std::string copies = sample; known.size() < 8; copies += sample) {
    write_file(packed, copies);
    known.insert(read_text(packed));
  }
  loaders.push_back({"gzip", {sample}, packed, false, [=](const auto& path) {
                       if (!known.contains(read_text(path)))
                         throw FuzzFailure("a changed .gz file was taken for another text");
                     }});
#endif

  loaders.push_back(
      {"similarity_pairs",
       {"# a b 1\na\tb\t9.5\n\nc\td\t-1e3\r\n", "word1,word2,score\n\"a\",b,1\n", "a b 1\n"},
       folder / "pairs",
       false,
       [](const auto& path) { static_cast<void>(SimilarityPair::load(path)); }});
  loaders.push_back({"analogies",
                     {": capital\na b c d\n#\n\n: gram1 x\r\ne f g h\n"},
                     folder / "questions",
                     false,
                     [](const auto& path) { static_cast<void>(AnalogySection::load(path)); }});
  loaders.push_back({"node_labels",
                     {"# a\na x y\n\nb\ty\r\nc z\n"},
                     folder / "labels",
                     false,
                     [](const auto& path) { static_cast<void>(NodeLabels::load(path)); }});

  // A file that is not what was written is made again, or refused: the contexts stay the same.
  const std::vector<std::vector<WordId>> sentences{{0, 1, 2, 0}, {3, 4}, {1, 0, 3}};
  const auto corpus = EncodedCorpus::from_sentences(sentences, vocabulary);
  const auto contexts_of = [=](const std::filesystem::path& path) {
    const auto matrix =
        WordContextMatrix::from(corpus, vocabulary, {.columns = 3, .threads = 1, .file = path});
    std::vector<WordId> contexts(matrix.words().size());
    for (const std::uint64_t column : {2u, 0u, 1u}) matrix.contexts(column, 0, contexts);
    return contexts;
  };
  const auto contexts = contexts_of({});
  contexts_of(folder / "contexts");
  loaders.push_back({"contexts",
                     {read_file(folder / "contexts")},
                     folder / "contexts",
                     false,
                     [=](const auto& path) {
                       if (contexts_of(path) != contexts)
                         throw FuzzFailure("a changed file was taken for other contexts");
                     }});

  const auto walk = [](const Graph& graph) {
    std::size_t steps = 0;
    for (const auto nodes :
         RandomWalks(graph, {.walks_per_node = 1, .length = 4, .p = 0.5}).sentences({.count = 2}))
      for (const WordId node : nodes) steps += graph.neighbours(node).size();
    if (steps > 4 * graph.node_count() * graph.entry_count())
      throw FuzzFailure("a walk has left the graph");
  };
  const std::string edges = "a b 1\nb c 0.5\n# x\n\nc c 2\nd a 1e-3\r\n12 a +1\n";
  loaders.push_back(
      {"edge_list",
       {edges,
        "%%MatrixMarket matrix coordinate real symmetric\n% x\n9 9 3\n1 2 3\n"
        "4 4 1\n9 1 0.5\n",
        "7 8 2\n8 9 1\n", "a,\"b \"\"c\"\", d\", 1\r\nb,e,{'weight': 2, 'x': 'y'}\n",
        "New York\tLos Angeles\t1\nBoston\tNew York\t.5\n", "% sym weighted\n1 2 1 99\n2 3 4 98\n"},
       folder / "edges",
       false,
       [walk](const auto& path) {
         for (const bool directed : {false, true})
           walk(
               Graph::from_edge_list(path, {.directed = directed, .weighted = true, .threads = 1}));
       }});
  // Tables with a header, adjacency lists and files with a delimiter that is given.
  loaders.push_back(
      {"edge_list_table",
       {"\xef\xbb\xbfSource;Target;Type;Weight\n1;2;Undirected;1\n2;3;Directed;2\n",
        "from,to\n\"a, b\",c\nc,d\n"},
       folder / "table",
       false,
       [walk](const auto& path) {
         walk(Graph::from_edge_list(
             path, {.directed = true, .header = GraphOptions::Header::present, .threads = 1}));
       }});
  loaders.push_back({"edge_list_adjacency",
                     {"1 2 3 4\n2 1\n5\n", "a,\"b, c\",d\nb\n"},
                     folder / "adjacency",
                     false,
                     [walk](const auto& path) {
                       walk(Graph::from_edge_list(
                           path, {.format = GraphOptions::Format::adjacency, .threads = 1}));
                     }});
  loaders.push_back({"edge_list_delimited",
                     {"a|b\nb|\"c\"\"d\"\n", "a b|c\n"},
                     folder / "delimited",
                     false,
                     [walk](const auto& path) {
                       walk(Graph::from_edge_list(path, {.delimiter = '|', .threads = 1}));
                     }});
  write_file(folder / "edges", edges);
  Loader graphs{
      "graph", {}, folder / "graph", true, [walk](const auto& path) { walk(Graph::load(path)); }};
  for (const bool weighted : {false, true}) {
    Graph::from_edge_list(folder / "edges", {.weighted = weighted}).save(graphs.path);
    graphs.samples.push_back(read_file(graphs.path));
  }
  loaders.push_back(std::move(graphs));
  return loaders;
}
