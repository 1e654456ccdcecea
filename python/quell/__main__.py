"""``python -m quell``: the command ``quell``."""

import sys

from quell._cli import main

sys.exit(main())
