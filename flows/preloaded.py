"""The modules of Prefect that a flow run needs, imported once by the process that forks flow runs.

It imports only Prefect: a database or a library of frames starts threads on import, and a fork would lose them.
"""

import signal

import prefect.artifacts
import prefect.client.orchestration
import prefect.deployments.runner
import prefect.events.clients
import prefect.flow_engine
import prefect.logging.handlers
import prefect.runner
import prefect.task_engine  # noqa: F401

# The process is started with SIGINT ignored; its forks, the flow runs, handle it again.
signal.signal(signal.SIGINT, signal.default_int_handler)
