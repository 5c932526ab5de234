"""Pages of a running program's kernels, served to a browser on the same machine."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import quote, unquote

from polytune.defects import defects_named
from polytune.errors import PolytuneError
from polytune.pipeline import Stages
from polytune.report.facts import Reported, subjects_of
from polytune.report.markup import Markup, element, listed
from polytune.report.page import document, report_page
from polytune.signature import Signature

__all__ = ["LiveReport"]

_SHARE = 0.05
"""The part of the time that may be spent on pages: what makes them would slow down the program that is measured."""

_LEAST_SECONDS = 2.0  # between two pages


class LiveReport:
    """A server of pages, in a ``with`` statement; it answers on the loopback address only, and only to who knows its
    token.

    Args:
        kernels: gives the kernels that there are now, by name.
        clock: seconds.
    """

    def __init__(self, kernels: Callable[[], Mapping[str, Reported]], clock: Callable[[], float] = time.monotonic):
        self._kernels, self._clock = kernels, clock
        self._token = secrets.token_urlsafe(24)
        self._lock = threading.Lock()
        self._pages: dict[str, _Kept] = {}
        self._stages: dict[str, dict[Signature, Stages]] = {}
        report = self

        class Handler(BaseHTTPRequestHandler):
            server_version, sys_version = "polytune", ""

            def do_GET(self) -> None:
                report._answer(self)

            def log_message(self, format: str, *arguments: object) -> None:
                """Say nothing: the terminal is the program's."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="polytune report", daemon=True)

    @property
    def address(self) -> str:
        """The address for a browser, with the token in it."""
        return f"http://127.0.0.1:{self._server.server_port}/{self._token}/"

    def __enter__(self) -> LiveReport:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # ---- one request

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        content = self._content(request)
        status = HTTPStatus.NOT_FOUND if content is None else HTTPStatus.OK
        kind, text = content or ("text/plain", "there is no such page")
        encoded = text.encode()
        request.send_response(status)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(encoded)),
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(encoded)

    def _content(self, request: BaseHTTPRequestHandler) -> tuple[str, str] | None:
        """The type and the text of an answer; None where nothing may be told."""
        port = self._server.server_port
        # A page of another site that has this address under its own name is sent here with that name.
        if request.headers.get("Host") not in (f"127.0.0.1:{port}", f"localhost:{port}"):
            return None
        first, _, rest = request.path.removeprefix("/").partition("/")
        if not secrets.compare_digest(first.encode(), self._token.encode()):
            return None
        name, _, what = rest.rpartition("/")
        kernels = self._kernels()
        if not name:
            if what == "revision":
                return "text/plain", ",".join(kernels)
            if what:
                return None
            return "text/html", self._list(kernels)
        kernel = kernels.get(unquote(name))
        if kernel is None or what not in ("", "revision"):
            return None
        with self._lock:
            kept = self._page(unquote(name), kernel)
        return ("text/plain", kept.revision) if what else ("text/html", kept.text)

    def _page(self, name: str, kernel: Reported) -> _Kept:
        """The page of a kernel, as new as the time allows."""
        kept = self._pages.get(name)
        revision = _revision(kernel)
        now = self._clock()
        if kept is not None and (kept.revision == revision or now < kept.next):
            return kept
        try:
            known = self._stages.setdefault(name, {})
            with defects_named(kernel.__wrapped__):
                subjects = subjects_of(kernel, known)
                known.update({subject.signature: subject.stages for subject in subjects})
                text = report_page(name, subjects, live=True)
        except PolytuneError as error:
            text = document(name, element("pre", error), live=True)
        ended = self._clock()
        kept = self._pages[name] = _Kept(revision, text, ended + max(_LEAST_SECONDS, (ended - now) / _SHARE))
        return kept

    @staticmethod
    def _list(kernels: Mapping[str, Reported]) -> str:
        """The page with a link to each kernel."""
        links = [element("a", element("code", name), href=f"{quote(name)}/") for name in kernels]
        found: Markup = listed(links) if links else element("p", "The program has no kernel so far.")
        return document("kernels", element("article", element("h1", "Kernels of the program"), found), live=True)


class _Kept:
    """A page that has been made.

    Attributes:
        revision: of what it shows.
        text: the page.
        next: when another one may be made.
    """

    def __init__(self, revision: str, text: str, following: float):
        self.revision, self.text, self.next = revision, text, following


def _revision(kernel: Reported) -> str:
    """A text that changes with what a page would show of the tuning."""
    tuners = dict(kernel.tuners)
    told = [tuner.statistics() for tuner in tuners.values()]
    return ";".join(f"{each.trials},{each.explored},{each.failed},{each.converged}" for each in told) or "none"
