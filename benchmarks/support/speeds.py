"""The speeds of `compare_peers --scale paper`: a vocabulary of 68,000 words at D = 128 and that of the
1 Billion Word Benchmark at D = 300, in sentences and in long lines, by one and by two threads. Words
are drawn at random (make_text), so no vectors are scored."""
import datetime
import json
import os
import pathlib
import platform
import resource
import shlex
import statistics
import tempfile

# The vocabulary and dimension of the demo corpora, and of the 1 Billion Word Benchmark.
SIZES = ["68000x128", "1115011x300"]
LINES = {25: ("sentences of 25 words", []), 1000: ("lines of 1,000 words", ["--fixed-lines"])}
THREADS = [1, 2]
OURS = ["hogwild+dot", "minibatch+gemm", "shared+fused", "combined+fused/4x8",
        "grouped+fused/3x7@0.03", "grouped+fused/5x8@0.03"]
HEAD = """
Texts by `make_text`: {tokens} tokens, of which those of a law of Zipf and Mandelbrot and each word of
the vocabulary once. Window {window}, {negative} negatives, sample {sample}, minimum count 1.

Speeds are words of the corpus a second after the first epoch: figures of a run of one epoch are
subtracted from those of a run of {epochs}, which leaves out reading, counting, touching new memory and
saving, of every program alike. "By user time": divided by the seconds that all threads computed, a
thread, so that other programs on the machine disturb it less. Ratios are of user time. Medians of
{rounds} round(s), in alternation.

"""


def add_arguments(parser):
    group = parser.add_argument_group("--scale paper")
    group.add_argument("--sizes", nargs="+", default=SIZES, metavar="VxD",
                       help="vocabularies and dimensions")
    group.add_argument("--lines", nargs="+", type=int, choices=LINES, default=list(LINES),
                       help="words in a line: sentences of 25, of varying length, or lines of 1000")
    group.add_argument("--tokens", type=int, default=10_000_000, help="of each text")
    group.add_argument("--resume", action="store_true", help="continue an interrupted comparison")


def check_arguments(given, fail):
    """Returns the files that are needed besides our trainer."""
    if given.corpus or given.data or given.model != "skipgram":
        fail("--scale paper trains skip-gram on texts of its own: leave out --corpus, --data and "
             "--model")
    given.ours = given.ours or OURS
    given.threads = given.threads or THREADS
    given.epochs = given.epochs or 2
    if given.epochs < 2:
        fail("--scale paper compares runs of 1 epoch and of more: give --epochs 2 or more")
    given.sizes = [parse_size(size, fail) for size in given.sizes]
    return [given.build / "benchmarks/make_text"]


def parse_size(size, fail):
    words, _, dimension = size.partition("x")
    if not words.isdecimal() or not dimension.isdecimal():
        fail(f"--sizes {size}: expected VxD, as in {SIZES[0]}")
    return int(words), int(dimension)


