# SPDX-License-Identifier: BSD-2-Clause
"""Parses, prints and compares what the standard library is written in."""
import ast
import glob
import json
import os
import re
import sys

WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
words = {}
for path in sorted(glob.glob(os.path.dirname(os.__file__) + "/*.py"))[: int(sys.argv[1])]:
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    tree = ast.parse(text)
    ast.unparse(tree)
    for word in WORD.findall(text):
        words[word] = words.get(word, 0) + 1
    compile(tree, path, "exec")
best = sorted(words.items(), key=lambda item: (-item[1], item[0]))
assert json.loads(json.dumps(best)) == [list(item) for item in best]
