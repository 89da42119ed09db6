"""``python -m graphuq.cli``."""

import sys

from graphuq.cli.program import main

sys.exit(main())
