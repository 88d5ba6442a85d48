#!/usr/bin/env python3
"""Runs a program of Rust tests until the first that fails: cargo's runner for the job mutants.

Tests whose name has $MUTANTS_FIRST, a format or `recover`, run first, then others that may use it. Those that take long
without optimisation do not run, but those of recovery for itself: they try every bit or byte, and a mutant that only
they notice deserves a test of its own.
"""

import os
import subprocess
import sys

LONG = ['exhaustive', 'hdf5::hostile', 'cdf::hostile', 'flip', 'recover::committed', 'recover::golden',
        'recover::histories', 'recover::hostile', 'writer::faults', 'any_frames_take', 'a_sion_writer_makes']
FORMATS = ['align', 'blob', 'cdf', 'ffrecord', 'gsd', 'hdf5', 'stores']
SHARED = ['blob', 'limits', 'requests', 'versions', 'wear']  # of other formats' tests, those that several formats have
first = os.environ.get('MUTANTS_FIRST')


def run(*arguments):
    """Ends this process if a test fails."""
    command = [*sys.argv[1:], *arguments]
    for part in LONG:
        if not (first == 'recover' and part.startswith(first)):
            command += ['--skip', part]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tests:
        for line in tests.stdout:
            print(line, end='', flush=True)
            if line.startswith('test ') and line.endswith('FAILED\n'):
                tests.kill()
                sys.exit(101)
    if tests.returncode:
        sys.exit(tests.returncode)


if first is None:
    run()
elif first in ('sion', 'recover'):  # most names of tests do not say that they are SIONlib's
    run(first)
    run('--skip', first, *(part for other in FORMATS for part in ('--skip', other)))
else:
    run(first)
    run(*SHARED, '--skip', first)
