"""picture.py PAGE.html OUT.svg: the curve of a page that surety report wrote, with its legend, as one picture (docs/curve.svg)."""
import re
import sys

with open(sys.argv[1], encoding="utf-8") as page:
    pictures = dict(re.findall(r"<svg[^>]*><title>(.*?)</title>(.*?)</svg>", page.read(), re.S))
colours = {0: "#1b1e23", 1: "#c9ced6", 2: "#0072b2", 3: "#d55e00", 4: "#009e73"}
style = "".join(f".f{k}{{fill:{c}}}.s{k}{{fill:none;stroke:{c}}}" for k, c in colours.items())
with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 342" width="540" font-family="sans-serif"><style>{style}</style>'
              f'<rect width="360" height="342" fill="#fff"/>{pictures["Share of T that fails"]}<g transform="translate(40,300)">{pictures["Legend"]}</g></svg>\n')
