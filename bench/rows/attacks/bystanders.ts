/**
 * Callers of bystanders, tenants that do not attack: plain HTTP at a steady, modest rate, in a
 * process of its own.
 *
 * Each bystander has at most one call in flight. Every `LARGE_EVERY`th call carries a body too
 * large for the reserve of small ones. Every answer is checked, byte for byte.
 *
 * Run as a child: receives a `Bystanders` by message, answers each `{ take: true }` with the
 * results since the last one.
 */
import { Agent, request } from 'node:http';

/** One call in this many has a large body. */
const LARGE_EVERY = 10;
const LARGE_BYTES = 256 * 1024;
const SMALL_BYTES = 64;
/** Longer than any limit of a call: an answer that takes this long counts as a failure. */
const GIVE_UP_MS = 40_000;

export interface Bystanders {
  /** Endpoints; each answers with the length of the body it was sent. */
  readonly endpoints: readonly string[];
  readonly everyMs: number;
}

/** Results since the last `take`. */
export interface Seen {
  readonly latenciesMs: readonly number[];
  /** Wrong answers and broken connections, in words. */
  readonly failures: readonly string[];
}

let latenciesMs: number[] = [];
let failures: string[] = [];

async function callForEver(endpoint: string, everyMs: number): Promise<never> {
  // A proxy in front of the service keeps its connections; so does a bystander.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const startedAt = performance.now();
  for (let turn = 0, dueAt = startedAt; ; turn++, dueAt += everyMs) {
    const early = dueAt - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    else dueAt = performance.now();
    const bytes = turn % LARGE_EVERY === 0 ? LARGE_BYTES : SMALL_BYTES;
    const sentAt = performance.now();
    const failure = await callOnce(agent, endpoint, bytes).catch((cause: unknown) => String(cause));
    latenciesMs.push(performance.now() - sentAt);
    if (failure !== undefined) failures.push(failure);
  }
}

/** @returns the failure; undefined where the answer is right */
function callOnce(agent: Agent, endpoint: string, bytes: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const body = Buffer.alloc(bytes, 'b');
    const headers = { 'content-length': bytes, 'content-type': 'application/octet-stream' };
    const sent = request(endpoint, { agent, method: 'POST', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.once('error', reject).once('end', () => {
        const right = response.statusCode === 200 && text === `{"bytes":${bytes}}`;
        resolve(right ? undefined : `${response.statusCode} ${text.slice(0, 200)}`);
      });
    });
    sent.setTimeout(GIVE_UP_MS, () => sent.destroy(new Error('no answer in time')));
    sent.once('error', reject).end(body);
  });
}

process.on('message', (message: Bystanders | { take: true }) => {
  if ('take' in message) {
    process.send?.({ latenciesMs, failures } satisfies Seen);
    latenciesMs = [];
    failures = [];
    return;
  }
  // Spread over the period, so that bystanders do not wait for each other.
  for (const [i, endpoint] of message.endpoints.entries())
    setTimeout(
      () => void callForEver(endpoint, message.everyMs),
      (i * message.everyMs) / message.endpoints.length,
    );
});
process.once('disconnect', () => process.exit());
