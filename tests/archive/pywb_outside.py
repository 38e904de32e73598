"""Run by pywb's Python: pywb's own program, as somebody else would start it. `pywb_outside.py -p PORT -b ADDRESS`

The environment of replay lacks the proxy that the program can also be; it is imported even where it is not started.
"""

import sys
import types


def main():
    sys.modules["wsgiprox"] = types.ModuleType("wsgiprox")
    sys.modules["wsgiprox.wsgiprox"] = types.ModuleType("wsgiprox.wsgiprox")
    sys.modules["wsgiprox.wsgiprox"].WSGIProxMiddleware = None
    from pywb.apps.cli import wayback

    wayback()


main()
