/**
 * The retry schedule with a real receiver and a clock of the test: times and number of the
 * requests, whatever the receiver does (docs/contract/webhooks.md#retries). A clock that is set
 * back delays none.
 */
import type { Socket } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { wholeInstallation } from '../../../src/model/installation.ts';
import { Delivering, turns } from '../../support/deliveries/delivery-worker.ts';
import { serveTcp } from '../../support/http/egress.ts';
import { HttpReceiver } from '../../support/receivers/http-receiver.ts';
import { OPERATOR } from '../../support/store/temporary-store.ts';

const POLL = { interval: 1, timeout: 90_000 };

const answer = (status: number) => (socket: Socket) =>
  socket.end(`HTTP/1.1 ${status} X\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);

/** Failures of a receiver that are retried. */
const FAILURES = {
  'answered 500': answer(500),
  'answered 429': answer(429),
  reset: (socket: Socket) => socket.resetAndDestroy(),
  timeout: () => undefined,
  protocol: (socket: Socket) => socket.end('This is not HTTP.\r\n\r\n'),
  // Its name resolves to an address without a listener.
  refused: () => undefined,
};
type Failure = keyof typeof FAILURES;
const FAILURE_NAMES = Object.keys(FAILURES) as Failure[];

describe('a delivery whose receiver always fails', () => {
  test.each([
    [0, [1_000, 2_000, 4_000]],
    [0.5, [1_050, 2_100, 4_200]],
    [1, [1_100, 2_200, 4_400]],
  ])('has four attempts, with a jitter of %d after %j ms', async (random, expected) => {
    const delivering = await Delivering.begin();
    await delivering.install('acme', ['s1']);
    const { time, store } = delivering;
    const times: number[] = [];
    const url = await serveTcp((socket) =>
      socket.on('data', () => {
        times.push(time.now);
        answer(503)(socket);
      }),
    );
    const worker = delivering.worker({ random: () => random });
    await worker.start();
    const [id = ''] = await delivering.accept('acme', 's1', [`${url}/hook`]);
    await retryThreeTimes(delivering, id, times);
    await vi.waitFor(
      () => expect(delivering.settled).toEqual(['pending', 'pending', 'pending', 'failed']),
      POLL,
    );
    expect(times.slice(1).map((at, index) => at - (times[index] ?? 0))).toEqual(expected);
    time.pass(3_600_000);
    await turns();
    expect(times).toHaveLength(4);
    expect(await delivering.read(id)).toMatchObject({ state: 'failed', attempts: 4, retries: 3 });
    expect(delivering.lateMs).toEqual([0, 0, 0, 0]);
    await store.logs.pass();
    const { installationId } = (await delivering.read(id)).target;
    const { items } = await store.logs.list({ tenant: installationId, limit: 9 });
    const text = `site_view (evt_1) was not delivered to ${url}: answered 503 in the last of 4 attempts. This is final. `;
    expect(items.map(({ text: line }) => line)).toEqual([
      `${text}Once the cause is fixed, POST /v1/deliveries/${id}/redeliver delivers it again.`,
    ]);
  });

  test('waits from the end of an attempt, not from its start', async () => {
    const delivering = await Delivering.begin();
    await delivering.install('acme', ['s1']);
    const { time } = delivering;
    const times: number[] = [];
    const url = await serveTcp((socket) =>
      socket.on('error', () => undefined).on('data', () => times.push(time.now)),
    );
    const worker = delivering.worker({ random: () => 0 });
    const [id = ''] = await delivering.accept('acme', 's1', [`${url}/hook`]);
    await worker.start();
    await vi.waitFor(() => expect(times).toHaveLength(1), POLL);
    time.pass(delivering.limits.webhookMs);
    await vi.waitFor(() => expect(delivering.settled).toEqual(['pending']), POLL);
    expect((await delivering.read(id)).dueAt).toBe((times[0] ?? 0) + delivering.limits.webhookMs + 1_000);
    expect(await delivering.outcomes(id)).toEqual(['timeout']);
  });

  test('waits as long as a 429 asks for, where that is longer than the schedule', async () => {
    const delivering = await Delivering.begin();
    await delivering.install('acme', ['s1']);
    const { time } = delivering;
    const times: number[] = [];
    const asked = [() => '30', () => new Date(time.now + 45_000).toUTCString(), () => '3', () => '9'];
    const url = await serveTcp((socket) =>
      socket.on('data', () => {
        const value = asked[times.length]?.();
        times.push(time.now);
        socket.end(
          `HTTP/1.1 429 X\r\nretry-after: ${value}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
        );
      }),
    );
    await delivering.worker({ random: () => 0 }).start();
    const [id = ''] = await delivering.accept('acme', 's1', [`${url}/hook`]);
    await retryThreeTimes(delivering, id, times);
    await vi.waitFor(() => expect(delivering.settled.at(-1)).toBe('failed'), POLL);
    const [first, second, third] = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    // A date has whole seconds.
    expect([first, third]).toEqual([30_000, 4_000]);
    expect(second).toBeGreaterThan(44_000);
    expect(second).toBeLessThanOrEqual(45_000);
    expect(await delivering.read(id)).toMatchObject({ state: 'failed', attempts: 4, retries: 3 });
  });

  // A receiver may notice the end of a connection late, and then sees less than a second between
  // the two.
  test('waits from when the host closes a hanging connection, by the clock of the host', async () => {
    const delivering = await Delivering.begin();
    await delivering.install('acme', ['s1']);
    const { time, limits } = delivering;
    const seen: string[] = [];
    const url = await serveTcp((socket) =>
      socket
        .on('error', () => undefined)
        .on('data', () => seen.push(`request at ${time.now}`))
        .on('close', () => seen.push(`end at ${time.now}`)),
    );
    const begun = time.now;
    const worker = delivering.worker({ random: () => 0 });
    await delivering.accept('acme', 's1', [`${url}/hook`]);
    await worker.start();
    await vi.waitFor(() => expect(seen).toEqual([`request at ${begun}`]), POLL);
    time.pass(limits.webhookMs);
    const ended = time.now;
    // The connection is closed without any time passing: the delay has not begun.
    await vi.waitFor(() => expect(seen).toEqual([`request at ${begun}`, `end at ${ended}`]), POLL);
    await vi.waitFor(() => expect(delivering.settled).toEqual(['pending']), POLL);
    await turns();
    time.pass(999);
    await turns();
    expect(seen).toHaveLength(2);
    time.pass(1);
    await vi.waitFor(() => expect(seen.at(2)).toBe(`request at ${ended + 1_000}`), POLL);
  });
});