class Speeds:
    """The runs of all programs, which are saved after each."""

    def __init__(self, given, commands, tools):
        self.given, self.commands, self.tools = given, commands, tools
        self.settings = {key: getattr(given, key) for key in
                         ("tokens", "epochs", "window", "negative", "sample")}
        self.runs = []
        self.path = given.output.with_name(given.output.name + ".json")
        if given.resume and self.path.exists():
            document = json.loads(self.path.read_text(encoding="utf-8"))
            if document["settings"] != self.settings:
                tools.fail(f"--resume: the runs of {self.path} differ in settings")
            self.runs = document["runs"]

    def save(self):
        """Writes the runs and the table."""
        given = self.given
        document = {
            "date": datetime.date.today().isoformat(), "machine": self.tools.machine(),
            "system": platform.platform(),
            "ours": self.tools.run([str(given.build / "examples/word2vec"), "--version"])[0].strip(),
            "environment": {k: v for k, v in os.environ.items()
                            if k.startswith(("OPENBLAS_", "WORDLOOM_", "OMP_"))},
            "settings": self.settings, "runs": self.runs}
        given.output.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        head = (f"# Speeds\n\n{document['date']}, {document['machine']}; {document['ours']}; "
                f"{document['environment']}.\n" + HEAD.format(rounds=given.rounds, **self.settings))
        given.output.with_name(given.output.name + ".md").write_text(head + table(self.runs),
                                                                     encoding="utf-8")

    def epochs(self, command, text, folder, epochs, **placeholders):
        """Returns the wall seconds and user seconds of a run of so many epochs."""
        given = self.given
        try:
            filled = command.format(
                corpus=text, lines=text, output=folder / "vectors", epochs=epochs,
                window=given.window, negative=given.negative, sample=given.sample, min_count=1,
                cbow=0, hs=0, alpha=0.025, **placeholders)
        except (KeyError, IndexError, ValueError) as error:
            self.tools.fail(f"the command '{command}' has an unknown placeholder: {error}")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        _, seconds, _ = self.tools.run(shlex.split(filled))
        user = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        for old in folder.glob("vectors*"):
            old.unlink()
        return seconds, user

    def later_epochs(self, name, *arguments, threads, **placeholders):
        """Returns the wall seconds and user seconds of the epochs after the first."""
        for _ in range(3):  # other programs may have disturbed the first run more than the second
            one, all_epochs = (self.epochs(*arguments, epochs=epochs, threads=threads,
                                           **placeholders) for epochs in (1, self.given.epochs))
            user = all_epochs[1] - one[1]
            if user > 0:  # on a busy machine the difference of wall seconds may be anything
                return max(all_epochs[0] - one[0], user / threads), user
        return self.tools.fail(f"{name} takes no longer for {self.given.epochs} epochs than for 1: "
                               "give more --epochs or --tokens")

    def measure(self, size, lines, threads, text, folder):
        words, dimension = size
        for seed in range(1, self.given.rounds + 1):
            for name, command in self.commands.items():
                key = {"name": name, "words": words, "dimension": dimension, "lines": lines,
                       "threads": threads, "seed": seed}
                if any(run.items() >= key.items() for run in self.runs):
                    continue
                wall, user = self.later_epochs(name, command, text, folder, dimension=dimension,
                                               threads=threads, seed=seed)
                words_trained = self.given.tokens * (self.given.epochs - 1)
                self.runs.append({**key, "ours": name in self.given.ours,
                                  "wall_speed": words_trained / wall,
                                  "user_speed": words_trained * threads / user})
                self.save()
                print(f"V {words}, D {dimension}, {lines} words a line, {threads} thread(s), "
                      f"{name}: {self.runs[-1]['user_speed'] / 1e6:.2f} M words/s by user time",
                      flush=True)


def medians(runs):
    """Returns the medians of speeds for each size, length of lines, number of threads and name."""
    found = {}
    for run in runs:
        key = tuple(run[k] for k in ("words", "dimension", "lines", "threads"))
        found.setdefault(key, {}).setdefault(run["name"], []).append(run)
    return {key: {name: {"ours": own[0]["ours"],
                         **{speed: statistics.median(run[speed] for run in own)
                            for speed in ("wall_speed", "user_speed")}}
                  for name, own in programs.items()}
            for key, programs in found.items()}


def table(runs):
    """A row for each program and text: speeds, and ratios to the first program and to the peers."""
    programs = {run["name"]: run["ours"] for run in runs}
    references = list(programs)[:1] + [name for name, ours in programs.items() if not ours]
    lines = ["| V, D | text | threads | program | M words/s | by user time | "
             + " | ".join(f"x {name}" for name in references) + " |",
             "|---" * (6 + len(references)) + "|"]
    for (words, dimension, length, threads), speeds in medians(runs).items():
        for name, speed in sorted(speeds.items(), key=lambda item: item[1]["user_speed"]):
            cells = [f"{words:,}, {dimension}", LINES[length][0], str(threads),
                     f"**{name}**" if speed["ours"] else name,
                     f"{speed['wall_speed'] / 1e6:.2f}", f"{speed['user_speed'] / 1e6:.2f}"]
            cells += [f"{speed['user_speed'] / speeds[other]['user_speed']:.2f}"
                      if other in speeds else "" for other in references]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def compare(given, peers, tools):
    """Measures ours and the peers on all texts. `tools`: compare_peers, for its functions."""
    commands = {name: tools.our_command(name, given.build) for name in given.ours} | peers
    speeds = Speeds(given, commands, tools)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        text = folder / "text"
        for size in given.sizes:
            for lines in given.lines:
                tools.run([str(given.build / "benchmarks/make_text"), "--output", str(text),
                           "--words", str(size[0]), "--tokens", str(given.tokens),
                           "--line-words", str(lines), *LINES[lines][1]])
                for threads in given.threads:
                    speeds.measure(size, lines, threads, text, folder)
    print(table(speeds.runs))
