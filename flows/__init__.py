"""The clock: Prefect flows over the same functions as the command line. Prefect is imported here and nowhere else."""

import logging
import os
import re
import traceback
from typing import Any

from bufferhouse import redaction
from bufferhouse.errors import EXPECTED

# Set before Prefect reads them: no telemetry leaves the machine; a slow machine gets more time to start a server; a
# request is tried again for four minutes while the server is away, so that a flow run that has begun does not fail. A
# server that we start stores the states of task runs once a second: one transaction for each was most of the cost of a
# task. No web page may use a temporary server that Prefect starts for a flow run.
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


# Prefect's server logs the address of a web hook that refuses a message; the part after its host is a secret.
_ADDRESS = re.compile(r"( for url '\w+://[^/'?#]*)[^']*")


def _told(*words: Any, **facts: Any) -> logging.LogRecord:
    """Return a log record; records of Prefect's loggers, which include ours, and their tracebacks hold no secret.

    If a flow run failed with an expected error, the record has only its message: a worker of Prefect would log each as
    an unexpected exception, with a traceback.
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
