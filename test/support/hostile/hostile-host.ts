/**
 * A service under attack: publishes attackers, installs and calls them, while bystanders in the
 * same cells are called all the time and must be answered correctly.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { outcomeError } from '../../../src/host/calls/outcome.ts';
import type { Limits } from '../../../src/limits.ts';
import type { Outcome } from '../../../src/protocol/wire.ts';
import { type Installed, TestService } from '../service.ts';
import { type Answer, type Attack, type AttackRequest, cellCode, uploadOf } from './hostile-attack.ts';
import { HostileCells } from './hostile-cell.ts';
import { HostilePeer } from './hostile-peer.ts';

/**
 * Low, so that no attack takes long; the code that enforces them is the same for any value. CPU
 * time is several times what an attack that is to be served needs: a busy machine doubles what it
 * measures. Wall time is sixty times the CPU time: cells give way to other work of the machine, and
 * an attacker shares with others what they get.
 */
export const LIMITS: Partial<Limits> = {
  callCpuMs: 400,
  callWallMs: 25_000,
  firstByteMs: 24_000,
  isolateHeapMib: 32,
  isolatesPerCell: 8,
  logLinesPerCall: 20,
  responseBodyBytes: 1024 * 1024,
  fetchesPerCall: 20,
  fetchMs: 1_500,
  fetchResponseBodyBytes: 256 * 1024,
  fetchRequestBodyBytes: 256 * 1024,
  uploadBytes: 4 * 1024 * 1024,
  uploadFiles: 200,
  scriptBytes: 1024 * 1024,
  breachesBeforeCoolDown: 5,
  requestsPerSecondPerAddress: 1_000_000,
  requestsPerSecondPerEndpoint: 1_000_000,
};
/** An attack has ended long before this, even on a slow machine. */
const ENDED_MS = 45_000;
const CELLS = 2;
/** Between two calls of a bystander: a few of them fall into each attack. */
const PACE_MS = 30;

const BYSTANDER = `
import { createIntegration } from '@annex/sdk';
let calls = 0;
export default createIntegration({
  async fetch(request, { environment }) {
    calls += 1;
    return Response.json({ sent: await request.text(), by: environment.installation.id, calls });
  },
});`;

/** The result of one request. */
interface Outcomes extends Pick<Answer, 'outcome' | 'code' | 'breaks off'> {
  readonly status: number;
  readonly text: string;
  /** Names and values, lower case. */
  readonly head?: string;
}

/** An innocent installation that shares a cell with an attacker. */
export class Bystander {
  readonly installed: Installed;
  served = 0;
  /** Calls that were lost with their cell. */
  lost = 0;
  #over = false;
  #turn = 0;
  #calling: Promise<void> = Promise.resolve();

  constructor(installed: Installed) {
    this.installed = installed;
  }

  /** Calls it again and again, one call at a time, until `stop`. */
  start(): void {
    this.#calling = this.#keepCalling();
    this.#calling.catch(() => undefined);
  }

  /** @throws where one of its answers was wrong */
  stop(): Promise<void> {
    this.#over = true;
    return this.#calling;
  }

  async #keepCalling(): Promise<void> {
    while (!this.#over) {
      await this.#call();
      // Without a pause, the calls would themselves be a flood.
      await wait(PACE_MS);
    }
  }

  /** One call, whose answer must be right unless its cell dies. */
  async #call(): Promise<void> {
    this.#turn += 1;
    const sent = `${this.installed.id}/${this.#turn}`;
    const response = await fetch(this.installed.endpoint, { method: 'POST', body: sent });
    const answer = (await response.json()) as { error?: { code: string } };
    if (answer.error?.code === 'CELL_CRASHED') {
      this.lost += 1;
      return;
    }
    const right = { sent, by: this.installed.id, calls: expect.any(Number) };
    expect([response.status, answer]).toEqual([200, right]);
    this.served += 1;
  }
}

export class HostileHost {
  readonly annex: TestService;
  readonly peer: HostilePeer;
  readonly #cells: HostileCells;
  /** At least one in each cell. */
  readonly bystanders: Bystander[] = [];

  private constructor(annex: TestService, peer: HostilePeer, cells: HostileCells) {
    this.annex = annex;
    this.peer = peer;
    this.#cells = cells;
  }

  static async start(): Promise<HostileHost> {
    const peer = await HostilePeer.start();
    const flags = ['--egress-allow', peer.allowed];
    const annex = await TestService.start({ cells: CELLS, flags, limits: LIMITS });
    const host = new HostileHost(annex, peer, await HostileCells.start());
    await annex.publish('bystander', { 'index.js': BYSTANDER });
    for (const cell of annex.service.pool.cells) {
      let installed: Installed;
      do installed = await annex.install('bystander');
      while (annex.service.pool.cellFor(installed.id) !== cell);
      host.bystanders.push(new Bystander(installed));
    }
    for (const bystander of host.bystanders) bystander.start();
    return host;
  }

  /** @throws where a bystander was answered wrongly */
  async stop(): Promise<void> {
    const stopped = await Promise.allSettled(this.bystanders.map((bystander) => bystander.stop()));
    await this.annex.stop();
    this.#cells.stop();
    this.peer.stop();
    for (const one of stopped) if (one.status === 'rejected') throw one.reason;
  }

