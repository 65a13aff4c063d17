"""Trains with gensim on a text of one sentence per line; prints the seconds of training alone."""
import argparse
import json
import time

from gensim.models import Word2Vec

parser = argparse.ArgumentParser()
for name in ("corpus", "output"):
    parser.add_argument(name)
for name in ("dimension", "window", "negative", "epochs", "threads", "seed", "min-count",
             "cbow", "hs"):
    parser.add_argument("--" + name, type=int, required=True)
for name in ("sample", "alpha"):
    parser.add_argument("--" + name, type=float, required=True)
given = parser.parse_args()

model = Word2Vec(vector_size=given.dimension, window=given.window, negative=given.negative,
                 sample=given.sample, sg=1 - given.cbow, hs=given.hs,
                 min_count=given.min_count, workers=given.threads, epochs=given.epochs,
                 alpha=given.alpha, seed=given.seed)
model.build_vocab(corpus_file=given.corpus)
start = time.perf_counter()
model.train(corpus_file=given.corpus, total_words=model.corpus_total_words,
            total_examples=model.corpus_count, epochs=given.epochs)
seconds = time.perf_counter() - start
model.wv.save_word2vec_format(given.output, binary=True)
print(json.dumps({"train_seconds": seconds}))