test('every sequence of four failures is four attempts, no more and no fewer', async () => {
  const sequences = FAILURE_NAMES.flatMap((a) =>
    FAILURE_NAMES.flatMap((b) =>
      FAILURE_NAMES.flatMap((c) => FAILURE_NAMES.map((d) => [a, b, c, d] as const)),
    ),
  );
  expect(sequences).toHaveLength(1_296);
  // All at once, of one endpoint.
  const many = 2 * sequences.length;
  const delivering = await Delivering.begin({
    ...{ deliveriesInFlight: many, deliveriesInFlightPerOrganization: many },
    ...{ deliveriesInFlightPerEndpoint: many, failuresBeforeProbing: 10 * many, webhookConnections: many },
  });
  await delivering.install('acme', ['s1']);
  const { time, settled } = delivering;
  /** Requests without an answer. */
  const stalled = new Set<Socket>();
  const dialled = sequences.map(() => 0);
  const url = await serveTcp((socket) => {
    let head = '';
    socket
      .on('error', () => undefined)
      .on('close', () => stalled.delete(socket))
      .on('data', (chunk) => {
        head += chunk.toString('latin1');
        const [, index] = /^POST \/(\d+) /.exec(head) ?? [];
        if (index === undefined || !head.includes('\r\n\r\n') || !head.endsWith('}')) return;
        const failure = sequences[Number(index)]?.[(dialled[Number(index)] ?? 0) - 1] ?? 'timeout';
        if (failure === 'timeout') stalled.add(socket);
        else FAILURES[failure](socket);
      });
  });
  const { port } = new URL(url);
  const worker = delivering.worker({
    async lookup(host) {
      const index = Number.parseInt(host, 10);
      const failure = sequences[index]?.[dialled[index] ?? 0];
      dialled[index] = (dialled[index] ?? 0) + 1;
      return failure === 'refused' ? ['127.0.0.2'] : ['127.0.0.1'];
    },
  });
  const urls = sequences.map((_, index) => `http://${index}.example.com:${port}/${index}`);
  const ids = await delivering.accept('acme', 's1', urls);
  await worker.start();
  while (settled.filter((state) => state === 'failed').length < sequences.length) {
    // More than a thousand posts on a shared processor: only the time-out of the test bounds them.
    await vi.waitFor(() => expect(worker.inFlight).toBe(stalled.size), { interval: 5, timeout: 60_000 });
    await turns();
    time.pass(500);
  }
  await turns();
  time.pass(3_600_000);
  await turns();
  for (const [index, id] of ids.entries()) {
    const sequence = sequences[index];
    expect({ sequence, outcomes: await delivering.outcomes(id) }).toEqual({ sequence, outcomes: sequence });
    expect({ sequence, dialled: dialled[index] }).toEqual({ sequence, dialled: 4 });
    expect(await delivering.read(id)).toMatchObject({ state: 'failed', attempts: 4 });
  }
  expect(delivering.errors).toEqual([]);
});

