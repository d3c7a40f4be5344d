"""The files of contracts, as they are written for other tools."""

import json
from pathlib import Path
from typing import Any

from bufferhouse.contracts.dbt import sources
from bufferhouse.contracts.json_schema import row_schemas
from bufferhouse.contracts.odcs import data_contract
from bufferhouse.errors import UsageError
from bufferhouse.paths import replacing


def files() -> dict[str, str]:
    """Return the text of each file, by its path."""
    found = {"raw.odcs.yaml": _yaml(data_contract()), "dbt/sources.yml": _yaml(sources())}
    for name, schema in row_schemas().items():
        found[f"json_schema/{name}.schema.json"] = json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
    return found


def write(directory: Path) -> list[Path]:
    """Write the files into a folder, each whole or not at all; what else lies there stays.

    Raises:
        UsageError: `directory` is a file.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory}: expected a folder")
    written = []
    for name, text in files().items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as new:
            new.write_text(text, encoding="utf-8")
        written.append(path)
    return written


def _yaml(found: dict[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=120)
