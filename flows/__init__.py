"""The clock: Prefect flows over the same functions as the command line. Prefect is imported here and nowhere else."""

import os

# Before Prefect reads them: nothing leaves the machine, a slow machine may take its time to start a server, and a
# request is tried again for four minutes while the server is away, so that no flow run fails that has begun. A server
# we start stores the states of task runs once a second: one transaction for each was most of what a task cost.
for _name, _value in {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "60",
    "PREFECT_CLIENT_MAX_RETRIES": "7",
    "PREFECT_API_REQUEST_TIMEOUT": "30",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
}.items():
    os.environ.setdefault(_name, _value)
