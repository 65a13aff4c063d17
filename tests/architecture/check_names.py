"""Counts the public names of the library by ctags: fails if there are more than now, or if one has no
comment before it. Usage: check_names.py INCLUDE [--list], where INCLUDE holds wordloom/.

A name is a type, function or variable of namespace wordloom, or of one inside it, except detail and
simd, in a header outside of detail/. Members, concepts and operators are not counted, and not those
that are deprecated, which go with the next version."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

MOST = 205
INTERNAL = re.compile(r"\b(detail|simd|cuda|__anon\w*)\b")
NO_NAMES = {"__launch_bounds__", "min_blocks"}  # misread


def tags(include):
    command = ["ctags", "--recurse", "--languages=C++", "--langmap=C++:+.cuh", "--kinds-C++=+p",
               "--fields=+nKst", "--output-format=json", "-f", "-", "wordloom"]
    out = subprocess.run(command, cwd=include, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def has_comment(lines, number):
    """Whether a comment stands before the declaration in this line, or before those above it."""
    for line in reversed(lines[:number - 1]):
        if line.lstrip().startswith("///"):
            return True
        if not line.strip() or line.startswith(("#", "}", "namespace")):
            return False
    return False


def main():
    if not shutil.which("ctags"):
        print("skipped: this case cannot run here: there is no ctags")
        return 0
    include = sys.argv[1]
    folders, commented, places = collections.defaultdict(set), collections.defaultdict(bool), {}
    text = {}
    for tag in tags(include):
        path = tag["path"][len("wordloom/"):]
        scope = tag.get("scope", "")
        if "/detail/" in path or path.endswith(".inl") or path == "deprecated.hpp":
            continue
        if tag.get("scopeKind") != "namespace" or not scope.startswith("wordloom"):
            continue
        if INTERNAL.search(scope) or tag["kind"] in ("namespace", "macro", "local", "parameter"):
            continue
        if tag["kind"] == "prototype" and tag.get("typeref", "").endswith("."):
            continue  # a call in the requirements of a concept
        name = tag["name"]
        if name.startswith("operator") or name in NO_NAMES or not re.fullmatch(r"\w+", name):
            continue
        if path not in text:
            with open(os.path.join(include, tag["path"]), encoding="utf-8") as file:
                text[path] = file.read().split("\n")
        if "[[deprecated" in "".join(text[path][max(0, tag["line"] - 2):tag["line"]]):
            continue
        key = (scope, name)
        folders[path.split("/")[0] if "/" in path else "(root)"].add(key)
        commented[key] = commented[key] or has_comment(text[path], tag["line"])
        places.setdefault(key, f"{path}:{tag['line']}")
    names = set().union(*folders.values()) if folders else set()
    for folder in sorted(folders):
        print(f"{len(folders[folder]):4} {folder}", end="")
        print(": " + " ".join(sorted(n for _, n in folders[folder])) if "--list" in sys.argv else "")
    print(f"{len(names):4} public names, at most {MOST}")
    silent = sorted(places[key] + " " + key[1] for key in names if not commented[key])
    for line in silent:
        print("no comment:", line)
    if not names:
        print("no names: is this the folder include?")
    return int(not names or len(names) > MOST or bool(silent))


sys.exit(main())
