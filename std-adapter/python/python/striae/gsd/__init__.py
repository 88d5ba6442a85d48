"""The package ``gsd`` 5.0.1, over striae: ``striae.gsd.fl``, ``striae.gsd.hoomd`` and ``striae.gsd.pygsd``.

Names, arguments, exceptions and attributes are those of ``gsd``. What is better below: a commit is atomic, the
files keep a record of it, and ``striae.verify`` and ``striae.recover`` work on them.

A script that says ``import gsd.hoomd`` says ``import striae.gsd as gsd`` instead, or calls `install` before anything
imports ``gsd``. The modules are imported when they are first used.
"""

import sys
from importlib import import_module

from striae.gsd import version

__version__ = version.version

_MODULES = ('version', 'fl', 'pygsd', 'hoomd')


def install():
    """Put this package in the place of ``gsd``, for libraries that import it.

    From now on, ``import gsd``, ``import gsd.fl``, ``import gsd.pygsd`` and ``import gsd.hoomd`` find the modules of
    this package. Modules that have imported ``gsd`` before keep what they have, so call this first.
    """
    this = sys.modules[__name__]
    sys.modules['gsd'] = this
    for name in _MODULES:
        module = import_module(f'{__name__}.{name}')
        sys.modules[f'gsd.{name}'] = module
        setattr(this, name, module)


def __getattr__(name):
    if name in _MODULES:
        return import_module(f'{__name__}.{name}')
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
