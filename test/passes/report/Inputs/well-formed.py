# SPDX-License-Identifier: Apache-2.0
"""well-formed.py FILE: every element of a page is closed, in order."""
import html.parser
import pathlib
import sys

VOID = {"meta", "link", "br", "hr", "input", "img"}


class Nesting(html.parser.HTMLParser):
    open = []

    def handle_starttag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            sys.exit(f"</{tag}> at {self.getpos()} closes nothing that is open")


page = Nesting()
page.feed(pathlib.Path(sys.argv[1]).read_text())
if page.open:
    sys.exit(f"not closed: {page.open}")
