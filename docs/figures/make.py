"""Draw the pictures of README and documentation, and write the numbers beside them.

python docs/figures/make.py [NAME ...]

Each picture has a file here, whose function ``draw`` returns the figure and the numbers that pages
quote. These go to ``numbers.json``. ``tests/docs/test_numbers.py`` computes them again.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
from pathlib import Path

from PIL import Image

FOLDER = Path(__file__).parent
NUMBERS = FOLDER / "numbers.json"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "make")
DOTS = 120  # per inch


def main() -> None:
    sys.path.insert(0, str(FOLDER))
    kept = json.loads(NUMBERS.read_text()) if NUMBERS.is_file() else {}
    for name in sys.argv[1:] or NAMES:
        figure, kept[name] = importlib.import_module(name).draw()
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=DOTS)
        # 256 colors are enough, and a third of the size
        picture = Image.open(drawn).convert("RGB").quantize(256)
        picture.save(FOLDER / f"{name}.png", optimize=True)
        print(name, kept[name])
    NUMBERS.write_text(json.dumps({name: kept[name] for name in sorted(kept)}, indent=1) + "\n")


if __name__ == "__main__":
    main()
