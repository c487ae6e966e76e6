"""Counts the words of `references/words.txt` in a text."""

import json
import sys
from pathlib import Path


def run() -> None:
    given = json.load(sys.stdin)
    text = given["text"].lower()
    words = Path("/skill/references/words.txt").read_text().split()
    print(json.dumps({"counts": {word: text.count(word) for word in words}}))
