"""The version of ``gsd`` whose names and behaviour this package has.

Attributes:
    version (str): ``5.0.1``
"""

version = '5.0.1'

__all__ = ['version']
