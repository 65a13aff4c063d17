#!/usr/bin/env python3
"""Kills runs of word2vec at random times and resumes them.

Usage: kill_runs.py WORD2VEC TEXT FOLDER KILLS [SEED]

All compositions of samplers and kernels take turns, one thread each, so that a resumed run has to
end with the vectors, vocabulary and model of the uninterrupted one, bit for bit. No temporary file
may remain, except after SIGKILL, and the next run has to remove those.
"""

import filecmp
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

word2vec, text, folder, kills = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
seed = int(sys.argv[5]) if len(sys.argv) > 5 else time.time_ns()
choose = random.Random(seed)
print(f"seed {seed}", flush=True)

RESULTS = ["vectors", "words", "model"]
EXPECTED = set(RESULTS + ["state", "cache", "err"])
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]


def fail(message):
    sys.exit(f"kill_runs.py: seed {seed}: {message}; files in {os.getcwd()}: {os.listdir()}")


def command(sampler, kernel):
    return [word2vec, "--train", text, "--sampler", *sampler.split(), "--kernel", kernel,
            "--size", "40", "--iter", "4", "--threads", "1", "--output", "vectors",
            "--save-vocab", "words", "--save-model", "model", "--cache", "cache", "--checkpoint", "state",
            "--checkpoint-every", "0.05"]


def run(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr}")


os.makedirs(folder, exist_ok=True)
os.chdir(folder)
policies = json.loads(subprocess.check_output([word2vec, "--list-policies"]))
samplers = policies["samplers"] + ["shared --maxn 5 --bucket 999"]
# bf16 goes with few samplers and processors; tests/train/test_packed_rows.cpp interrupts it.
kernels = [kernel for kernel in policies["kernels"] if kernel != "bf16"]
whole = {}  # of each composition: the folder of its results and the seconds it took
stopped = 0
for i in range(kills):
    composition = (samplers[i % len(samplers)],
                   kernels[i // len(samplers) % len(kernels)])
    train = command(*composition)
    if composition not in whole:
        shutil.rmtree("run", ignore_errors=True)
        os.mkdir("run")
        os.chdir("run")
        start = time.monotonic()
        run(train)
        seconds = time.monotonic() - start
        os.chdir("..")
        kept = "-".join(composition)
        shutil.rmtree(kept, ignore_errors=True)
        os.rename("run", kept)
        whole[composition] = kept, seconds
    kept, seconds = whole[composition]
    by = SIGNALS[i % len(SIGNALS)]

    shutil.rmtree("run", ignore_errors=True)
    os.mkdir("run")
    os.chdir("run")
    with open("err", "w") as err:
        process = subprocess.Popen(train, stdout=subprocess.DEVNULL, stderr=err)
        time.sleep(choose.uniform(0, 1.1 * seconds))
        process.send_signal(by)
        status = process.wait()
    if status not in (0, -by, 128 + by):
        fail(f"{by.name} on {composition}: status {status}: {open('err').read()}")
    stopped += status != 0
    left = set(os.listdir()) - EXPECTED
    if left and by != signal.SIGKILL:
        fail(f"{by.name} on {composition} left {left}")
    if status != 0:
        run(train + (["--resume"] if os.path.exists("state") else []))
    if set(os.listdir()) - EXPECTED:
        fail(f"the run after {by.name} on {composition} left temporary files")
    for name in RESULTS:
        if not filecmp.cmp(name, f"../{kept}/{name}", shallow=False):
            fail(f"{by.name} on {composition}: '{name}' differs from that of the whole run")
    os.chdir("..")
    print(f"{i + 1}: {by.name} on {'+'.join(composition)}: status {status}", flush=True)
if stopped == 0:
    fail("no run was stopped before its end")
print(f"{kills} passed, 0 failed ({stopped} of the runs were stopped before their end)")
