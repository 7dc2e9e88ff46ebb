import shutil

import cluster
import pytest
from schedule import *  # noqa: F403 (hooks)
from time_limit import *  # noqa: F403 (hooks)


@pytest.fixture
def make(tmp_path):
    """cluster.Cluster, whose processes end with the test."""
    made = []

    def start(store, **sizes):
        if store == "redis" and not shutil.which("redis-server"):
            pytest.skip("no redis-server here (./setup.sh installs it)")
        made.append(cluster.Cluster(tmp_path, store, **sizes))
        return made[-1]

    yield start
    for one in made:
        one.close()
