"""What fuzz/campaign promises for a campaign over many sessions, with an engine that only counts."""

import concurrent.futures
import contextlib
import hashlib
import importlib.machinery
import importlib.util
import io
import os
import signal
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
PROGRAM = Path(__file__).resolve().parents[2] / 'fuzz' / 'campaign'
LOADER = importlib.machinery.SourceFileLoader('campaign', str(PROGRAM))
campaign = importlib.util.module_from_spec(importlib.util.spec_from_loader('campaign', LOADER))
LOADER.exec_module(campaign)

KEY = ('2026-11-27', 'abc', 'libfuzzer', 'on')


class Engine:
    """Each slice takes what it was given, unless a target is one of those that do something else."""

    def __init__(self, **others):
        self.slices, self.small, self.others = [], [], others

    def run(self, target, most):
        self.slices.append((target, most))
        result = {'seconds': float(most), 'executions': 10, 'edges': 7, 'counters': 9, 'inputs': 5, 'findings': []}
        return result | self.others.get(target, dict)()

    def minimize(self, target):
        self.small.append(target)
        return 3


def fails():
    raise campaign.Failed('ended with 1')


ARTIFACTS = 'for word; do [[ $word = -artifact_prefix=* ]] && artifacts=${word#*=}; done'


class Programs(unittest.TestCase):
    """What libFuzzer's class makes of programs, which are scripts here: $artifacts is where findings go."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        for name, value in {'ROOT': root, 'FUZZ': root / 'fuzz', 'TARGET': root / 'target'}.items():
            self.addCleanup(setattr, campaign, name, getattr(campaign, name))
            setattr(campaign, name, value)
        campaign.PROCESSES = campaign.Processes()
        self.artifacts = root / 'fuzz' / 'artifacts' / 'a'
        self.engine = campaign.LibFuzzer(False)
        self.corpus = self.engine.corpora / 'a'
        self.corpus.mkdir(parents=True)

    def program(self, script):
        path = self.engine.program('a')
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/bash\n{ARTIFACTS}\n{script}\n')
        path.chmod(0o755)

    def test_an_input_is_a_finding_once_and_ends_a_target_that_it_always_ends(self):
        self.program('echo x > "${artifacts}crash-1"; exit 77')
        this = campaign.Campaign(self.engine, ['a'], 60, {})
        self.assertFalse(this.done('a', self.engine.run('a', 60)))
        self.assertTrue(this.done('a', self.engine.run('a', 60)))
        self.assertEqual(this.found, ['fuzz/artifacts/a/crash-1'])
        self.assertRegex(this.failed['a'], 'crash-1, which was known')

    def minimized(self, script):
        """Makes a corpus of two inputs small. Returns the names that it has then, and what was said."""
        names = [hashlib.sha1(text).hexdigest() for text in (b'one', b'two')]
        for name, text in zip(names, ('one', 'two'), strict=True):
            (self.corpus / name).write_text(text)
        self.program(f'one={names[0]}\n{script}')
        with contextlib.redirect_stderr(io.StringIO()) as said:
            count = self.engine.minimize('a')
        left = {path.name for path in self.corpus.iterdir()}
        self.assertEqual(count, len(left))
        self.assertEqual([path.name for path in self.engine.corpora.iterdir()], ['a'])
        return ['one', 'two'][:len(left)] if left <= set(names) else left, said.getvalue()

    def test_a_corpus_is_made_small_only_by_inputs_that_are_whole(self):
        self.assertEqual(self.minimized('printf one > "$2/$one"'), (['one'], ''))
        for script, said in {
            'printf on > "$2/$one"': 'not whole',
            'true': 'kept nothing',
            'printf one > "$2/$one"; exit 1': 'ended with 1',
        }.items():
            left, line = self.minimized(script)
            self.assertEqual(left, ['one', 'two'])
            self.assertRegex(line, f'^fuzz/campaign: a: the corpus stays as it is: .*{said}.*\n$')

    def test_a_corpus_is_taken_back_if_it_was_not_replaced(self):
        (self.corpus / 'x').write_text('x')
        self.corpus.rename(self.engine.corpora / 'a.old')
        self.program('true')
        self.assertEqual(self.engine.run('a', 60)['inputs'], 1)
        self.assertEqual([path.name for path in self.engine.corpora.iterdir()], ['a'])

    def test_a_slice_that_nobody_ends_ends_by_the_clock(self):
        self.program('echo "$*"')
        self.engine.run('a', 49.5)
        said = (campaign.work() / 'corpus-a.log').read_text()
        self.assertIn(' -max_total_time=1060', said)

    def test_a_slow_input_is_no_finding(self):
        self.program('echo x > "${artifacts}slow-unit-1"')
        result = self.engine.run('a', 60)
        self.assertEqual((result['findings'], result['stuck']), ([], None))

    def test_findings_of_afl_have_the_names_of_their_bytes(self):
        engine = campaign.Afl(False)
        crashes = engine.corpora / 'a' / 'default' / 'crashes'
        crashes.mkdir(parents=True)
        (crashes / 'id:000000,sig:06').write_text('old')
        self.addCleanup(setattr, campaign.PROCESSES, 'run', campaign.PROCESSES.run)
        for text in 'new', 'other', 'new':
            def run(*_, **__):
                (crashes / f'id:000000,time:{len(list(crashes.iterdir()))}').write_text(text)
                return 0, 1.0

            campaign.PROCESSES.run = run
            engine.run('a', 60)
        names = {f'crash-{hashlib.sha1(text).hexdigest()}' for text in (b'new', b'other')}
        self.assertEqual({path.name for path in self.artifacts.iterdir()}, names)


class Laws(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / 'campaigns.tsv'
        campaign.PROCESSES = campaign.Processes()
        stdout, sys.stdout = sys.stdout, open(os.devnull, 'w')
        self.addCleanup(lambda: (sys.stdout.close(), setattr(sys, 'stdout', stdout)))

    def run_all(self, engine, chosen, goal, had=None):
        this = campaign.Campaign(engine, chosen, goal, had or {})
        this.run(1, KEY, campaign.Record(self.path))
        return this

    def seconds(self):
        return {row['target']: row['seconds'] for row in campaign.Record(self.path).rows.values()}

    def test_the_next_slice_is_of_the_target_that_has_had_the_least(self):
        engine = Engine()
        self.run_all(engine, ['a', 'b', 'c'], 600, {'a': 290, 'b': 550.5, 'c': 600})
        self.assertEqual(engine.slices, [('a', 300), ('b', 49.5), ('a', 10)])
        self.assertEqual(engine.small, ['b', 'a'])

    def test_a_record_is_written_after_each_slice_and_added_up(self):
        self.run_all(Engine(), ['a'], 600)
        self.run_all(Engine(), ['a'], 60)
        rows = campaign.Record(self.path).rows
        self.assertEqual(list(rows), [(*KEY, 'a')])
        row = rows[(*KEY, 'a')]
        self.assertEqual([row[name] for name in ('seconds', 'executions', 'inputs')], [660, 30, 3])
        record = campaign.Record(self.path)
        other = {'seconds': 5.0, 'executions': 1, 'edges': 8, 'counters': 9, 'inputs': 2, 'findings': 1}
        record.add(('2026-11-28', *KEY[1:], 'a'), other)
        record.add((*KEY[:3], 'off', 'a'), other)
        sums = campaign.Record(self.path).sums()
        self.assertEqual(sums[('libfuzzer', 'on', 'a')]['seconds'], 665)
        self.assertEqual(sums[('libfuzzer', 'on', 'a')]['edges'], 8)
        self.assertEqual(sums[('libfuzzer', 'off', 'a')]['seconds'], 5)

    def test_what_others_write_to_the_record_stays(self):
        this, other = campaign.Record(self.path), campaign.Record(self.path)
        result = {'seconds': 5.0, 'executions': 1, 'edges': 8, 'counters': 9, 'inputs': 2, 'findings': 1}
        this.add((*KEY, 'a'), result)
        other.add((*KEY, 'b'), result)
        this.add((*KEY, 'a'), result)
        self.assertEqual(self.seconds(), {'a': 10, 'b': 5})

    def test_a_second_campaign_with_the_corpora_is_refused(self):
        corpora = self.path.parent / 'corpus'
        with campaign.only_campaign(corpora):
            with self.assertRaisesRegex(campaign.Failed, 'another campaign runs'):
                campaign.only_campaign(corpora)
        campaign.only_campaign(corpora).close()

    def test_a_slice_that_says_no_edges_leaves_those_of_the_row(self):
        slices = [{}, {'edges': 0, 'counters': 0, 'inputs': 6}]
        this = self.run_all(Engine(a=lambda: slices.pop(0)), ['a'], 600)
        row = campaign.Record(self.path).rows[(*KEY, 'a')]
        for row in row, this.results['a']:
            self.assertEqual([row[name] for name in campaign.Record.REACHED], [7, 9, 3])

    def test_findings_are_reported_if_the_record_cannot_be_written(self):
        self.path = self.path.parent / 'none' / 'campaigns.tsv'
        this = self.run_all(Engine(a=lambda: {'findings': ['crash']}), ['a'], 60)
        self.assertEqual(this.found, ['crash'])
        self.assertRegex(str(this.failed['a']), 'no folder for the record')

    def test_a_failing_target_does_not_end_the_others(self):
        this = self.run_all(Engine(a=fails), ['a', 'b'], 60)
        self.assertEqual(list(this.failed), ['a'])
        self.assertEqual(self.seconds(), {'b': 60})

    def test_a_finding_ends_a_slice_and_too_many_end_the_target(self):
        engine = Engine(a=lambda: {'seconds': 1.0, 'findings': ['crash']})
        this = self.run_all(engine, ['a', 'b'], 60)
        self.assertEqual(len(this.found), campaign.FINDINGS)
        self.assertEqual(self.seconds(), {'a': campaign.FINDINGS, 'b': 60})

    def test_an_interrupted_slice_is_recorded_and_no_other_begins(self):
        def interrupted():
            campaign.PROCESSES.end()
            return {'seconds': 2.0}

        engine = Engine(a=interrupted)
        self.run_all(engine, ['a', 'b'], 600)
        self.assertEqual(self.seconds(), {'a': 2})
        self.assertEqual((len(engine.slices), engine.small), (1, []))

    def test_programs_are_told_to_end_and_their_time_is_counted(self):
        ends_itself = ['sh', '-c', 'trap "exit 5" USR1; while :; do :; done']
        with open(os.devnull, 'w') as log:
            status, used = campaign.PROCESSES.run(ends_itself, log, 0.2)
            self.assertEqual(status, 5)
            self.assertGreaterEqual(used, 0.2)
            campaign.PROCESSES.end()
            status, _ = campaign.PROCESSES.run(['sleep', '1000'], log)
            self.assertEqual(status, -signal.SIGTERM)

    def test_a_program_ends_with_those_that_it_began(self):
        read, write = os.pipe()
        command = ['sh', '-c', 'sh -c "echo begun; sleep 5; echo goes on"; true']
        with open(read) as pipe, open(write, 'w') as log, concurrent.futures.ThreadPoolExecutor() as pool:
            running = pool.submit(campaign.PROCESSES.run, command, log)
            pipe.readline()
            campaign.PROCESSES.end()
            self.assertEqual(running.result()[0], -signal.SIGTERM)
            log.close()
            self.assertEqual(pipe.read(), '')

    def test_a_closed_terminal_ends_a_campaign_unless_it_was_begun_by_nohup(self):
        for name in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            self.addCleanup(signal.signal, name, signal.getsignal(name))
        for before, then in (signal.SIG_IGN, signal.SIG_IGN), (signal.SIG_DFL, campaign.PROCESSES.end):
            signal.signal(signal.SIGHUP, before)
            campaign.PROCESSES.handle_signals()
            self.assertEqual(signal.getsignal(signal.SIGHUP), then)

    def called(self, *words):
        """The exit status of the program, and what it said."""
        argv, sys.argv = sys.argv, ['fuzz/campaign', *words]
        self.addCleanup(setattr, sys, 'argv', argv)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            try:
                return campaign.main(), said.getvalue()
            except SystemExit as end:
                return end.code, said.getvalue()

    def test_jobs_are_a_number_from_1(self):
        for jobs in '0', '-1', 'two':
            status, said = self.called('--jobs', jobs)
            self.assertEqual(status, 2)
            self.assertRegex(said, 'argument --jobs: ')

    def test_coverage_is_of_the_corpora_that_were_asked_for(self):
        asked = []
        self.addCleanup(setattr, campaign, 'coverage', campaign.coverage)
        campaign.coverage = lambda chosen, corpora: asked.append(corpora.name)
        self.assertEqual(self.called('--coverage'), (0, ''))
        self.assertEqual(self.called('--coverage', '--plain'), (0, ''))
        self.assertEqual(asked, ['corpus', 'corpus-plain'])

    def test_a_record_without_a_folder_is_refused_before_anything_runs(self):
        self.addCleanup(setattr, campaign, 'install', campaign.install)
        self.addCleanup(setattr, campaign, 'only_campaign', campaign.only_campaign)
        campaign.install = campaign.only_campaign = lambda _: None
        status, said = self.called('--record', str(self.path.parent / 'none' / 'campaigns.tsv'))
        self.assertEqual(status, 2)
        self.assertRegex(said, '^fuzz/campaign: there is no folder for the record .*\n$')

    def test_what_rustup_cannot_install_is_said_as_the_command_for_it(self):
        def fails_with(*command):
            commands.append(' '.join(command))
            raise campaign.Failed('exit status 1')

        commands, has, run = [], campaign.has, campaign.run
        self.addCleanup(lambda: (setattr(campaign, 'has', has), setattr(campaign, 'run', run)))
        campaign.has, campaign.run = lambda *command: False, fails_with
        with self.assertRaisesRegex(campaign.Failed, 'rustup toolchain install .*nightly'):
            campaign.install('libfuzzer')
        self.assertEqual(len(commands), 1)
        campaign.has = lambda *command: True
        campaign.install('libfuzzer')
        self.assertEqual(len(commands), 1)


if __name__ == '__main__':
    unittest.main()
