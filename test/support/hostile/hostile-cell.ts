/**
 * A cell that has been taken over: it holds the pipe to the host, and writes whatever the attack
 * wants.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PING_EVERY_MS } from '../../../src/host/cells/cell-heartbeat.ts';
import { CellProcess } from '../../../src/host/cells/cell-process.ts';
import { buildCell, type CellBuild } from '../../../src/host/launch/cell-build.ts';
import { CellLauncher } from '../../../src/host/launch/cell-launch.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import type { CallEnd } from '../../../src/protocol/wire.ts';
import { cellSources } from '../built-once.ts';

/** For the attacker's code: the pipe, and `send(head, body)` for a well-formed frame. */
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
/** How often the host checks its cells here. */
const CHECK_EVERY_MS = 100;

export interface CellFate {
  /** Why the host ended it. */
  readonly reason: string;
  /** Owners that the host takes for the cause. */
  readonly blamed: readonly string[];
  /** End of the call that it was given. */
  readonly end: CallEnd;
}

/** Starts cells that have been taken over, all from one build. */
export class HostileCells {
  readonly #build: CellBuild;
  readonly #folder = mkdtempSync(join(tmpdir(), 'annex-hostile-cell-'));
  #started = 0;

  private constructor(build: CellBuild) {
    this.#build = build;
  }

  static async start(): Promise<HostileCells> {
    return new HostileCells(await buildCell(await cellSources()));
  }

  stop(): void {
    this.#build.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /**
   * Gives a cell call 7, of the script `own@1`, and waits for the end of both.
   *
   * @param code runs when the first message of the host has come
   * @param wallMs wall time of the call
   */
  async run(code: string, wallMs: number): Promise<CellFate> {
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
          { t: 'probe', id: 7, cpuMs: 1_000, wallMs },
          { owner: 'own', script: 'own@1', wallMs, log: () => undefined, end: resolve },
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
