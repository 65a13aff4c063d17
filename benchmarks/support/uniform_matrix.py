"""The claims of W2V-CL (Li et al. 2019, "Scaling Word2Vec on Big Corpus") with our methods: tables,
plots and the raw figures of `reproduce w2v-cl`.

Parts: 1 quality of Vanilla against the batch, 2 quality of columns against their number (l), 3 all
methods beside each other, 4 the loss of frequent and of rare words during training, 5 optimizers,
6 speed, in alternation, 7 ranks: measured in one process, and predicted for networks. One run of
train_w2v_cl is one configuration. Its result is kept in the .json file as soon as it is there, and
runs that the file has are not repeated. Times of parts 1 to 5 are processor seconds, which other
programs on the machine hardly change.
"""
import importlib.machinery
import importlib.util
import json
import math
import pathlib
import statistics
import sys
import tempfile

BENCHMARKS = pathlib.Path(__file__).resolve().parent.parent
loader = importlib.machinery.SourceFileLoader("compare_peers", str(BENCHMARKS / "compare_peers"))
peers = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(peers)

# Vanilla whose Adam steps only the rows of a batch needs higher rates than usual: with 0.001 it
# learned next to nothing in an epoch of 16 million words. Large batches take fewer steps, so they
# have a third rate.
VANILLA_RATES = {1: (0.005, 0.02), 16: (0.005, 0.02), 256: (0.005, 0.02), 1024: (0.005, 0.02),
                 4096: (0.005, 0.02, 0.05), 65536: (0.005, 0.02, 0.05)}
# As in the paper: a rate that stays, and all rows step (train_w2v_cl --constant --dense).
PAPER_RATE, PAPER_BATCH = 0.001, 1024
# The best of two to four that were tried on the same text, D = 128.
COLUMN_RATES = {64: 0.1, 256: 0.1, 1024: 0.1, 4096: 0.05, 16384: 0.025}
COLUMNS = 4096  # of parts 3, 4 and 5
SPEED_COLUMNS = 512
SHARED_RATE = 0.025
OPTIMIZERS = [("sgd", 0.05), ("adagrad", 0.1), ("adagrad", 0.3), ("adagrad-row", 0.1),
              ("adagrad-row", 0.3), ("adam", 0.002), ("adam", 0.005)]
SHARING = {"minibatch": 16, "shared-negatives": 5}
REPETITIONS = 3
CLASSES = ("frequent", "middle", "rare")
RANKS = (1, 2, 4, 8, 16, 32, 64)
# Seconds from a message's start to its end, bytes/s that a rank sends and receives.
NETWORKS = {"10 GbE": (30e-6, 0.9 * 10e9 / 8), "100 GbE": (10e-6, 0.9 * 100e9 / 8)}


SETTINGS = {"min_count": 50, "window": 2, "dimension": 128, "threads": 1, "seed": 1, "subsample": 0}
SETS = ("ws353", "simlex999", "mturk287")


class Runs:
    """Runs configurations, each once, and keeps their results in the .json file."""

    def __init__(self, given):
        """`given`: corpus, data, build, output and quick, as given to reproduce."""
        self.text = given.corpus
        self.program = given.build / "benchmarks/train_w2v_cl"
        self.similarity = [str(given.data / f"similarity/{name}.tsv") for name in SETS]
        self.analogy = str(given.data / "analogy/questions-words.txt")
        for path in (*self.similarity, self.analogy, self.program):
            if not pathlib.Path(path).is_file():
                peers.fail(f"there is no file {path}")
        self.settings = {**SETTINGS, **({"min_count": 5, "dimension": 16} if given.quick else {})}
        self.path = given.output / "w2v-cl-parts.json"
        self.results = {}
        if self.path.exists():
            document = json.loads(self.path.read_text(encoding="utf-8"))
            if document["text"] != self.text.name:
                peers.fail(f"{self.path} has runs on {document['text']}: give another --output")
            self.results = document["runs"]

    def __call__(self, *flags, repetition=0, file=None, scores=True, **options):
        """Returns the result of a run: options as of train_w2v_cl, with _ for -."""
        words = [word for name, value in {**self.settings, **options}.items()
                 for word in ("--" + name.replace("_", "-"), str(value))]
        words += ["--" + flag for flag in flags]
        key = " ".join(words) + (" --matrix-file" if file else "") + (
            f" # {repetition}" if repetition else "")
        if key not in self.results:
            command = [str(self.program), "--text", str(self.text), *words]
            command += ["--matrix-file", str(file)] if file else []
            if scores:
                command += ["--similarity", *self.similarity, "--analogy", self.analogy]
            self.results[key] = json.loads(peers.run(command)[0])
            self.save()
            print(f"{self.results[key]['seconds']:8.1f} s  {key}", file=sys.stderr, flush=True)
        return self.results[key]

    def save(self):
        document = {"machine": peers.machine(), "text": self.text.name, "runs": self.results}
        self.path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def show(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}"


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def score_names(result):
    return [*result["similarity"], "analogies"]


