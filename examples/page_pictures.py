"""Pictures of the gallery that pages show: kept as files, so that they are seen on GitHub too.

Run as ``python examples/page_pictures.py`` after a change of the gallery or of `credpart.plot`.
"""

import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "images"
# The script, and the name of each of its figures that a page shows.
PICTURES = {
    "plot_2_numbers": {1: "numbers"},
    "plot_3_calibration": {2: "pair"},
    "plot_4_mixture": {1: "selection"},
    "plot_5_new_objects": {1: "new-objects"},
    "plot_9_doubt": {1: "doubt"},
}


def main() -> None:
    """Run each script, and save its figures."""
    mpl.use("agg")
    for script, names in PICTURES.items():
        runpy.run_path(str(HERE / "gallery" / f"{script}.py"))
        for number, name in names.items():
            plt.figure(plt.get_fignums()[number - 1]).savefig(IMAGES / f"{name}.png", dpi=100)
        plt.close("all")


if __name__ == "__main__":
    main()
