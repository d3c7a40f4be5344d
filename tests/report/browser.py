"""A real browser for tests: headless Chromium, driven through its DevTools protocol over a pipe.

Nothing listens on a port, no driver is needed, and the browser ends when its pipe does.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"),
    "--remote-debugging-pipe",
)
PATIENCE = 60.0  # seconds; a browser that hangs fails its test
# The browser takes commands from descriptor 3 and answers on 4.
_START = """
import os, sys
ends = [os.dup(int(end)) for end in sys.argv[1:3] for _ in range(5)][4::5]  # out of the way of 3 and 4
os.dup2(ends[0], 3), os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
SIZE = {"width": 1280, "height": 900}


def installed() -> str | None:
    """Return the path of the browser, or None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browsing(profile: Path) -> Iterator["Browser"]:
    """Yield a browser with an empty profile; without one on this machine skip the test, or fail it where CI=true."""
    program = installed()
    if program is None:
        missing = f"there is no browser: none of {', '.join(NAMES)} is installed"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    commands, ours = os.pipe()
    answers, theirs = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", _START, str(commands), str(theirs), program, *FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(commands, theirs),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(commands)
    os.close(theirs)
    try:
        yield Browser(ours, answers)
    finally:
        os.close(ours)
        os.close(answers)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Browser:
    """One process; its pages are tabs."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._number, self._rest = 0, b""
        self.pages: dict[str, Page] = {}

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol and return its result; what happens meanwhile goes to its page."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        written = json.dumps(command).encode() + b"\0"
        while written:
            written = written[os.write(self._commands, written) :]
        while True:
            message = self._next(time.monotonic() + PATIENCE, method)
            if message.get("id") == self._number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            if page := self.pages.get(message.get("sessionId", "")):
                page.events.append(message)

    def _next(self, until: float, waiting_for: str) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select([self._answers], [], [], max(until - time.monotonic(), 0))
            assert ready, f"the browser did not answer {waiting_for} in {PATIENCE:g} s"
            more = os.read(self._answers, 1 << 20)
            assert more, f"the browser ended before it answered {waiting_for}"
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    @contextmanager
    def opened(self, file: Path | str, *, dark: bool = False) -> Iterator["Page"]:
        """Yield a file from the disk, or an address, opened in a tab of its own and drawn to the end."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.pages[session] = page = Page(self, session)
        try:
            page.begin(file, dark)
            yield page
        finally:
            del self.pages[session]
            self.call("Target.closeTarget", targetId=target)


class Page:
    """A page that is open."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol for this page."""
        return self._browser.call(method, self._session, **parameters)

    def begin(self, file: Path | str, dark: bool) -> None:
        """Open a file or an address and wait until it and its charts are drawn."""
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", **SIZE, deviceScaleFactor=1, mobile=False)
        self.darken(dark)
        self.call("Page.navigate", url=file if isinstance(file, str) else file.as_uri())
        drawn = "document.readyState === 'complete' && location.protocol !== 'about:'"
        drawn += " && [...document.querySelectorAll('.chart')].every((chart) => chart.querySelector('svg, canvas'))"
        self.wait_for(drawn)
        self.frame()

    def darken(self, dark: bool = True) -> None:
        """Say what the reader prefers, dark or light, and wait until charts are drawn so."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        drawn = f"document.documentElement.dataset.charts === '{scheme['value']}'"
        self.wait_for(f"!document.querySelector('.chart') || {drawn}")
        self.frame()

    def ask(self, expression: str) -> Any:
        """Return what a piece of JavaScript comes to, promises kept."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Wait until a piece of JavaScript is true."""
        until = time.monotonic() + PATIENCE
        while not self.ask(f"Boolean({condition})"):
            assert time.monotonic() < until, f"it never came true: {condition}"
            time.sleep(0.02)

    def frame(self) -> None:
        """Wait until everything that was asked for is on the screen."""
        self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def at_rest(self) -> None:
        """Wait until the page scrolls no further."""
        before, now = None, self.ask("scrollY")
        while before != now:
            time.sleep(0.1)
            before, now = now, self.ask("scrollY")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Let the mouse do something: mouseMoved, mousePressed, mouseReleased, mouseWheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """Click with the left button."""
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **({"text": key} if len(key) == 1 else {}))

    def write(self, text: str) -> None:
        """Type a text where the focus is."""
        self.call("Input.insertText", text=text)

    @property
    def complaints(self) -> list[str]:
        """What the console has heard: errors, warnings, exceptions, breaches of the page's policy."""
        heard = []
        for event in self.events:
            found = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                heard.append(str(found["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded" and found["entry"]["level"] in ("error", "warning"):
                heard.append(found["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and found["type"] in ("error", "warning", "assert"):
                heard.append(str([argument.get("value") for argument in found["args"]]))
            elif event["method"] == "Page.javascriptDialogOpening":
                heard.append(f"dialog: {found['message']}")
        return heard

    @property
    def requests(self) -> list[str]:
        """The addresses that the page asked for, its own first."""
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def picture(
        self, path: Path | None = None, *, scale: float = 1.0, top: float = 0, bottom: float | None = None
    ) -> bytes:
        """Return the page as a PNG, whole or from `top` to `bottom` in pixels; with `path`, keep it there."""
        if bottom is None:
            bottom = min(self.ask("document.documentElement.scrollHeight"), 6000)
        clip = {"x": 0, "y": top, "width": SIZE["width"], "height": bottom - top, "scale": scale}
        answer = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        png = base64.b64decode(answer["data"])
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png)
        return png