  /** Runs one attack and checks its result. @throws where it is not the expected one */
  async run(attack: Attack): Promise<void> {
    const code = cellCode(attack);
    if (code !== undefined) return this.#runCell(attack, code);
    const { status, body } = await this.annex.api('POST', '/v1/integrations', {
      form: await uploadOf(attack),
    });
    const refusals = attack.answers.filter(
      (answer) => answer.problem !== undefined || answer.code !== undefined,
    );
    if (status !== 201 && refusals.length > 0) {
      const answer = { status, text: JSON.stringify(body), code: codeOf(body) };
      return expectAnswer(attack, answer, refusals);
    }
    expect([attack.name, status, body]).toEqual([attack.name, 201, expect.anything()]);
    for (let i = 0; i < attack.installations; i++) {
      const attacker = await this.annex.install(attack.name);
      await this.#provoke(attacker, attack);
      await this.#expectLog(attacker, attack);
    }
    expect(this.peer.reached).toBe(0);
  }

  async #runCell(attack: Attack, code: string): Promise<void> {
    const { reason, end, blamed } = await this.#cells.run(code, attack['wall ms']);
    // Whatever it writes, only owners of calls that it had can be blamed for its end.
    expect(blamed.filter((owner) => owner !== 'own')).toEqual([]);
    expect(end.outcome).toBe(attack.answers[0]?.outcome ?? 'cellCrashed');
    const expected = attack.answers.map((answer) => answer['cell ended for']);
    expect(
      expected.some((part) => part !== undefined && reason.includes(part)),
      reason,
    ).toBe(true);
    expect(Object.prototype).not.toHaveProperty('polluted');
  }

  async #provoke(attacker: Installed, attack: Attack): Promise<void> {
    const { times = 1, 'at once': atOnce = 1 } = attack.request;
    for (let time = 0; time < times; time++) {
      const sent = Array.from({ length: atOnce }, () => this.#send(attacker, attack.request));
      for (const came of await within(ENDED_MS, Promise.all(sent))) {
        if (came !== undefined) expectAnswer(attack, came, attack.answers);
      }
    }
  }

  async #send(
    { endpoint }: Installed,
    { method = 'GET', path = '', headers = {}, body, 'leaves after': leavesAfterMs }: AttackRequest,
  ): Promise<Outcomes | undefined> {
    const leaving = leavesAfterMs === undefined ? {} : { signal: AbortSignal.timeout(leavesAfterMs) };
    try {
      const response = await fetch(`${endpoint}${path}`, {
        method,
        // A connection that is kept alive would count as a leaked descriptor.
        headers: { connection: 'close', ...this.peer.headers, ...headers },
        ...(body !== undefined && { body }),
        ...leaving,
      });
      return await read(response);
    } catch (cause) {
      if (leavesAfterMs !== undefined) return undefined;
      throw cause;
    }
  }

  async #expectLog(attacker: Installed, attack: Attack): Promise<void> {
    const text = async () => (await this.annex.log(attacker)).map((line) => line.text).join('\n');
    for (const part of attack.log)
      await vi.waitFor(async () => expect(await text()).toContain(part), { timeout: 90_000, interval: 100 });
    for (const part of attack['log without']) expect(await text()).not.toContain(part);
  }
}

async function read(response: Response): Promise<Outcomes> {
  const { status } = response;
  const head = [...response.headers].flat().join('\n').toLowerCase();
  try {
    const text = await response.text();
    const error = parsed(text)?.['error'] as { code?: string; outcome?: Outcome } | undefined;
    return {
      status,
      text,
      head,
      ...(error?.code && { code: error.code }),
      ...(error?.outcome && { outcome: error.outcome }),
    };
  } catch {
    return { status, text: '', 'breaks off': true };
  }
}

function expectAnswer(attack: Attack, came: Outcomes, answers: readonly Answer[]): void {
  const holds = answers.some((answer) => isAnswer(came, answer));
  expect(
    holds,
    `${attack.name} was answered ${JSON.stringify({ ...came, text: came.text.slice(0, 600) })}`,
  ).toBe(true);
}

function isAnswer(
  came: Outcomes,
  { outcome, status, code, body, contains, problem, ...rest }: Answer,
): boolean {
  const error = outcome === undefined || outcome === 'ok' ? undefined : outcomeError(outcome);
  return (
    (error === undefined ||
      (came.outcome === outcome && came.status === error.status && came.code === error.code)) &&
    (status === undefined || came.status === status) &&
    (code === undefined || came.code === code) &&
    (body === undefined || came.text === body) &&
    (contains === undefined || came.text.includes(contains)) &&
    (problem === undefined || (came.status === 422 && came.text.includes(problem))) &&
    (rest['headers without'] ?? []).every((part) => !came.head?.includes(part.toLowerCase())) &&
    (rest['breaks off'] ?? false) === (came['breaks off'] ?? false)
  );
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const codeOf = (body: Record<string, unknown>): string => String((body['error'] as { code?: string })?.code);

/** @throws where the work is not done in time: an attack that does not end has succeeded */
export async function within<T>(boundMs: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`It did not end within ${boundMs} ms.`)), boundMs);
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}
