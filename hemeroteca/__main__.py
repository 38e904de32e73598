"""`python -m hemeroteca` is the `hemeroteca` command."""

from hemeroteca.cli import main

main()