def scores(result):
    return {**result["similarity"], "analogies": result["analogies"]}


def mean_score(result):
    return statistics.mean(value for value in scores(result).values() if value is not None)


def score_cells(result):
    return [show(value) for value in scores(result).values()]


def class_cells(result):
    return [show(result["by_frequency"][name][0]) for name in CLASSES]


def million(value):
    return f"{value / 1e6:.2f}"


class Charts:
    """SVG pictures whose labels stand beside the points."""
    WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 880, 460, 70, 190, 50, 60
    STYLES = [("#1b4f8a", ""), ("#c0392b", "8 4"), ("#2e7d32", "3 3"), ("#6a3d9a", "10 3 2 3")]

    def __init__(self, prefix):
        self.prefix = prefix
        self.names = []

    def write(self, name, title, body, height=HEIGHT):
        path = self.prefix.with_name(f"{self.prefix.name}-{name}.svg")
        path.write_text("\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.WIDTH}" height="{height}"'
            ' font-family="sans-serif" font-size="13">',
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="12" y="24" font-size="15">{title}</text>', *body, "</svg>\n"]),
            encoding="utf-8")
        return f"![{title}]({path.name})"

    @staticmethod
    def marker(kind, x, y, color):
        shapes = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5"',
                  f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8"',
                  f'<path d="M{x:.1f},{y - 5:.1f} l5,9 h-10 z"',
                  f'<path d="M{x:.1f},{y - 6:.1f} l6,6 l-6,6 l-6,-6 z"']
        return shapes[kind] + f' fill="{color}"/>'

    def lines(self, name, title, x_label, y_label, series, ticks):
        """`series`: name and points of each line; the x of a point is its place among `ticks`."""
        values = [y for _, points in series for _, y in points if y is not None]
        low, high = min(0.0, *values), max(values) * 1.05 or 1.0
        steps = [step * 10**e for e in range(-3, 3) for step in (1, 2, 5)]
        step = next((s for s in steps if (high - low) / s <= 7), high - low)
        right, bottom = self.WIDTH - self.RIGHT, self.HEIGHT - self.BOTTOM
        at_x = lambda x: self.LEFT + 20 + x * (right - self.LEFT - 40) / max(len(ticks) - 1, 1)
        at_y = lambda y: bottom - (y - low) / (high - low) * (bottom - self.TOP)
        body = []
        for i in range(int(low / step), int(high / step) + 1):
            y = at_y(i * step)
            body += [f'<path d="M{self.LEFT},{y:.1f} H{right}" stroke="#ddd"/>',
                     f'<text x="{self.LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{i * step:.3g}'
                     '</text>']
        for i, tick in enumerate(ticks):
            body.append(f'<text x="{at_x(i):.1f}" y="{bottom + 20}" text-anchor="middle">{tick}'
                        '</text>')
        body += [f'<text x="{(self.LEFT + right) / 2}" y="{bottom + 44}" text-anchor="middle">'
                 f'{x_label}</text>', f'<text x="{self.LEFT - 50}" y="{self.TOP - 6}">{y_label}'
                 '</text>']
        ends = []
        for kind, (label, points) in enumerate(series):
            color, dash = self.STYLES[kind % len(self.STYLES)]
            points = [(at_x(x), at_y(y)) for x, y in points if y is not None]
            if not points:
                continue
            path = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
            body.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="1.8"'
                        f' stroke-dasharray="{dash or "none"}"/>')
            body += [self.marker(kind % 4, x, y, color) for x, y in points]
            ends.append([points[-1][1], label, color])
        last = 0.0
        for y, label, color in sorted(ends):
            last = max(y, last + 17)
            body.append(f'<text x="{right + 4}" y="{last + 4:.1f}" fill="{color}">{label}</text>')
        return self.write(name, title, body)

    def bars(self, name, title, unit, rows):
        """`rows`: name and values of each bar, the median with a line from lowest to highest."""
        scale = 440 / max(max(values) for _, values in rows)
        body = []
        for i, (label, values) in enumerate(rows):
            y, middle = 46 + 34 * i, statistics.median(values)
            low, high = (290 + scale * value for value in (min(values), max(values)))
            body += [f'<text x="280" y="{y + 16}" text-anchor="end">{label}</text>',
                     f'<rect x="290" y="{y}" width="{scale * middle:.1f}" height="22"'
                     ' fill="#9db9d6"/>',
                     f'<path d="M{low:.1f},{y + 11} H{high:.1f} M{low:.1f},{y + 6} v10'
                     f' M{high:.1f},{y + 6} v10" stroke="black"/>',
                     f'<text x="{high + 8:.1f}" y="{y + 16}">{middle:.2f} {unit}</text>']
        return self.write(name, title, body, 70 + 34 * len(rows))


