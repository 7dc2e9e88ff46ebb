"""What the commands of demo/ have in common: their options, and how they end."""

import argparse
import subprocess
import sys
from pathlib import Path

WARPGYM = Path(__file__).resolve().parents[2] / "warpgym"


def parser(text, out, seeds):
    """`text`: the help; `out`, `seeds`: the defaults."""
    made = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--out", type=Path, default=Path(out))
    made.add_argument("--seeds", type=int, nargs="+", default=seeds)
    made.add_argument("--threads", type=int, default=2)
    made.add_argument("--smoke", action="store_true", help="a few seconds, for tests")
    made.add_argument("--warpgym", type=Path, default=WARPGYM)
    made.add_argument("--quiet", action="store_true", help="no progress")
    return made


def run(name, main):
    """Ends the process."""
    try:
        main()
    except subprocess.CalledProcessError as failed:
        what = " ".join(map(str, failed.cmd[1:3]))
        sys.exit(
            f"{name}: warpgym {what} ended with {failed.returncode}; the same command goes on "
            "from there"
        )
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)
