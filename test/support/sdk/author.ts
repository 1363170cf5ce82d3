/**
 * An author's folder of an integration, with `annex types` and the real compiler.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { annex, type Ran } from '../cli/annex-run.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A finding of the compiler. */
export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export class AuthorFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Makes a folder that is removed after the test. */
  static async make(files: Record<string, string> = {}): Promise<AuthorFolder> {
    const path = await mkdtemp(join(tmpdir(), 'annex-author-'));
    onTestFinished(() => rm(path, { recursive: true, force: true }));
    const folder = new AuthorFolder(path);
    await folder.write(files);
    return folder;
  }

  /** Makes a folder with the files of a fixture. */
  static async ofFixture(name: string): Promise<AuthorFolder> {
    const folder = await AuthorFolder.make();
    const made = /annex-(env|sdk)\.d\.ts$|tsconfig\.json$/;
    await cp(join(ROOT, 'fixtures', name), folder.path, {
      recursive: true,
      filter: (source) => !made.test(source),
    });
    return folder;
  }

  async write(files: Record<string, string>): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      const file = join(this.path, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
  }

  read(name: string): Promise<string> {
    return readFile(join(this.path, name), 'utf8');
  }

  /** Runs `annex types` with this folder and more flags. */
  types(...flags: string[]): Promise<Ran> {
    return runTypes([this.path, ...flags], this.path);
  }

  /** Findings of `tsc`, with the settings of the folder, in declarations too. */
  async compile(): Promise<readonly Finding[]> {
    // An author's settings skip declarations, because of libraries; here those of the SDK are
    // checked, by the strictest rule for members that may be absent.
    const flags = ['-p', '.', '--skipLibCheck', 'false', '--exactOptionalPropertyTypes'];
    const { stdout } = await run([join(ROOT, 'node_modules/typescript/bin/tsc'), ...flags], this.path);
    const pattern = /^(.+?)\((\d+),\d+\): error (.*)$/gm;
    const findings = [...stdout.matchAll(pattern)].map(([, file = '', line, message = '']) => ({
      file,
      line: Number(line),
      message,
    }));
    if (findings.length === 0 && stdout.trim() !== '') throw new Error(`tsc: ${stdout}`);
    return findings;
  }
}

/** The command, from any folder. */
export const runTypes = (args: readonly string[], from: string): Promise<Ran> =>
  annex({ words: ['types', ...args], cwd: from });

function run(args: readonly string[], cwd: string): Promise<{ stdout: string }> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd }, (error, stdout) => {
      if (error === null || typeof error.code === 'number') resolve({ stdout });
      else reject(error);
    });
  });
}
