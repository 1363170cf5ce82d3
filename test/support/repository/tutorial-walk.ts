/**
 * Follows a tutorial as a reader does: runs its commands, those of other terminals too, writes its
 * files, and compares what is printed. The words after the language of a fence say what a block is:
 *
 * - `bash` runs in the reader's shell; `bash terminal name` runs in another one, and goes on
 * - `txt` is what the command before it prints, `…` standing for any text
 * - `file=path` is a file of the integration; with the language `diff`, a change of one
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { Shell } from './shell.ts';

/** A terminal that shows nothing new for so long has failed. */
const SHOWN_WITHIN_MS = 120_000;

interface Block {
  readonly section: string;
  readonly language: string;
  readonly words: string;
  readonly body: string;
}

export interface WalkOptions {
  /** The text of the tutorial. */
  readonly text: string;
  /** Where its reader begins. */
  readonly folder: string;
  /** Variables of the reader. */
  readonly variables: Readonly<Record<string, string>>;
  /** Text of the tutorial → the text in its place: ports, and what was done before. */
  readonly replaced: Readonly<Record<string, string>>;
}

export class TutorialWalk {
  readonly #blocks: readonly Block[];
  readonly #shell: Shell;
  readonly #terminals = new Map<string, Terminal>();
  #printed = '';

  constructor({ text, folder, variables, replaced }: WalkOptions) {
    const pattern = new RegExp(Object.keys(replaced).map(RegExp.escape).join('|'), 'g');
    this.#blocks = blocksOf(text.replaceAll(pattern, (part) => replaced[part] ?? part));
    this.#shell = new Shell(folder, variables);
  }

  /** Does all of a section. @throws an Error with what a command printed */
  async section(title: string): Promise<void> {
    const blocks = this.#blocks.filter(({ section }) => section === title);
    if (blocks.length === 0) throw new Error(`The tutorial has no section "${title}".`);
    for (const [index, block] of blocks.entries()) await this.#block(block, blocks[index + 1]);
  }

  /** What the last command of the tutorial has printed. */
  get printed(): string {
    return this.#printed;
  }

  /** Runs a command in the reader's shell. */
  run(script: string): Promise<string> {
    return this.#shell.run(script);
  }

  terminal(name: string): Terminal {
    const terminal = this.#terminals.get(name);
    if (terminal === undefined) throw new Error(`There is no terminal "${name}".`);
    return terminal;
  }

  async end(): Promise<void> {
    this.#shell.end();
    for (const terminal of this.#terminals.values()) await terminal.interrupt();
  }

  async #block({ language, words, body }: Block, next: Block | undefined): Promise<void> {
    const shown = next?.language === 'txt' ? next.body.trim() : undefined;
    const [kind, value = ''] = words.split(/[ =]/);
    if (kind === 'terminal') {
      const variables = Object.fromEntries(
        (await this.run('env')).split('\n').map((line) => [...line.split(/=(.*)/s).slice(0, 2)]),
      );
      const terminal = new Terminal(body, variables['PWD'] ?? '', variables);
      this.#terminals.set(value, terminal);
      if (shown !== undefined) await terminal.shows(patternOf(shown));
    } else if (kind === 'file') {
      const path = join(await this.run('pwd'), value);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, language === 'diff' ? changed(await readFile(path, 'utf8'), body) : body);
    } else if (language === 'bash') {
      this.#printed = stripVTControlCharacters(await this.run(body));
      if (shown !== undefined && !patternOf(shown).test(this.#printed))
        throw new Error(`${body}\nprinted\n${this.#printed}\nand not\n${shown}`);
    }
  }
}

/** A terminal with a command that goes on. */
export class Terminal {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #printed = '';

  constructor(script: string, cwd: string, variables: Readonly<Record<string, string>>) {
    // In a group of its own, as that of a terminal: an interrupt reaches all of its processes.
    this.#child = spawn('bash', ['-ec', script], {
      ...{ cwd, env: { ...variables, HOME: cwd }, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        this.#printed += chunk;
      });
    this.#exited = new Promise((resolve) => this.#child.once('close', () => resolve()));
  }

  /** All that it has printed, without colors. */
  get printed(): string {
    return stripVTControlCharacters(this.#printed);
  }

  /** Waits until its output matches. @throws an Error with the output where it does not, in time */
  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    const until = performance.now() + SHOWN_WITHIN_MS;
    for (;;) {
      const found = pattern.exec(this.printed);
      if (found !== null) return found;
      if (this.#child.exitCode !== null || performance.now() > until)
        throw new Error(`No ${pattern} in: ${this.printed}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Ctrl-C. */
  async interrupt(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.pid !== undefined)
      process.kill(-this.#child.pid, 'SIGINT');
    await this.#exited;
  }
}

function blocksOf(text: string): Block[] {
  return text.split(/^## /m).flatMap((part) => {
    const section = part.slice(0, part.indexOf('\n'));
    return [...part.matchAll(/^```(\w+) ?([^\n]*)\n(.*?)^```$/gms)].map(
      ([, language = '', words = '', body = '']) => ({ section, language, words, body }),
    );
  });
}

const patternOf = (shown: string): RegExp => new RegExp(shown.split('…').map(RegExp.escape).join('.*?'));

/** A file after a change: lines with `-` or a space become those with `+` or a space. */
function changed(text: string, diff: string): string {
  const lines = diff.split('\n').filter((line) => line !== '');
  const side = (mark: string) =>
    lines.filter((line) => line[0] === ' ' || line[0] === mark).map((line) => `${line.slice(1)}\n`);
  const before = side('-').join('');
  if (!text.includes(before)) throw new Error(`The file has no such lines:\n${before}`);
  return text.replace(before, () => side('+').join(''));
}
