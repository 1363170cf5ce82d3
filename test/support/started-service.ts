/**
 * The service as `npm start` runs it: its own `main.ts`, in a folder of its own beside the
 * fixtures, on free ports.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export class StartedService {
  /** Its working directory, as in a clone; the parent folder is removed with it. */
  readonly folder: string;
  /** URLs of the two listeners. */
  readonly control: string;
  readonly open: string;
  readonly #process: ChildProcess;
  readonly #exited: Promise<number | null>;

  private constructor(
    folder: string,
    process: ChildProcess,
    exited: Promise<number | null>,
    [control, open]: readonly [string, string],
  ) {
    this.folder = folder;
    this.control = control;
    this.open = open;
    this.#process = process;
    this.#exited = exited;
  }

  /** @param environment more variables of the process */
  static async start(environment: Readonly<Record<string, string>> = {}): Promise<StartedService> {
    const folder = join(await mkdtemp(join(tmpdir(), 'annex-started-')), 'annex');
    await mkdir(folder);
    for (const shared of ['fixtures', 'packages']) await symlink(join(ROOT, shared), join(folder, shared));
    const service = spawn(process.execPath, [join(ROOT, 'src/main.ts')], {
      cwd: folder,
      env: {
        ANNEX_CONTROL_PORT: '0',
        ANNEX_PUBLIC_PORT: '0',
        ANNEX_PUBLIC_HOST: '127.0.0.1',
        ANNEX_CELLS: '1',
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exited = new Promise<number | null>((resolve) => service.once('exit', resolve));
    return new StartedService(folder, service, exited, await listening(service, exited));
  }

  /** Replaces the default ports, which documents name, by those of this service. */
  onFreePorts(printed: string): string {
    return printed
      .replaceAll('http://127.0.0.1:7700', this.control)
      .replaceAll('http://127.0.0.1:7701', this.open);
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGTERM');
    await this.#exited;
    await rm(join(this.folder, '..'), { recursive: true, force: true });
  }
}

/** URLs of the two listeners, from the log line that says the service is ready. */
async function listening(
  { stdout, stderr }: ChildProcess,
  exited: Promise<number | null>,
): Promise<[string, string]> {
  if (stdout === null || stderr === null) throw new Error('The service was started without its output.');
  const complaints = text(stderr);
  return new Promise((resolve, reject) => {
    // Every line is read to the end: a full pipe would block the service.
    createInterface(stdout).on('line', (line) => {
      const entry = line.startsWith('{') ? (JSON.parse(line) as Record<string, string>) : {};
      if (entry['msg'] === 'annex is ready') resolve([entry['control'] ?? '', entry['public'] ?? '']);
    });
    void exited.then(async (code) => reject(new Error(`Exit code ${code}. ${await complaints}`)));
  });
}
