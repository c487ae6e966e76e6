"""Calls the skill: an error that nobody catches goes to standard error, and the run fails."""

import sys
import traceback

import MODULE as guest
from componentize_py_types import Err
from wit_world import exports


class Run(exports.Run):
    def run(self) -> None:
        try:
            guest.run()
        except SystemExit as exit:
            if exit.code not in (None, 0):
                raise Err(None)
        except BaseException:
            traceback.print_exc()
            raise Err(None)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
