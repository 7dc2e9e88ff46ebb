"""Where runs are shown: Weights & Biases, MLflow and Trackio, each by its own package.

A tracker is opened for one run and gets numbers and tables, step by step, never a step twice and
never an earlier one. Addresses and keys are the packages' own (`WANDB_API_KEY`, `WANDB_MODE`,
`MLFLOW_TRACKING_URI`, `TRACKIO_DIR`, …).
"""

from __future__ import annotations

import importlib
import json
import re
from typing import Any, NamedTuple


class Table(NamedTuple):
    name: str
    columns: tuple[str, ...]
    rows: list[list[Any]]


class Run(NamedTuple):
    project: str
    name: str
    id: str | None  # what an earlier `id` gave; None: a new run
    settings: dict[str, Any]


def shown(package: Any, tables: list[Table]) -> dict[str, Any]:
    """As Weights & Biases, and Trackio after it, take tables."""
    return {
        table.name: package.Table(columns=list(table.columns), data=table.rows) for table in tables
    }


class Wandb:
    package = "wandb"

    def __init__(self, wandb: Any, run: Run):
        self.wandb = wandb
        self.run = wandb.init(
            project=run.project, name=run.name, id=run.id, config=run.settings, resume="allow"
        )
        self.id = self.run.id

    def log(self, step: int, values: dict[str, float], tables: list[Table]) -> None:
        self.run.log(values | shown(self.wandb, tables), step=step)

    def finish(self) -> None:
        self.run.finish()


class Mlflow:
    package = "mlflow"
    SHOWN = "mlflow.loggedArtifacts"  # tag: JSON files that its page shows as tables
    MOST = 100  # parameters in one request
    LONGEST = 500  # characters of a parameter

    def __init__(self, mlflow: Any, run: Run):
        self.mlflow, self.shown = mlflow, []
        mlflow.set_experiment(run.project)
        if run.id:
            self.run = mlflow.start_run(run_id=run.id)
            self.shown = json.loads(self.run.data.tags.get(self.SHOWN, "[]"))
        else:
            self.run = mlflow.start_run(run_name=run.name)
            settings = [(key, str(value)[: self.LONGEST]) for key, value in run.settings.items()]
            for first in range(0, len(settings), self.MOST):
                mlflow.log_params(dict(settings[first : first + self.MOST]))
        self.id = self.run.info.run_id

    def log(self, step: int, values: dict[str, float], tables: list[Table]) -> None:
        names = {re.sub(r"[^\w\-. /:]", "_", name): value for name, value in values.items()}
        if names:
            self.mlflow.log_metrics(names, step=step)
        for table in tables:
            path = f"{table.name}/step-{step:06}.json"
            self.mlflow.log_dict({"columns": list(table.columns), "data": table.rows}, path)
            self.shown.append({"path": path, "type": "table"})
            self.mlflow.set_tag(self.SHOWN, json.dumps(self.shown))

    def finish(self) -> None:
        self.mlflow.end_run()


class Trackio:
    package = "trackio"

    def __init__(self, trackio: Any, run: Run):
        self.trackio, self.id = trackio, run.id or run.name
        trackio.init(
            project=run.project, name=self.id, config=run.settings, resume="allow", embed=False
        )

    def log(self, step: int, values: dict[str, float], tables: list[Table]) -> None:
        self.trackio.log(values | shown(self.trackio, tables), step=step)

    def finish(self) -> None:
        self.trackio.finish()


TRACKERS = {kind.package: kind for kind in (Wandb, Mlflow, Trackio)}


def open_tracker(name: str, run: Run) -> Any:
    """ModuleNotFoundError: its package is not installed."""
    return TRACKERS[name](importlib.import_module(TRACKERS[name].package), run)
