"""Embeds the nodes of an edge list 'node TAB node' by ProNE (nodevectors) or Cleora (pycleora), with
their defaults, or by walks and skip-gram of GRAPE (ensmallen), all from PyPI, and writes word2vec's
text format."""
import argparse
import os

parser = argparse.ArgumentParser()
parser.add_argument("method", choices=["prone", "cleora", "grape"])
parser.add_argument("graph")
parser.add_argument("output")
parser.add_argument("--dimension", type=int, required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--seed", type=int, required=True)
for name in ("length", "walks", "window"):  # of grape
    parser.add_argument("--" + name, type=int)
for name in ("p", "q"):
    parser.add_argument("--" + name, type=float)
given = parser.parse_args()
for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON"):
    os.environ[f"{library}_NUM_THREADS"] = str(given.threads)

if given.method == "grape":
    from ensmallen import Graph, models
    graph = Graph.from_csv(
        edge_path=given.graph, edge_list_separator="\t", edge_list_header=False,
        sources_column_number=0, destinations_column_number=1, directed=False, verbose=False)
    names = graph.get_node_names()
    # One epoch of each node's walks at word2vec's rate, as the other programs train them.
    vectors = models.SkipGram(
        embedding_size=given.dimension, window_size=given.window, epochs=1, learning_rate=0.025,
        number_of_negative_samples=5, walk_length=given.length, iterations=given.walks,
        return_weight=1 / given.p, explore_weight=1 / given.q, random_state=given.seed,
        verbose=False).fit_transform(graph)[0]
else:
    edges = [line.split()[:2] for line in open(given.graph) if not line.startswith("#")]
if given.method == "cleora":
    import pycleora
    graph = pycleora.SparseMatrix.from_iterator(
        (" ".join(edge) for edge in edges), "complex::reflexive::node")
    names = graph.entity_ids
    vectors = pycleora.embed(graph, feature_dim=given.dimension, seed=given.seed,
                             num_workers=given.threads)
elif given.method == "prone":
    import numpy
    import scipy.sparse
    from nodevectors import ProNE
    numpy.random.seed(given.seed)
    numbers = {}
    ends = numpy.array([[numbers.setdefault(name, len(numbers)) for name in edge]
                        for edge in edges])
    names = list(numbers)
    matrix = scipy.sparse.coo_matrix(
        (numpy.ones(2 * len(ends)), (numpy.concatenate([ends[:, 0], ends[:, 1]]),
                                     numpy.concatenate([ends[:, 1], ends[:, 0]]))),
        shape=(len(names), len(names))).tocsr()
    matrix.data[:] = 1
    vectors = ProNE(n_components=given.dimension, verbose=False).fit_transform(matrix)

with open(given.output, "w") as file:
    file.write(f"{len(names)} {given.dimension}\n")
    for name, vector in zip(names, vectors):
        file.write(name + " " + " ".join(f"{value:.7g}" for value in vector) + "\n")
