"""`python -m hemeroteca.extract.native` builds the fast path, where it is not built."""

from hemeroteca.extract.native.build import main

main()
