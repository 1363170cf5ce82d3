/**
 * The completions of `annex` in the shells that they are for: bash, zsh and fish run the script and
 * offer words.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { annex } from '../../support/cli/annex-run.ts';
import { needs } from '../../support/programs.ts';

/** What is typed, the cursor at its end → words that are offered. */
const OFFERED: readonly (readonly [typed: string, words: readonly string[]])[] = [
  ['annex prof', ['profile']],
  ['annex token ', ['create', 'list', 'revoke']],
  ['annex token create --k', ['--kind']],
  ['annex token create --kind ', ['admin', 'platform', 'organization']],
  ['annex completions f', ['fish']],
  ['annex new ', ['hello', 'webhook-receiver', 'component']],
  ['annex versions --js', ['--json']],
];

/** A folder with the script, and the path of the script. */
async function scriptOf(shell: string): Promise<{ folder: string; script: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-completions-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const script = join(folder, `annex.${shell}`);
  await writeFile(script, (await annex({ words: ['completions', shell] })).stdout);
  return { folder, script };
}

async function run(shell: string, args: readonly string[], home: string): Promise<string[]> {
  const env = { PATH: process.env['PATH'], HOME: home };
  const { stdout, stderr } = await promisify(execFile)(shell, args, { env });
  expect(stderr).toBe('');
  return stdout.split('\n').filter(Boolean);
}

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ');

describe('completions of bash', () => {
  test.each(OFFERED)('of "%s" have %j', async (typed, expected) => {
    const { folder, script } = await scriptOf('bash');
    const words = typed.split(' ');
    const line = `COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}; _annex`;
    const print = `printf '%s\\n' "\${COMPREPLY[@]}"`;
    const offered = await run('bash', ['-c', `source ${script}; ${line}; ${print}`], folder);
    expect(offered).toEqual(expect.arrayContaining([...expected]));
  });
});

describe('completions of zsh', needs('zsh'), () => {
  // The functions of zsh that a script of completions calls work only in its line editor.
  const EDITOR = `compdef() { }; _files() { }; compadd() { shift; print -l -- "$@"; }`;

  test('have no fault of syntax', async () => {
    const { folder, script } = await scriptOf('zsh');
    expect(await run('zsh', ['-n', script], folder)).toEqual([]);
  });

  test.each(OFFERED)('of "%s" have %j', async (typed, expected) => {
    const { folder, script } = await scriptOf('zsh');
    const words = typed.split(' ');
    const line = `words=(${quoted(words)}); CURRENT=${words.length}; _annex`;
    const offered = await run('zsh', ['-f', '-c', `${EDITOR}; source ${script}; ${line}`], folder);
    expect(offered).toEqual(expect.arrayContaining([...expected]));
  });
});

describe('completions of fish', needs('fish'), () => {
  test('have no fault of syntax', async () => {
    const { folder, script } = await scriptOf('fish');
    expect(await run('fish', ['--no-execute', script], folder)).toEqual([]);
  });

  test.each(OFFERED)('of "%s" have %j', async (typed, expected) => {
    const { folder, script } = await scriptOf('fish');
    const ask = `source ${script}; complete -C '${typed}'`;
    const lines = await run('fish', ['--no-config', '-c', ask], folder);
    // A word, a tab, and what it does.
    const offered = lines.map((line) => line.split('\t', 1)[0]);
    expect(offered).toEqual(expect.arrayContaining([...expected]));
  });
});
