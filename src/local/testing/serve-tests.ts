/**
 * Runs the service of a test kit behind two streams, which carry `test-messages.ts`. It ends with
 * the first of them, so it never outlives the process of the tests, however that ends.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type {
  OutboundAnswer,
  OutboundRequest,
  ToService,
  ToTestKit,
} from '../../../packages/testing/src/test-messages.ts';
import type { EarlyProcesses } from './early-processes.ts';
import { TestBed } from './test-bed.ts';

export interface TestStreams {
  readonly from: Readable;
  readonly to: Writable;
  readonly signal: AbortSignal;
}

export async function serveTests({ from, to, signal }: TestStreams, early: EarlyProcesses): Promise<void> {
  const send = (message: ToTestKit) => void to.write(`${JSON.stringify(message)}\n`);
  const fetches = new Fetches(send);
  // A reader that has gone is noticed by the end of the other stream.
  to.on('error', () => undefined);
  const lines = createInterface({ input: from, signal });
  const closed = once(lines, 'close');
  const bed = await TestBed.start((request) => fetches.ask(request), early);
  try {
    lines.on('line', (line) => {
      const message = JSON.parse(line) as ToService;
      if (message.kind === 'answer') return fetches.answered(message.id, message.answer);
      const { id, kind: _, ...request } = message;
      bed.do(request).then(
        (value) => send({ kind: 'result', id, value: value ?? null }),
        (cause) =>
          send({ kind: 'failure', id, message: cause instanceof Error ? cause.message : `${cause}` }),
      );
    });
    send({ kind: 'ready', controlUrl: bed.service.controlUrl, token: bed.token, limits: bed.limits });
    await closed;
  } finally {
    await bed.end();
  }
}

/** Outbound requests that the test has not answered. */
class Fetches {
  readonly #send: (message: ToTestKit) => void;
  readonly #open = new Map<number, (answer: OutboundAnswer) => void>();
  #last = 0;

  constructor(send: (message: ToTestKit) => void) {
    this.#send = send;
  }

  ask(request: OutboundRequest): Promise<OutboundAnswer> {
    this.#last += 1;
    const id = this.#last;
    const { promise, resolve } = Promise.withResolvers<OutboundAnswer>();
    this.#open.set(id, resolve);
    this.#send({ kind: 'fetch', id, request });
    return promise;
  }

  answered(id: number, answer: OutboundAnswer): void {
    this.#open.get(id)?.(answer);
    this.#open.delete(id);
  }
}
