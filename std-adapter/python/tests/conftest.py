"""What the tests share."""

import pathlib

import pytest


@pytest.fixture(scope='session')
def golden():
    """The folder of files that other programs have written."""
    return pathlib.Path(__file__).parents[3] / 'tests' / 'golden'


@pytest.fixture
def path(tmp_path):
    """The path of a file that does not exist."""
    return str(tmp_path / 'a.gsd')
