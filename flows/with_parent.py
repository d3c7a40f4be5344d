"""Run a module as `python -m` does, and end with the process that started it, however that ended.

    python -m flows.with_parent MODULE [ARGUMENT…]

Who starts it holds the other end of its standard input: the kernel closes it, also after kill -9. Then the module is
ended by SIGTERM.
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
