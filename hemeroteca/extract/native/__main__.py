"""`python -m hemeroteca.extract.native` builds the fast path."""

import sys

from hemeroteca.extract.native.build import main

sys.exit(main())
