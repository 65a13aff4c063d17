"""Writes the pages that Doxygen reads besides the headers, from the guides (*.md): links lead to
pages, headers and examples of the reference, and pages form a tree. The guides of samplers and
kernels become a page for each of their sections. Usage: make_pages.py ROOT OUTPUT"""
import glob
import os
import re
import shutil
import sys

ROOT, OUTPUT = (os.path.abspath(path) for path in sys.argv[1:])
SPLIT = {f"include/wordloom/{name}/README.md": name for name in ("sampler", "kernel")}
PLACES = ("*.md", "examples/*.md", "include/**/*.md", "benchmarks/**/*.md")
NOTES = []  # on classes and examples, as comments of Doxygen
LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^()\s]+)\)")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def page_id(path):
    folder, name = os.path.split(path[:-len(".md")])
    for old, new in (("include/wordloom", "guide"), ("benchmarks/results", "results"),
                     ("examples", "tutorial")):  # Doxygen has a page `examples`
        folder = folder.replace(old, new)
    name = "" if folder and name == "README" else name.lower()
    return "-".join(part for part in (folder.replace("/", "-"), name) if part)


def slug(heading):
    """Returns the anchor that code hosts give to a heading."""
    text = LINK.sub(r"\2", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")


def parent_of(path):
    """Returns the guide of the folder of a page, or of those above it."""
    folder = os.path.dirname(path)
    while True:
        if os.path.basename(path) == "README.md" and os.path.dirname(path) == folder:
            if not folder:
                return None
        elif os.path.join(folder, "README.md") in GUIDES:
            return os.path.join(folder, "README.md")
        folder = os.path.dirname(folder)


def policy_page(path, heading):
    """Returns the page of a section of a guide that becomes pages, or None."""
    name = re.match(r"`(\w+)", heading)
    return f"{SPLIT[path]}-{name.group(1)}" if path in SPLIT and name else None


def rewrite(path, text):
    """Returns the text of a guide with links and pictures as Doxygen takes them."""
    def replace(match):
        image, label, target = match.groups()
        if re.match(r"[a-z]+:", target):
            return match.group()
        file, _, anchor = target.partition("#")
        full = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if image:
            return f"![{label}]({os.path.basename(file)})"
        if full in GUIDES:
            to = page_id(full) + ("-" + anchor if anchor else "")
            for heading in re.findall(r"^## (.+)", GUIDES[full], re.M) if anchor else ():
                if slug(heading) == anchor:
                    to = policy_page(full, heading) or to
            return f"[{label}](@ref {to})"
        if full in EXAMPLES:
            return f"[{label}](@ref {os.path.basename(full)})"
        if full.startswith("include/") and full.endswith((".hpp", ".cuh")):
            return f"[{label}](@ref {full[len('include/'):]})"
        return label  # a file of the sources that the reference does not show

    def mark(heading):
        return f"{heading.group()} {{#{page_id(path)}-{slug(heading.group(1))}}}"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    for i in range(0, len(parts), 2):  # the others are blocks of code
        part = re.sub(r"^#+ (.+)$", mark, parts[i], flags=re.M)
        part = re.sub(r"(\*\*[^*`\n]*)@", r"\1\\@", part)  # no command of Doxygen
        parts[i] = LINK.sub(replace, part)
    return "".join(parts)


def write(name, text):
    with open(os.path.join(OUTPUT, name), "w", encoding="utf-8") as file:
        file.write(text)


def declaration(name):
    """Returns the command of Doxygen that adds to the comment on a public name."""
    alias = re.search(rf"^using {name} =", HEADERS, re.M)
    return ("@typedef" if alias else "@class") + " wordloom::" + name


def write_policy(page, title, names, body):
    links = ", ".join(f"@ref wordloom::{name}" for name in names)
    write(page + ".md", f"# {title} {{#{page}}}\n\nDeclaration: {links}\n\n{body}")
    NOTES.extend(f"{declaration(name)}\n@see @ref {page} (parameters, paper, measurements)"
                 for name in names)


def split_pages(path, text):
    """Writes the sections on policies as pages of their own. Returns the rest and their names."""
    first, *sections = re.split(r"^## ", text, flags=re.M)
    pages = []
    for section in sections:
        page = policy_page(path, section)
        if not page:
            first += "## " + section
            continue
        heading, body = section.split("\n", 1)
        title = re.sub(r" \{#.*", "", heading).replace("`", "")
        write_policy(page, title, re.findall(r"`(\w+)", heading), body)
        pages.append(page)
    return first, pages


def table_pages(text):
    """Writes a page for each row of the table of kernels on a GPU. Returns their names."""
    rows = re.findall(r"^\| `(Cuda\w+)[^|]*\| ([^|]+) \| ([^|]+) \|$", text, re.M)
    for name, samplers, method in rows:
        body = (f"{method[0].upper() + method[1:]}.\n\n- Samplers: {samplers}\n"
                "- Limits and measurements: @ref guide-cuda\n")
        write_policy("kernel-" + name, name, [name], body)
    return ["kernel-" + row[0] for row in rows]


shutil.rmtree(OUTPUT, ignore_errors=True)
os.makedirs(OUTPUT)
GUIDES = {os.path.relpath(path, ROOT): None for place in PLACES
          for path in sorted(glob.glob(os.path.join(ROOT, place), recursive=True))}
for guide in GUIDES:
    GUIDES[guide] = read(guide)
EXAMPLES = sorted(os.path.relpath(path, ROOT) for path in glob.glob(f"{ROOT}/examples/*.cpp"))
HEADERS = "\n".join(read(path) for path in glob.glob(f"{ROOT}/include/**/*.[hc]*", recursive=True)
                    if "/detail/" not in path)

children = {path: [] for path in GUIDES}
texts = {}
for guide, content in GUIDES.items():
    if not content.startswith("# "):
        content = f"# {os.path.basename(guide)[:-len('.md')]}\n\n{content}"
    content = rewrite(guide, content)
    content = re.sub(r"^(# .*?) \{#.*\}", rf"\1 {{#{page_id(guide)}}}", content, count=1)
    if guide in SPLIT:
        content, children[guide] = split_pages(guide, content)
    elif guide == "include/wordloom/cuda/README.md":
        children[guide] = table_pages(content)
    texts[guide] = content
for guide in GUIDES:
    parent = parent_of(guide)
    if parent:
        children[parent].append(page_id(guide))
for guide, content in texts.items():
    if children[guide] and guide != "README.md":  # those of README.md are at the top of the tree
        content += "\n## Pages\n\n" + "".join(f"- @subpage {page}\n" for page in children[guide])
    write(page_id(guide) + ".md", content)

for example in EXAMPLES:
    comment = re.match(r"(?://.*\n)+", read(example))
    text = re.sub(r"^// ?", "", comment.group(), flags=re.M) if comment else ""
    NOTES.append(f"@example {os.path.basename(example)}\n{text}")
write("notes.dox", "".join(f"/** {note.strip()} */\n" for note in NOTES))
