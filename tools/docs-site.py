#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs-site.py SOURCE [REFERENCE OUT]: the pages of the documentation, ready for MkDocs.

Copies README.md, CONTRIBUTING.md, docs/ and the READMEs of the folders from SOURCE into
OUT/pages, each at its own path, and the generated reference of ops and passes from
REFERENCE into OUT/pages/reference. A link to a folder goes to its README; one to a file
that is no page loses its link and keeps its text. Writes OUT/mkdocs.yml: docs/mkdocs.yml
with the pages of the reference. A link to something that does not exist is an error;
SOURCE alone only looks for those.
"""
import pathlib
import re
import shutil
import subprocess
import sys

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^()\s#]*)(#[^()\s]*)?\)")
FENCE = re.compile(r"(^```.*?^```[^\n]*$)", re.M | re.S)


def pages(source):
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=source,
                           capture_output=True, text=True, check=True).stdout.split()
    return [n for n in names if not n.startswith(("test/", "bench/"))]


def relinked(text, page, source, known, broken):
    folder = pathlib.PurePosixPath(page).parent

    def link(match):
        words, target, anchor = match[1], match[2], match[3] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        path = (source / folder / target).resolve()
        if not path.exists() or source not in [path, *path.parents]:
            broken.append(f"{page}: {target} does not exist")
            return words
        name = path.relative_to(source).as_posix()
        if path.is_dir() and (path / "README.md").exists():
            name = f"{name}/README.md" if name != "." else "README.md"
        if name not in known:
            return words
        up = "/".join([".."] * len(folder.parts))
        return f"[{words}]({up + '/' if up else ''}{name}{anchor})"
    return "".join(part if i % 2 else LINK.sub(link, part) for i, part in enumerate(FENCE.split(text)))


def main():
    source, *rest = (pathlib.Path(a).resolve() for a in sys.argv[1:])
    known, broken = pages(source), []
    texts = {page: relinked((source / page).read_text(), page, source, set(known), broken) for page in known}
    if broken or not known:
        sys.exit("\n".join(broken) or f"{source} has no pages")
    if not rest:
        print(f"{len(known)} pages, every link leads somewhere")
        return
    reference, out = rest
    shutil.rmtree(out / "pages", ignore_errors=True)
    for page, text in texts.items():
        write(out / "pages" / page, text)
    entries = []
    for file in sorted(reference.rglob("*.md")):
        title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", file.stem)
        text = re.sub(r"^<!--.*?-->\n", "", file.read_text(), flags=re.S).lstrip()
        write(out / "pages/reference" / file.name, text if text.startswith("# ") else f"# {title}\n\n{text}")
        entries.append(f"      - {title}: reference/{file.name}\n")
    if not entries:
        sys.exit(f"{reference} has no generated pages; tools/build.sh makes them")
    config = (source / "docs/mkdocs.yml").read_text()
    (out / "mkdocs.yml").write_text(config.replace("      # generated\n", "".join(entries)))


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


if __name__ == "__main__":
    main()