def score_lines(charts, name, method, x_label, results):
    """A chart of all scores of results by their sizes."""
    sizes, first = list(results), next(iter(results.values()))
    at = {size: f"{mean_score(result):.2f} at {size}" for size, result in results.items()}
    best = max(sizes, key=lambda size: mean_score(results[size]))
    title = f"{method}: mean score {at[sizes[0]]}, {at[sizes[-1]]}, best {at[best]}"
    series = [(score, [(i, scores(result)[score]) for i, result in enumerate(results.values())])
              for score in score_names(first)]
    return charts.lines(name, title, x_label, "score", series, list(results))


def shared(run, epochs, *flags):
    return run(*flags, method="shared", rate=SHARED_RATE, epochs=epochs)


def uniform(run, *flags, columns, rate=None, optimizer="sgd", **options):
    options = {"shared_negatives": SHARING["shared-negatives"], "minibatch": SHARING["minibatch"],
               **options}
    return run(*flags, method="uniform", columns=columns, rate=rate or COLUMN_RATES[columns],
               optimizer=optimizer, **options)


def vanilla(run, batch, quick=False):
    """Returns Vanilla's results with each of the learning rates, the best first."""
    results = [run(method="vanilla", kernel="dot", optimizer="adam", batch=batch, rate=rate)
               for rate in VANILLA_RATES[batch][:1 if quick else None]]
    return sorted(results, key=mean_score, reverse=True)


def paper_vanilla(run, **options):
    return run("dense", "constant", method="vanilla", kernel="dot", optimizer="adam",
               batch=PAPER_BATCH, rate=PAPER_RATE, **options)


def paper_columns(run, columns, **options):
    return uniform(run, "constant", columns=columns, optimizer="adam", rate=PAPER_RATE,
                   minibatch=1, **options)


def equal_epochs(run, columns):
    """Epochs in which SharedNegative trains about as long as the uniform matrix."""
    return max(1, round(uniform(run, columns=columns)["cpu_seconds"]
                        / shared(run, 1)["cpu_seconds"]))


