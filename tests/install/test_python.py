"""Tests of the Python module of examples/python, as installed."""
import gc
import os
import signal
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy
import wordloom

SMALL = dict(dimension=20, subsample=0, threads=2)
LONG = dict(SMALL, epochs=1_000_000)
TEXT = ["the cat chases a mouse", "the dog chases a ball"] * 200


def interrupt_after(seconds):
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


class Data(unittest.TestCase):
    def test_sentences_are_strings_or_lists_in_any_iterable(self):
        one = dict(SMALL, threads=1)
        expected = wordloom.train(TEXT, **one)
        lists = [text.split() for text in TEXT]
        for same in (lists, tuple(map(tuple, lists)), (text for text in TEXT),
                     (iter(words) for words in lists), [text + " \n" for text in TEXT]):
            numpy.testing.assert_array_equal(wordloom.train(same, **one).array, expected.array)
        self.assertEqual(sorted(expected.words),
                         ["a", "ball", "cat", "chases", "dog", "mouse", "the"])

    def test_words_are_any_strings(self):
        words = ["New York", "naïve", "猫", "a\0b"]
        vectors = wordloom.train([words] * 10, **SMALL)
        self.assertEqual(sorted(vectors.words), sorted(words))
        self.assertIn("a\0b", vectors)
        self.assertNotIn("a", vectors)

    def test_what_is_no_sentence_is_refused(self):
        for sentences, message in ((TEXT[0], "sentences is a str"),
                                   (7, "incompatible function arguments"),
                                   ([7], "a sentence must be a str or an iterable of str"),
                                   ([["a", 7]], "a word must be a str, not int"),
                                   ([b"a b"], "a word must be a str, not int"),
                                   ([["a", None]], "a word must be a str, not NoneType")):
            with self.assertRaisesRegex(TypeError, message):
                wordloom.train(sentences)
        with self.assertRaises(UnicodeEncodeError):
            wordloom.train([["\ud800"]])
        for sentences, message in (([], "no words"), ([""], "no words"),
                                   ([["a", ""]] * 9, "word is empty"),
                                   (["a b"], "none of its 2 words occurs min_count = 5 times"),
                                   (["a"] * 9, "a vocabulary of at least 2 words, got 1")):
            with self.assertRaisesRegex(ValueError, message):
                wordloom.train(sentences)

    def test_an_exception_in_a_generator_arrives(self):
        def broken():
            yield from TEXT
            raise ZeroDivisionError("halfway")

        with self.assertRaisesRegex(ZeroDivisionError, "halfway"):
            wordloom.train(broken())
        with self.assertRaisesRegex(ZeroDivisionError, "halfway"):
            wordloom.train([["a", "b"], (word for word in broken())])


class Parameters(unittest.TestCase):
    def test_bad_ones_are_refused_with_the_message_of_the_library(self):
        for parameters, message in (
                (dict(dimension=0), "dimension is 0, must be from 1 to 65536"),
                (dict(dimension=-1), "dimension is '-1', must be a whole number, not below 0"),
                (dict(dimension=2.5), "dimension is '2.5', must be a whole number"),
                (dict(window=None), "window is 'None', must be a whole number"),
                (dict(learning_rate=float("nan")), "learning_rate is nan, must be above"),
                (dict(sampler="telepathy"), "there is no sampler 'telepathy', choose one of: hog"),
                (dict(kernel="fast"), "there is no kernel 'fast', choose one of: fused"),
                (dict(optimizer="magic"), "there is no optimizer 'magic'"),
                (dict(optimizer="adam"), "the optimizer adam goes with the kernel dot, not fused"),
                (dict(schedule="never"), "never"),
                (dict(minibatch=8), "minibatch"),
                (dict(dimensions=8), "this sampler has no parameter 'dimensions', it has: window"),
                (dict(sampler="cbow", gradient="all"), "must be mean, root or whole")):
            with self.assertRaisesRegex(ValueError, message):
                wordloom.train(TEXT, **parameters)
        with self.assertRaises(TypeError):
            wordloom.train(TEXT, min_count=-1)

    def test_good_ones_have_an_effect(self):
        one = dict(SMALL, threads=1)
        usual = wordloom.train(TEXT, **one).array
        for parameters in (dict(sampler="grouped"), dict(window=1), dict(fixed_window=True),
                           dict(learning_rate=numpy.float32(0.5)), dict(seed=2),
                           dict(sampler="cbow", gradient="whole"), dict(schedule="constant"),
                           dict(kernel="dot", sampler="hogwild", optimizer="adam")):
            trained = wordloom.train(TEXT, **dict(one, **parameters)).array
            self.assertFalse(numpy.array_equal(trained, usual), parameters)


