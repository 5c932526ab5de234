"""``python -m polytune.deferred.worker``: the process that makes versions of kernels for an application.

It reads kernels from standard input, each after a line with the number of its bytes, and writes the text of each one's
module to standard output in the same form.  It ends when its input does, when the application is gone, and over a
kernel that it cannot make versions of.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings

from polytune.deferred.packing import unpack
from polytune.runtime.background.protocol import READY
from polytune.runtime.background.serving import end_with, only_answers


def main() -> None:
    """Make versions until no more are wanted."""
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    warnings.simplefilter("ignore")  # nobody would read them
    text_answers = only_answers()
    print(READY, file=text_answers, flush=True)
    answers = text_answers.buffer
    while line := sys.stdin.buffer.readline():
        text = unpack(sys.stdin.buffer.read(int(line))).source.encode()
        answers.write(b"%d\n" % len(text) + text)
        answers.flush()


if __name__ == "__main__":
    main()
