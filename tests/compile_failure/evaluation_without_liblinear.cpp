// What needs LIBLINEAR is not there without it, and says so.
// expect: evaluate_links needs LIBLINEAR
// expect: evaluate_node_labels needs LIBLINEAR

#undef WORDLOOM_HAS_LIBLINEAR
#include <wordloom/evaluation/link_prediction.hpp>
#include <wordloom/evaluation/node_labels.hpp>

using namespace wordloom;

LinkReport use(const Embeddings& embeddings, const LinkSplit& split, const NodeLabels& labels) {
#ifdef WORDLOOM_EXPECT_FAILURE
  evaluate_links(embeddings, split);
  evaluate_node_labels(embeddings, labels);
#else
  static_cast<void>(labels);
#endif
  return LinkReport::of_similarity(embeddings, split);
}
