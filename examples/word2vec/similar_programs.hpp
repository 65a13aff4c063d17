#pragma once
#include "declare_options.hpp"
#include "foreign_names.hpp"

/// fastText's names of options that are also word2vec's.
inline const Aliases fasttext_names{{{"--size", "--size,--dim"},
                                     {"--window", "--window,--ws"},
                                     {"--negative", "--negative,--neg"},
                                     {"--sample", "--sample,-t"},
                                     {"--alpha", "--alpha,--lr"},
                                     {"--iter", "--iter,--epoch"},
                                     {"--threads", "--threads,--thread"}}};

/// Commands and options of fastText, gensim and GloVe, with the replacement for each.
inline const ForeignNames foreign_commands{
    {"skipgram",
     "this command of fastText is the default here: leave it out, and give --maxn 6 for its "
     "subwords, --format fasttext for its .bin"},
    {"cbow",
     "instead of this command of fastText give --cbow 1, with --maxn 6 for its subwords and "
     "--format fasttext for its .bin"},
    {"supervised",
     "fastText's classifiers are not supported, this program trains vectors of words"},
    {"quantize", "fastText's quantised models are neither read nor written"},
    {"test", "fastText's classifiers are not supported; evaluate scores vectors"},
    {"test-label", "fastText's classifiers are not supported; evaluate scores vectors"},
    {"predict", "fastText's classifiers are not supported"},
    {"predict-prob", "fastText's classifiers are not supported"},
    {"nn", "instead of this command of fastText run: neighbours MODEL"},
    {"analogies", "instead of this command of fastText run: neighbours MODEL"},
    {"print-word-vectors",
     "not supported; neighbours MODEL answers words, --output writes vectors"},
    {"print-sentence-vectors", "not supported; neighbours MODEL --sentences FILE ranks sentences"},
    {"print-ngrams", "vectors of n-grams are not supported"},
    {"dump", "not supported; neighbours MODEL answers words"}};
inline const ForeignNames foreign_options{
    {"saveOutput",
     "fastText's text format beside a model is not supported: give --format fasttext "
     "--output FILE, or --save-model MODEL --output FILE"},
    {"label", "fastText's classifiers are not supported: leave it out"},
    {"minCountLabel", "fastText's classifiers are not supported: leave it out"},
    {"autotune-validation", "fastText's classifiers are not supported: leave it out"},
    {"qnorm", "fastText's quantised models are not supported: leave it out"},
    {"qout", "fastText's quantised models are not supported: leave it out"},
    {"cutoff", "fastText's quantised models are not supported: leave it out"},
    {"retrain", "fastText's quantised models are not supported: leave it out"},
    {"dsub", "fastText's quantised models are not supported: leave it out"},
    {"sentences", "write --train"},
    {"corpus-file", "write --train"},
    {"vector-size", "write --size"},
    {"dimensions", "write --size"},
    {"window-size", "write --window"},
    {"context-window", "write --window"},
    {"workers", "write --threads"},
    {"num-threads", "write --threads"},
    {"epochs", "write --iter"},
    {"sg", "write --cbow 0 for skip-gram, --cbow 1 for CBOW"},
    {"ns-exponent", "write --negative-exponent"},
    {"max-vocab-size", "write --max-vocabulary"},
    {"max-final-vocab", "write --max-vocabulary"},
    {"cbow-mean", "write --cbow-gradient root, mean or whole"},
    {"learning-rate", "write --alpha"},
    {"vocab-min-count", "write --min-count"}};
