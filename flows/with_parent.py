"""Run a module as `python -m` does, and end when the parent process ends, even by kill -9.

    python -m flows.with_parent MODULE [ARGUMENT…]

The parent holds the other end of standard input. When the parent ends, the kernel closes it, and SIGTERM ends the
module.
"""

import os
import runpy
import signal
import sys
import threading


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
