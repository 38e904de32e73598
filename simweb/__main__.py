import sys

from simweb.cli import main

sys.exit(main())