class Vectors(unittest.TestCase):
    def setUp(self):
        self.vectors = wordloom.train(TEXT, **SMALL)

    def test_arrays_are_views_that_outlive_the_object(self):
        array, cat = self.vectors.array, self.vectors["cat"]
        self.assertEqual((array.shape, array.dtype, cat.shape), ((7, 20), numpy.float32, (20,)))
        row = array[self.vectors.words.index("cat")]
        self.assertTrue(numpy.shares_memory(row, cat) and numpy.array_equal(row, cat))
        for view in (array, cat):
            self.assertFalse(view.flags.owndata or view.flags.writeable)
            with self.assertRaises(ValueError):
                view[...] = 0
            with self.assertRaises(ValueError):
                view.flags.writeable = True
        before = array.copy()
        del self.vectors
        gc.collect()
        for _ in range(3):
            wordloom.train(TEXT, **SMALL)  # would overwrite memory that was freed
        numpy.testing.assert_array_equal(array, before)

    def test_unknown_words_are_key_errors(self):
        for query in (lambda: self.vectors["xyzzy"], lambda: self.vectors.most_similar("xyzzy"),
                      lambda: self.vectors.most_similar(["cat"], ["xyzzy"])):
            with self.assertRaisesRegex(KeyError, "unknown word 'xyzzy'"):
                query()
        for wrong in (7, None):
            with self.assertRaises(TypeError):
                self.vectors[wrong]

    def test_most_similar(self):
        nearest = self.vectors.most_similar("cat", k=3)
        unit = self.vectors.array / numpy.linalg.norm(self.vectors.array, axis=1, keepdims=True)
        scores = unit @ unit[self.vectors.words.index("cat")]
        order = [self.vectors.words[i] for i in numpy.argsort(-scores)[1:4]]
        self.assertEqual([word for word, _ in nearest], order)
        self.assertAlmostEqual(nearest[0][1], sorted(scores)[-2], places=5)
        self.assertEqual(self.vectors.most_similar(["cat"], k=3), nearest)
        self.assertEqual(len(self.vectors.most_similar(["cat", "dog"], ["ball"], k=99)), 4)
        with self.assertRaises(TypeError):
            self.vectors.most_similar(7)

    def test_save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "vectors.bin"
            self.vectors.save(path)
            loaded = wordloom.load(path)
            numpy.testing.assert_array_equal(loaded.array, self.vectors.array)
            self.assertEqual(loaded.words, self.vectors.words)
            with self.assertRaisesRegex(OSError, "No such file"):
                wordloom.load(str(path) + ".gone")
            with self.assertRaises(OSError):
                self.vectors.save(path / "below")
            path.write_bytes(path.read_bytes()[:-3])
            with self.assertRaisesRegex(ValueError, "vectors.bin: byte"):
                wordloom.load(path)


class Callbacks(unittest.TestCase):
    def test_they_run_on_the_calling_thread_and_stop_training(self):
        seen = []

        def callback(progress):
            seen.append((threading.get_ident(), progress.epoch, progress.fraction, progress.ended))
            return len(seen) < 3

        wordloom.train(TEXT, callback=callback, interval=0.01, **LONG)
        self.assertEqual({ident for ident, *_ in seen}, {threading.get_ident()})
        self.assertTrue(3 <= len(seen) <= 4 and seen[-1][3] and seen[-1][2] < 1)
        wordloom.train(TEXT, callback=lambda progress: seen.append(progress), **SMALL)
        self.assertEqual((seen[-1].fraction, seen[-1].epochs), (1, 5))

    def test_an_exception_arrives_and_ends_training(self):
        def callback(progress):
            {}["of the callback"]

        with self.assertRaisesRegex(KeyError, "of the callback"):
            wordloom.train(TEXT, callback=callback, interval=0.01, **LONG)
        with self.assertRaises(TypeError):
            wordloom.train(TEXT, callback=7, interval=0.01, **LONG)

    def test_a_callback_may_train(self):
        inner = []

        def callback(progress):
            inner.append(len(wordloom.train(TEXT, **SMALL)))
            return False

        wordloom.train(TEXT, callback=callback, interval=0.01, **LONG)
        self.assertEqual(inner[0], 7)


class Threads(unittest.TestCase):
    def test_other_threads_run_while_one_trains(self):
        ticks, done = [0], threading.Event()

        def count():
            while not done.wait(0.001):
                ticks[0] += 1

        other = threading.Thread(target=count)
        other.start()
        start = time.monotonic()
        wordloom.train(TEXT, callback=lambda now: time.monotonic() < start + 0.5, interval=0.01,
                       **LONG)
        done.set()
        other.join()
        self.assertGreater(ticks[0], 20)  # of about 450

    def test_two_threads_train(self):
        one = dict(SMALL, threads=1, epochs=200)
        expected, results = wordloom.train(TEXT, **one).array, {}

        def train(name):
            results[name] = wordloom.train((text for text in TEXT), **one).array

        threads = [threading.Thread(target=train, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in results.values():
            numpy.testing.assert_array_equal(result, expected)
        self.assertEqual(len(results), 2)


class Interrupts(unittest.TestCase):
    def interrupt(self, call):
        """Sends SIGINT 0.3 seconds after `call` began, which must end it within a second."""
        interrupt_after(0.3)
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            call()
        self.assertLess(time.monotonic() - start, 1.3)

    def test_training_is_interrupted(self):
        for threads in (1, 2, 4):
            self.interrupt(lambda: wordloom.train(TEXT, **dict(LONG, threads=threads)))
        for sampler, kernel in (("grouped", "gemm"), ("uniform", "fused"), ("hogwild", "dot")):
            self.interrupt(lambda: wordloom.train(TEXT, sampler=sampler, kernel=kernel, **LONG))
        wordloom.train(TEXT, **SMALL)  # is not interrupted again

    def test_reading_is_interrupted(self):
        def endless():
            while True:
                yield ["a", "b"]

        class Endless:  # without any code of Python
            def __iter__(self):
                import itertools
                return itertools.chain(itertools.repeat("a b"))

        self.interrupt(lambda: wordloom.train(endless()))
        self.interrupt(lambda: wordloom.train(Endless()))


if __name__ == "__main__":
    unittest.main()
