"""The command line: the program, its commands, and what becomes of errors."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Sequence

import click

from corefsample import __version__
from corefsample.errors import CorefsampleError, InputError, ParameterError
from events.cli._calibrating import calibrate, recalibrate
from events.cli._counting import demo, events
from events.cli._files import convert, doctor
from events.cli._modelling import score, train
from events.cli._next_steps import next_step
from events.cli._options import Program
from events.cli._reporting import report
from events.cli._screen import complain
from events.cli._status import BAD_INPUT, FAILURE, INTERRUPTED, USAGE

__all__ = ["main"]

# Where messages name a parameter: "n_samples must be ...", "... (overwrite replaces it)".
_PARAMETER = re.compile(
    r"^\w+(?= must )|(?<=\()\w+(?= (?:replaces|chooses|goes|can)\b)|(?<=; )\w+(?= (?:replaces|can)\b)"
)
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Program, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="corefsample")
def cli() -> None:
    """Counts of events with credible intervals, from coreference uncertainty.

    \b
    See it work on simulated news:
      corefsample demo

    \b
    From dated news to counts, and to a page to explore:
      corefsample score news.csv --pipeline en_core_web_sm --out scored.parquet
      corefsample events scored.parquet --out run
      corefsample report run

    \b
    Check a file of scored mentions, or a rule of your own:
      corefsample doctor scored.parquet
    """


for _command in (demo, score, events, report, doctor, calibrate, recalibrate, train, convert):
    cli.add_command(_command)


def _by_option(error: CorefsampleError) -> str:
    """Say an error in the command line's words: --samples where the parameter is called n_samples."""
    options = {
        parameter.name: max(parameter.opts, key=len)
        for command in cli.commands.values()
        for parameter in command.params
        if isinstance(parameter, click.Option)
    }
    return _PARAMETER.sub(lambda found: options.get(found.group(), found.group()), str(error))


def _complain_of(error: CorefsampleError) -> None:
    """Tell an error in one line, with what to do next where that is plain."""
    step = None if error.hint else next_step(error)
    complain(_by_option(error) + (f" ({step})" if step else ""))


def _described(error: Exception) -> str:
    """Describe what nobody foresaw; of a file that the system refuses, which one it is."""
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:
            return f"a file, or standard output, must be accessible, got: {error.strerror}"
        return f"{os.fsdecode(error.filename)}: file or folder must be accessible, got: {error.strerror}"
    return f"{type(error).__name__}: {error} (COREFSAMPLE_TRACEBACK=1 shows where)"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 bad usage, 3 bad input, 1 any other failure, 130 interrupted."""
    # A scheduler's end of time, like an interrupt by hand, has to leave nothing half written.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        status = _status(arguments)
    except KeyboardInterrupt:  # while another error was being told
        status = INTERRUPTED
    sys.exit(status)


def _status(arguments: Sequence[str] | None) -> int:
    try:
        cli.main(args=arguments, prog_name="corefsample", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return USAGE
    except ParameterError as error:
        _complain_of(error)
        return USAGE
    except InputError as error:
        _complain_of(error)
        return BAD_INPUT
    except BrokenPipeError:
        # The reader of a pipe left: point standard output elsewhere, so that closing it fails quietly.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except CorefsampleError as error:
        _complain_of(error)
        return FAILURE
    except Exception as error:
        if os.environ.get("COREFSAMPLE_TRACEBACK"):
            raise
        complain(_described(error))
        return FAILURE
    return 0
