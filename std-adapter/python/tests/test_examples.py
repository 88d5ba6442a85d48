"""The examples of the README and of the modules run."""

import importlib
import inspect
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

README = pathlib.Path(__file__).parents[1] / 'README.md'


def run(program, folder):
    done = subprocess.run([sys.executable, '-c', program], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_examples_of_the_readme_run(tmp_path):
    blocks = re.findall(r'```python\n(.*?)```', README.read_text(), re.DOTALL)
    assert len(blocks) == 5
    run('\n'.join(blocks), tmp_path)


@pytest.mark.parametrize('name', ['striae.gsd.fl', 'striae.gsd.hoomd', 'striae.sion'])
def test_the_example_of_a_module_runs(name, tmp_path):
    text = inspect.getdoc(importlib.import_module(name))
    block = re.search(r'::\n\n((?: {4}.*\n|\n)+)', text + '\n')
    run(textwrap.dedent(block[1]), tmp_path)


@pytest.mark.parametrize('name', ['striae', 'striae.gsd.fl', 'striae.gsd.hoomd', 'striae.gsd.pygsd', 'striae.sion',
                                  'striae.cdf', 'striae.blob', 'striae.direct'])
def test_all_that_is_public_has_a_docstring(name):
    module = importlib.import_module(name)
    missing = []
    for attribute in module.__all__:
        value = getattr(module, attribute)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if not inspect.getdoc(value):
            missing.append(attribute)
        if inspect.isclass(value):
            public = {name: of for name, of in vars(value).items() if not name.startswith('_')}
            missing += [f'{attribute}.{name}' for name, of in public.items() if callable(of) and not inspect.getdoc(of)]
    assert not missing


def test_the_stubs_say_what_there_is():
    import ast

    import striae._striae as native

    stubs = ast.parse((pathlib.Path(native.__file__).parent / '_striae.pyi').read_text())
    said = {}
    for node in stubs.body:
        if isinstance(node, ast.ClassDef):
            members = [of for of in node.body if isinstance(of, (ast.FunctionDef, ast.AnnAssign))]
            said[node.name] = {of.name if isinstance(of, ast.FunctionDef) else of.target.id for of in members}
        elif isinstance(node, ast.FunctionDef):
            said[node.name] = set()
    there = {name: of for name, of in vars(native).items() if not name.startswith('_')}
    assert said.keys() == there.keys()
    for name, of in there.items():
        if inspect.isclass(of):
            public = {member for member in vars(of) if not member.startswith('_')}
            assert public == {member for member in said[name] if not member.startswith('_')}, name
