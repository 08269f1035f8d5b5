"""`python -m fisherem.cli`."""

from .commands import main

main()