def part1(run, charts, quick):
    batches = [1, 256] if quick else list(VANILLA_RATES)
    results = {batch: vanilla(run, batch, quick) for batch in batches}
    best = {batch: of_batch[0] for batch, of_batch in results.items()}
    rows = [[str(batch), f"{result['rate']:g}", *score_cells(result), *class_cells(result),
             f"{result['cpu_seconds']:.1f}"] for batch, of_batch in results.items()
            for result in of_batch]
    paper = paper_vanilla(run)
    rows.append([f"{PAPER_BATCH}, all rows step", f"{PAPER_RATE:g}, constant",
                 *score_cells(paper), *class_cells(paper), f"{paper['cpu_seconds']:.1f}"])
    return ["## 1. Vanilla: quality against the batch",
            "Pairs in the order of the corpus, Adam, one epoch; all pairs of a batch see the rows"
            " as they were when it began. The rates of a batch are listed best first, and the"
            " picture has the best. In the last row Adam steps all rows after each batch, as in the"
            " paper.",
            table(["batch", "rate", *score_names(best[1]), *CLASSES, "CPU s"], rows),
            score_lines(charts, "batch", "Vanilla with Adam", "pairs in a batch", best)]


def part2(run, charts, quick):
    results = {columns: uniform(run, columns=columns)
               for columns in ([64, 256] if quick else COLUMN_RATES)}
    first = next(iter(results.values()))
    rows = [[str(columns), f"{result['rate']:g}", *score_cells(result), *class_cells(result),
             f"{result['cpu_seconds']:.1f}"] for columns, result in results.items()]
    return ["## 2. Columns: quality against their number (l)",
            f"Uniform matrix, sgd, {SHARING['minibatch']} words share {SHARING['shared-negatives']}"
            f" negatives. A batch is a column: {first['vocabulary']} pairs.",
            table(["l", "rate", *score_names(first), *CLASSES, "CPU s"], rows),
            score_lines(charts, "columns", "Uniform matrix", "columns (l)", results)]


def part3(run, charts, quick):
    columns = 256 if quick else COLUMNS
    epochs = equal_epochs(run, columns)
    results = {
        "Vanilla, Adam, batch 1": vanilla(run, 1, quick)[0],
        "Vanilla, Adam, batch 256": vanilla(run, 256, quick)[0],
        f"Vanilla as in the paper, batch {PAPER_BATCH}": paper_vanilla(run),
        "Hogwild (word2vec), sgd": run(method="hogwild", kernel="dot", rate=0.025),
        "SharedNegative, sgd, 1 epoch": shared(run, 1),
        f"SharedNegative, sgd, {epochs} epochs": shared(run, epochs),
        f"W2V-CL: l = {columns}, Adam, negatives of each pair": paper_columns(run, columns),
        f"ours: l = {columns}, sgd, shared negatives": uniform(run, columns=columns)}
    first = next(iter(results.values()))
    counts = [first["by_frequency"][name][1] for name in CLASSES]
    rows = [[name, *score_cells(result), show(result["semantic"]), show(result["syntactic"]),
             *class_cells(result), million(result["pairs"]), f"{result['cpu_seconds']:.1f}"]
            for name, result in results.items()]
    return ["## 3. Methods beside each other",
            "Frequent, middle and rare: Spearman's rho of the word pairs of all similarity sets"
            " whose rarer word is in that third of the vocabulary by count ("
            + ", ".join(map(str, counts)) + " pairs; scores of each set replaced by their ranks)."
            " SharedNegative has as many epochs as take about the time of our uniform matrix.",
            table(["method", *score_names(first), "semantic", "syntactic", *CLASSES, "M pairs",
                   "CPU s"], rows)]


