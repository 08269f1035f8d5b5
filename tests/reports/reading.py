"""Reading a page back."""

import json
import re
from html.parser import HTMLParser


class Reader(HTMLParser):
    """The page's elements, the text outside scripts and styles, and the scripts."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.scripts, self._in = [], [], [], None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._in = tag

    def handle_endtag(self, tag):
        if tag == self._in:
            self._in = None

    def handle_data(self, data):
        if self._in == "script":
            self.scripts.append(data)
        elif self._in is None:
            self.text.append(data)

    @property
    def all_text(self):
        return re.sub(r"\s+", " ", " ".join(self.text))


def data_of(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, flags=re.S).group(1), parse_constant=_refuse)


def _refuse(name):
    raise AssertionError(f"{name} in the JSON")
