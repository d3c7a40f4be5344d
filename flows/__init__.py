"""The clock: Prefect flows over the same functions as the command line. Prefect is imported here and nowhere else."""

import logging
import os
import re
import traceback
from typing import Any

from bufferhouse import redaction
from bufferhouse.errors import EXPECTED

# Before Prefect reads them: nothing leaves the machine, a slow machine may take its time to start a server, and a
# request is tried again for four minutes while the server is away, so that no flow run fails that has begun. A server
# we start stores the states of task runs once a second: one transaction for each was most of what a task cost. No web
# page may ask a server that Prefect starts for a flow run without one.
NO_PAGES = "http://127.0.0.1"
for _name, _value in {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": NO_PAGES,
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "60",
    "PREFECT_CLIENT_MAX_RETRIES": "7",
    "PREFECT_API_REQUEST_TIMEOUT": "30",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}.items():
    os.environ.setdefault(_name, _value)


# Prefect's server logs the address of a web hook that refuses a message; what stands behind its host is a secret.
_ADDRESS = re.compile(r"( for url '\w+://[^/'?#]*)[^']*")


def _told(*words: Any, **facts: Any) -> logging.LogRecord:
    """Return a record of a log; those of Prefect's loggers, ours among them, tell no secret, tracebacks included.

    Of a flow run that failed with a reason they tell the reason: a worker of Prefect logs each as an unexpected
    exception, with a traceback.
    """
    record = _made(*words, **facts)
    if record.name.startswith("prefect"):
        said = _said_of_server if record.name.startswith("prefect.server") else redaction.said
        if record.exc_info and _is_reason(error := record.exc_info[1]):
            record.msg, record.args, record.exc_info = str(error), (), None
        record.msg, record.args = said(record.getMessage()), ()
        if record.exc_info and record.exc_info[0]:
            record.exc_text = said("".join(traceback.format_exception(*record.exc_info)).rstrip())
            record.exc_info = None
    return record


def _said_of_server(text: str) -> str:
    return _ADDRESS.sub(rf"\1/{redaction.HIDDEN}", redaction.said(text))


def _is_reason(error: BaseException | None) -> bool:
    from prefect.exceptions import FailedRun  # not at the top: Prefect reads its settings when it is imported

    return isinstance(error, (*EXPECTED, FailedRun))


_made = logging.getLogRecordFactory()
logging.setLogRecordFactory(_told)
