"""What things cost, each beside an anchor measured in the same run."""

import os

# As in an installation. The threads of OpenBLAS spin while they wait, which counts as CPU time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
