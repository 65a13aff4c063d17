#!/usr/bin/env python3
"""Turns the steps and logs of run.sh into summary.md and summary.json.
Usage: summarise.py WORK OUT BUDGET SECONDS"""

import json
import pathlib
import re
import statistics
import sys

work, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
budget, seconds = sys.argv[3:5]
steps = {}
for line in (out / 'steps.tsv').read_text().splitlines():
    name, code, took, log = line.split('\t')
    path = work / 'logs' / log
    steps[name] = {'code': code, 'seconds': float(took),
                   'text': path.read_text(errors='replace') if path.exists() else ''}


def objects(text):
    """The JSON objects that are lines of a text."""
    for line in text.splitlines():
        if line.startswith('{'):
            try:
                yield json.loads(line)
            except ValueError:
                pass


def state(step):
    code = step['code']
    return {'0': 'good', '77': 'no device', '124': 'TIME LIMIT', '137': 'TIME LIMIT',
            'skipped': 'not run: no time left'}.get(code, f'FAILED ({code})')


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else ''


def below(prefix):
    return {name[len(prefix):]: step for name, step in steps.items() if name.startswith(prefix)}


def result(step):
    """The report of word2vec, evaluate or time_kernel; None if it failed."""
    found = list(objects(step['text']))
    return found[-1] if step['code'] == '0' and found else None


def scores(report):
    found = (report or {}).get('scores', report or {})
    values = [v.get('spearman') for v in found.get('similarity', {}).values()]
    values += [v.get('accuracy') for v in found.get('analogy', {}).values()]
    return values + [None] * (3 - len(values))


def number(x, digits=3):
    return '-' if x is None else f'{x:.{digits}f}'


def millions(x):
    return '-' if x is None else f'{x / 1e6:.1f}'


markdown, summary = [], {'budget': float(budget), 'seconds': float(seconds), 'steps': {
    name: {'code': s['code'], 'seconds': s['seconds']} for name, s in steps.items()}}


def table(title, head, rows):
    if not rows:
        return
    markdown.extend([f'## {title}', '', '| ' + ' | '.join(map(str, head)) + ' |',
                     '|---' * len(head) + '|'])
    markdown.extend('| ' + ' | '.join(str(c) for c in row) + ' |' for row in rows)
    markdown.append('')


facts = steps.get('facts', {'text': ''})['text']
card = re.search(r'^name, .*\n(.*)$', facts, re.M)
processor = re.search(r'[Mm]odel name\s*: *(.*)', facts)
markdown += ['# GPU run', '', f'{seconds} s of {budget}. ' + (card[1] if card else 'no GPU named') +
             '; processor: ' + (processor[1] if processor else 'unknown') + '.', '']
built = facts.split('== GPU')[0].strip().replace('\n', '; ')
markdown += [built, ''] if built else []
if '== programs whose libraries are missing' in facts:
    lacking = facts.split('== programs whose libraries are missing')[1].strip()
    if lacking:
        markdown += ['Missing libraries:', '', '```', lacking[:1500], '```', '']

rows = []
for name, step in {**below('tests/'), **below('sanitize/')}.items():
    text = step['text']
    wrong = [l for l in text.splitlines() if re.search(r'WRONG|failed:|ERROR SUMMARY|RACECHECK SUMM', l)]
    rows.append([name, state(step), f"{step['seconds']:.1f}", text.count(': good'),
                 '; '.join(wrong)[:200] or (last_line(text) if step['code'] != '0' else '')])
table('Tests of device code', ['test', 'result', 's', 'cases good', 'what is wrong'], rows)
summary['tests'] = {row[0]: row[1] for row in rows}

def failure(step):
    return '' if step['code'] == '0' else f'{state(step)} {last_line(step["text"])[:60]}'


rows, summary['kernels'] = [], {}
for name, step in below('kernel/').items():
    report = result(step) or {}
    seconds_of = [s for s in report.get('epoch_seconds', []) if s]
    words = report.get('tokens', 0)
    row = {'first_epoch': words / seconds_of[0] if seconds_of else None,
           'further_epochs': words * (len(seconds_of) - 1) / sum(seconds_of[1:])
           if len(seconds_of) > 1 else None,
           'all_epochs': report.get('words_per_second'),
           'sentences_in_flight': report.get('sentences_in_flight'), 'loss': report.get('loss')}
    summary['kernels'][name] = row | dict(zip(('ws353', 'simlex999', 'analogies'), scores(report)))
    rows.append([*name.rsplit('/', 1), *(millions(row[k]) for k in (
        'first_epoch', 'further_epochs', 'all_epochs')), row['sentences_in_flight'] or '-',
        number(row['loss'], 4), *(number(v) for v in scores(report)), failure(step)])
table('Kernels, M words/s', ['kernel', 'D', 'first epoch', 'each further epoch', 'all five',
                             'in flight', 'loss', 'WS-353', 'SimLex-999', 'analogies', 'failed'], rows)

variants = {}
for name, step in below('variants/').items():
    variant, round_ = name.rsplit('/', 1)
    variants.setdefault(variant, {})[round_] = step
rows, base = [], None
for variant, rounds in variants.items():
    speeds = {r: result(s)['further_epochs'] for r, s in rounds.items()
              if r != 'scores' and result(s)}
    base = base or speeds
    # Of the same rounds, so that a slow moment counts for both.
    ratios = [speeds[r] / base[r] for r in speeds if r in base]
    scored = result(rounds['scores']) if 'scores' in rounds else None
    middle = statistics.median(speeds.values()) if speeds else None
    summary.setdefault('variants', {})[variant] = {'speeds': list(speeds.values()),
                                                   'scores': scored}
    rows.append([variant, len(speeds), millions(middle), ' to '.join(
        millions(f(speeds.values())) for f in (min, max)) if speeds else '-',
        number(statistics.median(ratios)) if ratios else '-',
        *(number((scored or {}).get(k), 4) for k in ('loss', 'ws353', 'simlex999', 'analogies')),
        '; '.join(filter(None, dict.fromkeys(failure(s) for s in rounds.values())))])