def part4(run, charts, quick):
    columns = 256 if quick else COLUMNS
    runs = {"uniform": uniform(run, "loss-by-class", columns=columns),
            "SharedNegative": shared(run, equal_epochs(run, columns), "loss-by-class")}
    text, rows = [], []
    for which, measure in ((0, "mean"), (1, "variance")):
        series, ends = [], {}
        for method, result in runs.items():
            for name in ("frequent", "rare"):
                values = [point[name][which] for point in result["losses"]]
                series.append((f"{method}, {name}", list(enumerate(values))))
                ends[method, name] = values[-1]
                rows.append([measure, method, name, *(show(value) for value in values)])
        ticks = [f"{point['fraction']:.0%}" for point in runs["uniform"]["losses"]]
        gaps = [f"{ends[method, 'rare'] - ends[method, 'frequent']:+.2f} ({method})"
                for method in runs]
        title = (f"{measure.capitalize()} of the loss, rare minus frequent words at the end: "
                 + ", ".join(gaps))
        text.append(charts.lines(f"loss-{measure}", title, "of training",
                                 f"{measure} of the loss of a pair", series, ticks))
    return ["## 4. Loss of frequent and of rare words",
            "Loss of a pair and its negatives, -log sigma(score) of the pair and -log sigma(-score)"
            " of each negative, over the same pairs for all: the contexts of the most frequent"
            " tenth and of the rarest half of the words, drawn with another seed.",
            table(["", "method", "words", *ticks], rows), *text]


def part5(run, charts, quick):
    columns = 256 if quick else COLUMNS
    results = {(name, rate): uniform(run, columns=columns, optimizer=name, rate=rate)
               for name, rate in (OPTIMIZERS[::2] if quick else OPTIMIZERS)}
    first = next(iter(results.values()))
    rows = [[name, f"{rate:g}", *score_cells(result), *class_cells(result),
             million(result["pairs"] / result["cpu_seconds"]),
             f"{result['model_bytes'] / 1e6:.1f}"]
            for (name, rate), result in results.items()]
    return ["## 5. Optimizers",
            f"Uniform matrix, l = {columns}, shared negatives. MB: model and state of the"
            " optimizer.",
            table(["optimizer", "rate", *score_names(first), *CLASSES, "M pairs/CPU s", "MB"],
                  rows)]


def part6(run, charts, quick):
    columns = 64 if quick else SPEED_COLUMNS
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "matrix"
        speed = lambda **options: uniform(run, columns=columns, rate=0.05, scores=False, **options)
        kinds = {
            "fused, 16 share 5 negatives": speed,
            "fused, negatives of each pair": lambda **o: speed(minibatch=1, **o),
            "dot, negatives of each pair": lambda **o: speed(minibatch=1, kernel="dot", **o),
            "fused, 16 share 5, mapped matrix": lambda **o: speed(file=file, **o),
            "fused, 16 share 5, 2 threads": lambda **o: speed(threads=2, **o),
            "SharedNegative, fused": lambda **o: run(method="shared", rate=SHARED_RATE,
                                                     scores=False, **o)}
        repetitions = 1 if quick else REPETITIONS
        results = {name: [] for name in kinds}
        for repetition in range(1, repetitions + 1):
            for name, once in kinds.items():
                results[name].append(once(repetition=repetition))
    speeds = {name: [result["pairs"] / result["seconds"] / 1e6 for result in of_kind]
              for name, of_kind in results.items()}
    medians = [statistics.median(values) for values in speeds.values()]
    rows = []
    for name, values in speeds.items():
        made = [result.get("matrix_seconds") for result in results[name]]
        rows.append([name, show(statistics.median(values), 2),
                     f"{min(values):.2f} to {max(values):.2f}",
                     show(statistics.median(values) / medians[0], 2),
                     "-" if made[0] is None else f"{max(made):.2f}"])
    return ["## 6. Speed",
            f"l = {columns}, sgd, one thread where none is named, in alternation: medians of"
            f" {repetitions} runs. The last column is the longest time in which the matrix was"
            " made.",
            table(["", "M pairs/s", "lowest to highest", "x first", "s to make it"], rows),
            charts.bars("speed", "Shared negatives make training"
                        f" {medians[0] / medians[1]:.1f} times as fast", "M pairs/s",
                        list(speeds.items()))]


def column_seconds(alone, network, ranks, words, dimension):
    """Predicts a column of so many ranks from that of one: each trains its part, then receives the
    rows of the others, once for either step (all ranks send at once, in log2(N) rounds)."""
    latency, bandwidth = network
    travel = (math.ceil(math.log2(ranks)) * latency
              + (ranks - 1) / ranks * words * dimension * 4 / bandwidth)
    return alone / ranks + 2 * travel


