"""The modules of Prefect that a flow run needs, imported once by the process that forks flow runs.

Prefect only: a database or a library of frames starts threads when it is imported, and a fork would lose them.
"""

import prefect.artifacts
import prefect.client.orchestration
import prefect.deployments.runner
import prefect.events.clients
import prefect.flow_engine
import prefect.logging.handlers
import prefect.runner
import prefect.task_engine  # noqa: F401
