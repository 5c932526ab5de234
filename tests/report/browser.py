"""Chromium without a window, driven over a pipe in the protocol of its own tools."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SECONDS = 60.0
"""The most seconds that anything may take: the machine may be busy."""


def program() -> str | None:
    """The path of a browser; None where there is none.  A shell that is none, of a name that another package has, is
    left out, as is what needs a service that runs (snap)."""
    found = [path for name in NAMES if (path := shutil.which(name)) is not None]
    return next((path for path in found if "snap" not in os.path.realpath(path)), None)


class Browser:
    """A browser with one page, to be used in a ``with`` statement."""

    def __init__(self, path: str):
        self._path = path
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._numbers = iter(range(1, 1_000_000))
        self._waiting = b""
        self._events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        command = [
            self._path, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
            "--disable-dev-shm-usage", f"--user-data-dir={self._profile.name}", "about:blank",
        ]  # fmt: skip
        # The browser reads from its descriptor 3 and writes to 4.
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        targets = self._ask("Target.getTargets", session=None)["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        attached = self._ask("Target.attachToTarget", session=None, targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")
        self._ask("Page.setLifecycleEventsEnabled", enabled=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._out)
        os.close(self._in)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._profile.cleanup()

    def open(self, address: str, *, width: int = 1600, height: int = 1000, dark: bool = False) -> None:
        """Open a page at a width, in light or in dark, and wait until it is there; complaints before are forgotten."""
        self._ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 700
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self._events.clear()
        loader = self._ask("Page.navigate", url=address)["loaderId"]
        # The page before, the empty one too, may say only now that it has been loaded.
        self.until(lambda: any(_is_loaded(event, loader) for event in self._events))

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript on the page."""
        answer = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Return what the page has written to the console, what it has raised, and what could not be loaded."""
        self.evaluate("1")  # what was said before has arrived
        found = []
        for event in self._events:
            if event["method"] == "Runtime.consoleAPICalled":
                found.append(str(event["params"]["args"]))
            elif event["method"] == "Runtime.exceptionThrown":
                found.append(str(event["params"]["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded":
                found.append(event["params"]["entry"]["text"])
        return found

    def picture(self, file: Path) -> None:
        """Write a picture of the whole page."""
        answer = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(answer["data"]))

    def until(self, condition: Any) -> None:
        """Take in what the browser says until a condition holds."""
        end = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < end, "the browser has not done it in time"
            self._take_in(0.1)

    def _ask(self, method: str, *, session: str | None = "", **parameters: Any) -> Any:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + SECONDS
        while True:
            assert time.monotonic() < end, f"{method} has not been answered"
            for message in self._take_in(1.0):
                if message["id"] == number:
                    assert "error" not in message, f"{method}: {message['error']}"
                    return message["result"]

    def _take_in(self, seconds: float) -> list[dict[str, Any]]:
        """The answers that arrive within a time; events are kept."""
        if not select.select([self._in], [], [], seconds)[0]:
            assert self._process.poll() is None, "the browser has ended"
            return []
        received = os.read(self._in, 1 << 20)
        assert received, "the browser has ended"
        *whole, self._waiting = (self._waiting + received).split(b"\0")
        messages = [json.loads(each) for each in whole]
        self._events += [message for message in messages if "method" in message]
        return [message for message in messages if "id" in message]


def _is_loaded(event: dict[str, Any], loader: str) -> bool:
    """Whether an event says that all of the page is there which a loader has fetched."""
    told = event["params"]
    return event["method"] == "Page.lifecycleEvent" and told["name"] == "load" and told["loaderId"] == loader
