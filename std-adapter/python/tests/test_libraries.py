"""Libraries that import gsd, with this package in its place."""

import subprocess
import sys

import numpy
import pytest

import striae.gsd.hoomd as hoomd

N = 64


@pytest.fixture
def trajectory(tmp_path):
    """Five frames of particles on a lattice, with bonds, as a simulation writes them."""
    path = tmp_path / 'run.gsd'
    grid = numpy.stack(numpy.meshgrid(*[numpy.arange(4)] * 3, indexing='ij'), axis=-1).reshape(N, 3)
    with hoomd.open(path, 'w') as file:
        for step in range(5):
            frame = hoomd.Frame()
            frame.configuration.step = step * 100
            frame.configuration.box = [4, 4, 4, 0, 0, 0]
            frame.particles.N = N
            frame.particles.types = ['A', 'B']
            frame.particles.typeid = numpy.arange(N) % 2
            frame.particles.position = grid - 1.5 + 0.01 * step
            frame.particles.mass = numpy.full(N, 2.0)
            frame.bonds.N = 1
            frame.bonds.types = ['AB']
            frame.bonds.group = [[0, 1]]
            file.append(frame)
    return path


def run(program, *arguments):
    """Runs a program in a process of its own, in which nothing has imported gsd yet."""
    program = 'import sys\nimport striae.gsd\nstriae.gsd.install()\n' + program
    done = subprocess.run([sys.executable, '-c', program, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_mdanalysis_reads_topology_and_trajectory(trajectory):
    pytest.importorskip('MDAnalysis')
    said = run('''
import MDAnalysis
universe = MDAnalysis.Universe(sys.argv[1])
print(len(universe.atoms), len(universe.trajectory), len(universe.bonds), universe.atoms.masses.sum())
for step in universe.trajectory:
    print(step.frame, step.data['step'], round(float(universe.atoms.positions[0, 0]), 4), step.dimensions[0])
universe.trajectory[3]
print(universe.trajectory.ts.data['step'])
import gsd
assert gsd.__name__ == 'striae.gsd'
''', trajectory)
    assert said[:4] == [str(N), '5', '1', '128.0']
    steps = [said[4 + 4 * step : 8 + 4 * step] for step in range(5)]
    assert [(int(frame), int(step)) for frame, step, _, _ in steps] == [(i, i * 100) for i in range(5)]
    numpy.testing.assert_allclose([float(x) for _, _, x, _ in steps], [-1.5 + 0.01 * i for i in range(5)], atol=1e-4)
    assert said[-1] == '300'


def test_freud_takes_frames_and_writes_what_it_finds(trajectory, tmp_path):
    pytest.importorskip('freud')
    said = run('''
import freud, gsd.hoomd, numpy
with gsd.hoomd.open(sys.argv[1]) as frames, gsd.hoomd.open(sys.argv[2], 'w') as out:
    for frame in frames:
        query = freud.locality.AABBQuery.from_system(frame)
        neighbors = query.query(query.points, {'r_max': 1.1, 'exclude_ii': True}).toNeighborList()
        rdf = freud.density.RDF(bins=10, r_max=1.9)
        rdf.compute(frame)
        frame.log = {'neighbors': neighbors.neighbor_counts.astype(numpy.uint32), 'rdf': rdf.rdf}
        out.append(frame)
        print(len(neighbors))
''', trajectory, tmp_path / 'out.gsd')
    assert said == [str(6 * N)] * 5
    logs = hoomd.read_log(tmp_path / 'out.gsd')
    assert logs['log/neighbors'].shape == (5, N) and (logs['log/neighbors'] == 6).all()
    assert logs['log/rdf'].shape == (5, 10)
    with hoomd.open(tmp_path / 'out.gsd') as out, hoomd.open(trajectory) as frames:
        for one, other in zip(out, frames):
            numpy.testing.assert_array_equal(one.particles.position, other.particles.position)