def part7(run, charts, quick):
    columns = 64 if quick else SPEED_COLUMNS
    kinds = {
        "sgd, 16 share 5 negatives": lambda **o: uniform(run, columns=columns, rate=0.05, **o),
        "W2V-CL (Adam, negatives of each pair)": lambda **o: paper_columns(run, columns, **o),
        f"Vanilla (batch {PAPER_BATCH}, gradients averaged)": lambda **o: paper_vanilla(run, **o)}
    measured, predicted, series = [], [], []
    for name, train in kinds.items():
        once = lambda ranks, repetition: train(repetition=repetition, scores=False, ranks=ranks)
        results = {ranks: [] for ranks in (1, 2)}
        for repetition in range(1, 2 if quick else REPETITIONS + 1):
            for ranks, of_ranks in results.items():
                of_ranks.append(once(ranks, repetition))
        first = results[1][0]
        # Twice in a column, the rows of a side travel once; of Vanilla, in each batch, gradients of
        # both sides are summed, which moves them twice.
        columns_train = not name.startswith("Vanilla")
        words = first["pairs"] // columns if columns_train else 2 * first["vocabulary"]
        steps = columns if columns_train else first["pairs"] / PAPER_BATCH
        seconds = {ranks: statistics.median(result["seconds"] for result in of_ranks)
                   for ranks, of_ranks in results.items()}
        measured += [[name, str(ranks), million(first["pairs"] / seconds[ranks]),
                      show(seconds[1] / seconds[ranks], 2)] for ranks in results]
        for network, numbers in NETWORKS.items():
            alone = seconds[1] / steps
            gains = [alone / column_seconds(alone, numbers, ranks, words, first["dimension"])
                     for ranks in RANKS]
            predicted.append([name, network, *(show(gain, 2) for gain in gains)])
            if columns_train:
                series.append((f"{name.split(',')[0].split(' (')[0]}, {network}",
                               list(enumerate(gains))))
    gain, place, name = max((gain, place, name) for name, points in series
                            for place, gain in points)
    title = f"Predicted: {gain:.1f} times one rank at best, by {RANKS[place]} ({name})"
    return ["## 7. Ranks",
            f"l = {columns}, one thread a rank; all ranks together have the bits of one. Measured:"
            f" two ranks in one process, medians of {len(results[1])} runs in alternation. Predicted:"
            " ranks of one such thread each, that receive the rows of all others after either step"
            " of a column, and of Vanilla the sums of the gradients of both sides after each batch"
            " (an upper bound: each rank steps all rows); nothing is measured on a network.",
            table(["", "ranks", "M pairs/s", "x one"], measured),
            table(["times one rank, predicted", "network", *map(str, RANKS)], predicted),
            charts.lines("ranks", title, "ranks", "times one rank", series, RANKS)]


PARTS = (part1, part2, part3, part4, part5, part6, part7)


def reproduce(given, parts):
    """Runs parts, counted from 1, and writes w2v-cl-parts.md and pictures in the folder of the output."""
    prefix = given.output / "w2v-cl-parts"
    run, charts = Runs(given), Charts(prefix)
    sections = [PARTS[number - 1](run, charts, given.quick) for number in parts]
    any_run, settings = next(iter(run.results.values())), run.settings
    head = (f"{any_run['corpus_words'] / 1e6:.1f} million words of {run.text.name},"
            f" {any_run['vocabulary']} types (minimum count {settings['min_count']}), D ="
            f" {settings['dimension']}, always {settings['window']} context words on each side,"
            f" {any_run['negatives']} negatives, sample {settings['subsample']:g}, {settings['threads']}"
            f" thread(s), seed {settings['seed']}. {peers.machine()}. Scores of one run each.")
    document = "\n\n".join(["# Uniform word-context matrix (W2V-CL)", head,
                            *("\n\n".join(section) for section in sections)]) + "\n"
    prefix.with_name(prefix.name + ".md").write_text(document, encoding="utf-8")
    print(document)
