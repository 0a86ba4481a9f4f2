"""Run a benchmark by its name: `python -m benchmarks tuning --quick`."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).parent

if __name__ == "__main__":
    known = sorted(path.stem for path in FOLDER.glob("*.py") if not path.stem.startswith("_"))
    if len(sys.argv) < 2 or sys.argv[1] not in known:
        sys.exit(f"usage: python -m benchmarks NAME [OPTION]..., with one of: {', '.join(known)}")
    sys.path.insert(0, str(FOLDER))
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # studies run beside each other, one per processor
    sys.argv = [str(FOLDER / f"{sys.argv[1]}.py"), *sys.argv[2:]]
    runpy.run_path(sys.argv[0], run_name="__main__")