table('Variants, each further epoch, M words/s', [
    'variant', 'rounds', 'median', 'lowest to highest', 'x the first variant', 'loss', 'WS-353',
    'SimLex-999', 'analogies', 'failed'], rows)


def speed_rows(prefix):
    rows = []
    for name, step in below(prefix).items():
        r = result(step) or {}
        speed = r.get('words_per_second', r.get('further_epochs'))
        rows.append([name, millions(speed), r.get('sentences_in_flight', '-'),
                     number(r.get('loss'), 4), *(number(v) for v in scores(r)), failure(step)])
    return rows


head = ['M words/s', 'in flight', 'loss', 'WS-353', 'SimLex-999', 'analogies', 'failed']
table('cuda-warp, five epochs, by sentences in flight', ['sampler/sentences', *head],
      speed_rows('flight/'))
table('Columns (M pairs/s) and minibatches of pairs', ['what', *head],
      speed_rows('columns/'))
table('Other seeds', ['run', *head], speed_rows('seeds/'))

rows = []
for name, step in below('peers/').items():
    if name.endswith('/scores'):
        continue
    said = re.findall(r'Overall Words Per Second: *([0-9.]+)', step['text'], re.I) or \
        [float(x) * 1000 for x in re.findall(r'Words/(?:thread/)?sec: *([0-9.]+)k', step['text'])]
    speed = float(said[-1]) if said else None
    scored = steps.get(f'peers/{name}/scores')
    values = scores(result(scored) if scored else None)
    summary.setdefault('peers', {})[name] = [speed, *values]
    rows.append([name, millions(speed), *(number(v) for v in values), f"{step['seconds']:.1f}",
                 failure(step)])
table('Programs of others, as they report', ['program', 'M words/s', 'WS-353', 'SimLex-999', 'analogies',
                                     'wall s', 'failed'], rows)

series = {}
for name, step in below('cores/').items():
    sampler, private, threads = name.split('/')
    r = result(step)
    if sampler != 'scores':
        series.setdefault((sampler, int(private)), {})[int(threads)] = \
            r['words_per_second'] if r else None
counts = sorted({t for of in series.values() for t in of})
rows = []
for (sampler, private), of in series.items():
    rows.append([f'{sampler}+fused', private,
                 *(millions(of.get(t)) + (f' ({of[t] / of[1]:.2f} x)' if of.get(t) and of.get(1)
                                          else '') for t in counts)])
summary['cores'] = {f'{s}/{p}': of for (s, p), of in series.items()}
table('Threads, M words/s', ['method', 'private rows', *counts], rows)
table('All threads, five epochs', ['private rows/threads', *head], speed_rows('cores/scores/'))

wanted = re.compile(
    r'^\s+(Duration|Elapsed Cycles|SM Frequency|Memory Throughput|DRAM Throughput|L2 Cache Throughput|'
    r'Compute \(SM\) Throughput|Executed Ipc Active|Issue Slots Busy|L1/TEX Hit Rate|L2 Hit Rate|'
    r'Mem Busy|Max Bandwidth|Achieved Occupancy|Achieved Active Warps Per SM|Theoretical Occupancy|'
    r'Registers Per Thread|Grid Size|Block Size|Waves Per SM|No Eligible|Eligible Warps Per Scheduler|'
    r'Warp Cycles Per Issued Instruction|Issued Warp Per Scheduler|lts__|dram__|gpu__|smsp__|sm__|'
    r'l1tex__)')
for name, step in below('profile/').items():
    lines = [l.strip() for l in step['text'].splitlines() if wanted.match(l)]
    reasons = re.findall(r'On average, each warp.*?(?:\.\s|\Z)', step['text'], re.S)
    markdown += [f'## Profile: {name} ({state(step)})', '', '```',
                 *[re.sub(r' {3,}', '  ', l)[:110] for l in lines[:40]],
                 *([last_line(step['text'])] if not lines else []), '```', '']
    markdown += [' '.join(r.split()) + '\n' for r in reasons[:1]]

# A line of Google Benchmark: name, time, unit, processor time, unit, iterations, counters
rows = [[line.split()[0], ' '.join(line.split()[6:])[:300]]
        for line in steps.get('bench', {'text': ''})['text'].splitlines() if '/D:' in line]
table('bench_cuda', ['kernel', 'counters'], rows)

rows = [[r['what'], r['value'], r['unit']] for r in
        objects(steps.get('ceilings', {'text': ''})['text']) if 'what' in r]
summary['ceilings'] = {row[0]: row[1] for row in rows}
table('Ceilings', ['what', 'value', 'unit'], rows)

bad = {}
for name, s in steps.items():
    if s['code'] not in ('0', '77'):
        bad.setdefault((state(s), last_line(s['text'])), []).append(name)
table('Steps that gave no result', ['what', 'last line', 'steps'],
      [[*key, f'{len(names)}: ' + ' '.join(names)[:150]] for key, names in bad.items()])

# The end of an output is read first, and may be all that arrives: details come first.
head_part, *parts = ('\n'.join(markdown) + '\n').split('\n## ')
parts.sort(key=lambda part: not part.startswith(('Ceilings', 'Profile', 'bench_cuda', 'Other')))
(out / 'summary.md').write_text('\n## '.join([head_part, *parts]))
(out / 'summary.json').write_text(json.dumps(summary, indent=1) + '\n')