test('a clock that was set back delays no retry', async () => {
  const delivering = await Delivering.begin();
  const { time } = delivering;
  const statuses = [500, 500, 200, 200];
  const receiver = await HttpReceiver.start(() => statuses.shift());
  await delivering.install('acme', ['s1']);
  const worker = delivering.worker();
  await worker.start();
  // Two deliveries with different due times.
  for (const failures of [1, 2]) {
    await delivering.accept('acme', 's1', [`${receiver.url}/${failures}`]);
    await vi.waitFor(() => expect(delivering.settled).toHaveLength(failures), POLL);
    time.now += 100;
  }
  await turns();
  await worker.stop(0);
  time.now -= 24 * 60 * 60 * 1_000;
  await delivering.worker().start();
  const settled = ['pending', 'pending', 'delivered', 'delivered'];
  await vi.waitFor(() => expect(delivering.settled).toEqual(settled), POLL);
});

// By the wall clock alone it would wait for a day, and so would all deliveries that back off.
test('a clock that is set back during a back-off does not delay the retry', async () => {
  const delivering = await Delivering.begin();
  const { time } = delivering;
  const statuses = [500, 500, 200];
  const receiver = await HttpReceiver.start(() => statuses.shift());
  await delivering.install('acme', ['s1']);
  await delivering.worker({ random: () => 0 }).start();
  await delivering.accept('acme', 's1', [receiver.url]);
  for (const [index, delayMs] of [1_000, 2_000].entries()) {
    await vi.waitFor(() => expect(delivering.settled).toHaveLength(index + 1), POLL);
    await turns();
    time.now -= 24 * 60 * 60 * 1_000;
    time.pass(delayMs - 1);
    await turns();
    expect(receiver.requests).toHaveLength(index + 1);
    time.pass(1);
  }
  await vi.waitFor(() => expect(delivering.settled).toEqual(['pending', 'pending', 'delivered']), POLL);
});

test('a delivery after a pause is delivered although the clock was set back since', async () => {
  const delivering = await Delivering.begin();
  const { time, store } = delivering;
  const receiver = await HttpReceiver.start();
  const installation = wholeInstallation(await delivering.install('acme', ['s1']));
  time.now += 60_000;
  await store.installations.pause(installation, OPERATOR);
  await store.installations.resume(installation, OPERATOR);
  time.now -= 30_000;
  await delivering.accept('acme', 's1', [receiver.url]);
  await delivering.worker().start();
  await vi.waitFor(() => expect(delivering.settled).toEqual(['delivered']), POLL);
  expect(receiver.requests).toHaveLength(1);
});

/** Passes the time to each of the three retries. None is attempted a millisecond early. */
async function retryThreeTimes(delivering: Delivering, id: string, times: readonly number[]): Promise<void> {
  const { time } = delivering;
  for (let attempts = 1; attempts < 4; attempts += 1) {
    await vi.waitFor(() => expect(delivering.settled).toHaveLength(attempts), POLL);
    await turns();
    const { dueAt } = await delivering.read(id);
    time.pass(dueAt - time.now - 1);
    await turns();
    expect(times).toHaveLength(attempts);
    time.pass(1);
  }
}
