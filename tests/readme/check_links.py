"""Fails when a guide has a link to a file, heading or picture that is not there, or a malformed one
to another site. With a reference made by Doxygen also when a link of its pages leads nowhere, an
#include line is not one that a program writes, or a public name is not in exactly one group.
Nothing is fetched. Usage: check_links.py ROOT [HTML TAGFILE]"""
import glob
import html
import os
import re
import sys
import urllib.parse
import xml.etree.ElementTree

GUIDES = ("*.md", "examples/**/*.md", "include/**/*.md", "benchmarks/**/*.md", "packaging/**/*.md")
URL = re.compile(r"https?://[\w.-]+\.[a-z]+(:\d+)?(/[^\s<>\"]*)?$|mailto:[^@\s]+@[^@\s]+$")
FAILURES = []
NO_ANCHORS = {"#nested-classes"}  # Doxygen links to a list even if all classes in it are private


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def anchors_of(text):
    """Returns the anchors that code hosts give to the headings of a guide."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    plain = (re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
             for heading in re.findall(r"^#+ (.+)$", text, re.M))
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in plain}


def check_guides(root):
    guides = {path for place in GUIDES
              for path in glob.glob(os.path.join(root, place), recursive=True)}
    for guide in sorted(guides):
        text = re.sub(r"^```.*?^```", "", read(guide), flags=re.M | re.S)
        text = re.sub(r"`[^`\n]*`", "", text)
        for target in re.findall(r"\]\(([^()\s]+)\)", text):
            where = os.path.relpath(guide, root)
            if re.match(r"[a-z]+:", target):
                if not URL.match(target):
                    FAILURES.append(f"{where}: no address of a site: {target}")
                continue
            file, _, anchor = target.partition("#")
            full = os.path.join(os.path.dirname(guide), file) if file else guide
            if not os.path.exists(full):
                FAILURES.append(f"{where} links to {target}, which is not there")
            elif anchor and anchor not in anchors_of(read(full)):
                FAILURES.append(f"{where} links to {target}, which has no such heading")
    return len(guides)


def check_pages(folder):
    texts = {name: read(os.path.join(folder, name)) for name in os.listdir(folder)
             if name.endswith((".html", ".js"))}
    anchors = {name: set(re.findall(r'(?:id|name)="([^"]+)"', text))
               for name, text in texts.items()}
    files = set(os.listdir(folder)) | {os.path.join("search", name) for name
                                       in os.listdir(os.path.join(folder, "search"))}
    count = 0
    for name, text in texts.items():
        if name.endswith(".js"):  # the tree of pages
            links = re.findall(r'"([\w-]+\.html)[#"]', text)
        else:
            text = re.sub(r"<script.*?</script>", "", text, flags=re.S)
            links = re.findall(r'(?:href|src|data)="([^"]*)"', text)
        for link in links:
            link = html.unescape(link)
            count += 1
            if link.startswith("javascript:"):
                continue
            if re.match(r"[a-z]+:", link):
                if not URL.match(link):
                    FAILURES.append(f"{name}: no address of a site: {link}")
                continue
            file, _, anchor = urllib.parse.unquote(link).partition("#")
            file = file.split("?")[0] or name
            if file not in files:
                FAILURES.append(f"{name} links to {link}, which is not there")
            elif anchor and anchor not in anchors.get(file, {anchor}) and link not in NO_ANCHORS:
                FAILURES.append(f"{name} links to {link}, which has no such anchor")
        if name.startswith(("class", "struct", "concept")):
            for header in re.findall(r"<p><code>#include (.*?)</code>", text):
                if not re.match(r"&lt;(<[^>]*>)?wordloom/", header):
                    FAILURES.append(f"{name} shows #include {header}")
    return count


def check_groups(tag_file):
    """A name is a type, concept, function or variable in namespace wordloom or in one inside it."""
    groups, public = {}, set()
    for compound in xml.etree.ElementTree.parse(tag_file).getroot():
        name, kind = compound.findtext("name"), compound.get("kind")
        names = [child.text for child in compound if child.tag in ("class", "concept")]
        scope = "" if kind == "group" else name + "::"
        for member in compound.findall("member"):
            if member.get("kind") not in ("define", "enumvalue", "friend"):
                names.append((scope or "::") + member.findtext("name"))
        if kind == "group":
            for child in names:
                groups.setdefault(child.split("<")[0].split("::")[-1].strip(), set()).add(name)
        elif kind == "namespace" and name.startswith("wordloom"):
            public.update(child.split("<")[0].strip() for child in names)
    for name in sorted(public):
        in_groups = groups.get(name.split("::")[-1], set())
        if len(in_groups) != 1:
            FAILURES.append(f"{name} is in {len(in_groups)} groups: {' '.join(sorted(in_groups))}")
    return len(public)


root = sys.argv[1]
print(check_guides(root), "guides")
if len(sys.argv) > 2:
    print(check_pages(sys.argv[2]), "links of pages")
    print(check_groups(sys.argv[3]), "names")
print("\n".join(FAILURES))
sys.exit(bool(FAILURES))
