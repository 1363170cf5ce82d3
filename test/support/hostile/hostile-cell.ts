/** A cell that was taken over: it holds the pipe to the host, and says what it likes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PING_EVERY_MS } from '../../../src/cells/cell-pipe.ts';
import { CellProcess } from '../../../src/cells/cell-process.ts';
import { buildCell, type CellBuild } from '../../../src/launch/cell-build.ts';
import { CellLauncher } from '../../../src/launch/cell-launch.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import type { CallEnd } from '../../../src/protocol/wire.ts';

/** What the attacker's code has to hand: the pipe, and `send(head, body)` for a frame that is well made. */
const PREAMBLE = `
const pipe = new (require('node:net').Socket)({ fd: 3 });
const send = (head, body = Buffer.alloc(0)) => {
  const text = Buffer.from(typeof head === 'string' ? head : JSON.stringify(head));
  const prefix = Buffer.alloc(8);
  prefix.writeUInt32LE(text.length, 0);
  prefix.writeUInt32LE(body.length, 4);
  pipe.write(Buffer.concat([prefix, text, body]));
};
`;
/** Of the call it has: long enough for a process to start on a busy machine. */
const WALL_MS = 10_000;
/** The host looks at its cells this often here. */
const CHECK_EVERY_MS = 100;

export interface CellFate {
  /** Why the host ended it. */
  readonly reason: string;
  /** Whoever the host holds for the reason. */
  readonly blamed: readonly string[];
  /** What became of the call it had been given. */
  readonly end: CallEnd;
}

/** Starts cells that were taken over; one build serves them all. */
export class HostileCells {
  readonly #build: CellBuild;
  readonly #folder = mkdtempSync(join(tmpdir(), 'annex-hostile-cell-'));
  #started = 0;

  private constructor(build: CellBuild) {
    this.#build = build;
  }

  static async start(): Promise<HostileCells> {
    return new HostileCells(await buildCell());
  }

  stop(): void {
    this.#build.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /**
   * Gives a cell call 7, of the script `own@1`, and waits for its end.
   *
   * @param code runs once the host has spoken
   */
  async suffer(code: string): Promise<CellFate> {
    this.#started += 1;
    const scriptPath = join(this.#folder, `${this.#started}.cjs`);
    writeFileSync(scriptPath, `${PREAMBLE}pipe.once('data', () => {\n${code}\n});`);
    const forged = { ...this.#build, scriptPath };
    const exited = Promise.withResolvers<string>();
    const blamed: string[] = [];
    const limits = { ...DEFAULT_LIMITS, cellHeartbeatMs: 6_000, cellRssMib: 256 };
    const cell = new CellProcess(forged, new CellLauncher(forged), limits, {
      script: async () => Buffer.from('the source of a script'),
      unwell: (_cell, _reason, suspects) => blamed.push(...suspects),
      exited: (_cell, how, { suspects }) => {
        blamed.push(...suspects);
        exited.resolve(how);
      },
    });
    cell.ready.catch(() => undefined);
    const watching = setInterval(() => cell.check(performance.now(), false), CHECK_EVERY_MS);
    const pinging = setInterval(() => cell.ping(), PING_EVERY_MS);
    try {
      const end = new Promise<CallEnd>((resolve) =>
        cell.submit(
          { t: 'probe', id: 7, cpuMs: 1_000, wallMs: WALL_MS },
          { owner: 'own', script: 'own@1', wallMs: WALL_MS, log: () => undefined, end: resolve },
        ),
      );
      return { reason: await exited.promise, end: await end, blamed };
    } finally {
      clearInterval(watching);
      clearInterval(pinging);
      cell.kill('was stopped with the test');
    }
  }
}
