"""Prints a CI job as the shell script that its service would run: jobs.py FILE SHARD, a job of GitHub Actions or of GitLab.

Only what the jobs in examples/ use is understood; another key or condition is an error, not a guess. The caller stands in
for actions/checkout, and looks for what the service would keep in the folder `failed`.
"""

import shlex
import sys

import yaml


def only(mapping, *keys):
    """Fails where it has other keys: they would change what runs."""
    assert set(mapping) <= set(keys), set(mapping) - set(keys)


def github(job, shard):
    """Each step is a process of `sh -e`, as in a container without bash as its default."""
    only(job, 'container', 'runs-on', 'steps', 'strategy', 'timeout-minutes')
    assert job['container'] == 'debian:12', job['container']
    shards = job['strategy']['matrix']['shard']
    lines = []
    for step in job['steps']:
        condition = step.get('if', '')
        if 'run' not in step:
            if step['uses'] != 'actions/checkout@v4':
                assert step['uses'] == 'actions/upload-artifact@v4' and condition == 'failure()' and step['with']['path'] == 'failed', step
            continue
        only(step, 'env', 'if', 'name', 'run')
        assert condition in ('', 'matrix.shard == 0', "matrix.shard == 0 && hashFiles('tests/test_*.py') != ''"), condition
        if condition and shard != 0:
            continue
        variables = [f'{name}={shlex.quote(str(value).replace("${{ matrix.shard }}", str(shards[shard])))}'
                     for name, value in step.get('env', {}).items()]
        assert not [word for word in variables + [step['run']] if '${{' in word], step
        lines += [f'echo "== {step.get("name", "")}"', ' '.join(['env', *variables, 'sh', '-ec', shlex.quote(step['run'])])]
    return lines


def gitlab(job, shard):
    """One bash runs all lines, and ends at the first that fails."""
    only(job, 'artifacts', 'before_script', 'image', 'parallel', 'script', 'timeout', 'variables')
    assert job['image'] == 'debian:12' and job['artifacts']['when'] == 'on_failure' and job['artifacts']['paths'] == ['failed'], job
    variables = dict(job['variables'], CI_NODE_TOTAL=job['parallel'], CI_NODE_INDEX=shard + 1)
    return ['set -o pipefail'] + [f'export {name}={shlex.quote(str(value))}' for name, value in variables.items()] + job['before_script'] + job['script']


def main(path, shard):
    with open(path, encoding='utf-8') as file:
        document = yaml.safe_load(file)
    lines = github(document['jobs']['rdma'], shard) if 'jobs' in document else gitlab(document['rdma'], shard)
    print('\n'.join(['set -e', *lines]))


main(sys.argv[1], int(sys.argv[2]))
