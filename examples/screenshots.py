"""The README's pictures of the report and of the command line, made with Chromium.

Run as ``python examples/screenshots.py`` where `credpart` and Chromium are installed.
"""

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE = "(({ width, height }) => [width, height])(document.documentElement.viewBox.baseVal)"
COMMAND = ["fit", "iris", "--clusters", "3", "--seed", "1"]


def run(folder: Path) -> str:
    """Run the command as on a terminal; return what it leaves there."""
    program = [sys.executable, "-c", "from credpart.cli import main; main()"]
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "96", "TERM": "xterm-256color"}
    done = subprocess.run(  # noqa: S603  our own command
        [*program, *COMMAND, "--out", "out"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def last_frames(output: str) -> str:
    """What a terminal shows in the end: of lines that were drawn over and over, the last."""
    lines = [line.split("\x1b[2K")[-1] for line in output.splitlines()]
    return "\n".join(line.replace("\x1b[?25l", "").replace("\x1b[?25h", "") for line in lines)


def terminal(output: str, path: Path) -> None:
    """Write the terminal as a picture in SVG."""
    console = Console(record=True, width=96, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(Text(f"$ credpart {' '.join(COMMAND)} --out out", style="bold"))
    console.print(Text.from_ansi(last_frames(output)))
    console.save_svg(str(path), title="credpart")


def picture_of_report(page: Page, path: Path) -> None:
    """Choose two of the least sure objects, point at a third, and photograph the objects."""
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    page.evaluate(
        "(({ store }) => store.update({ chosen: [0, 5].map(k => store.state.data.order[k]), "
        "pointed: 117, showsTip: true }))(credpartReport)"
    )
    page.wait_for_timeout(300)
    last = page.locator("#objects").bounding_box()
    top, bottom = int(last["y"]) - 12, int(last["y"] + last["height"]) + 12
    picture = page.screenshot(full_page=True)
    save(picture, "report.png", 0, bottom)
    save(picture, "objects.png", top, bottom)


def save(picture: bytes, name: str, top: int = 0, bottom: int | None = None) -> None:
    """Write a picture, or a part of its height, in few colours."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image = image.crop((0, top, image.width, bottom or image.height))
    image.quantize(128, dither=Image.Dither.NONE).save(IMAGES / name, optimize=True)


def main() -> None:
    """Make both pictures."""
    chromium = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        terminal(run(folder), folder / "terminal.svg")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1240, "height": 900})
        picture_of_report(page, folder / "out" / "report.html")
        page.goto((folder / "terminal.svg").as_uri())
        width, height = page.evaluate(SIZE)
        page.set_viewport_size({"width": int(width), "height": int(height)})
        save(page.screenshot(), "terminal.png")
        browser.close()


if __name__ == "__main__":
    main()
