/**
 * A webhook receiver that checks signatures, and keeps a ledger of every delivery it receives. It
 * is a process of its own, over plain sockets, so that it takes little of the cores from the
 * service that it measures.
 *
 * Paths: `/r/…` is answered 200; `/hang/…` is never answered. Every request has to have a
 * `content-length`.
 *
 * Runs as a child of `ledger-receiver.ts`, which defines the messages between the two.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { verifySignature } from '../../../src/model/signature.ts';
import {
  END_OF_HOST,
  encodedAt,
  type FromReceiver,
  type Latencies,
  type LedgerEntry,
  type ToReceiver,
} from './ledger-receiver.ts';

const HEAD_END = Buffer.from('\r\n\r\n');
const EMPTY = Buffer.alloc(0);
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';
const UNAUTHORIZED = 'HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n';

const secrets = new Map<string, readonly string[]>();
const ledger = new Map<string, LedgerEntry & { lives: number[] }>();
let latencies: Float64Array[] = [];
let latencyCount = 0;
let settings: ToReceiver & { kind: 'settings' } = {
  kind: 'settings',
  verifyEvery: 1,
  keepsLedger: true,
  answerWithinMs: 0,
};
let received = 0;
let badSignatures = 0;
let hanging = 0;
let life = 0;

const header = (head: string, name: string): string | undefined => {
  const at = head.indexOf(`\r\n${name}: `);
  return at === -1 ? undefined : head.slice(at + name.length + 4, head.indexOf('\r\n', at + 2));
};

const server = createServer((socket) => {
  socket.setNoDelay(true).on('error', () => undefined);
  // A connection belongs to the life in which it was accepted, whenever its bytes are read.
  const bornIn = life;
  let held: Buffer = EMPTY;
  socket.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (held.length > 0) {
      const headEnd = held.indexOf(HEAD_END);
      if (headEnd === -1) return;
      const head = held.toString('latin1', 0, headEnd + 2).replace(/^[\w-]+(?=:)/gm, lower);
      const bodyAt = headEnd + HEAD_END.length;
      const end = bodyAt + Number(header(head, 'content-length'));
      if (held.length < end) return;
      take(socket, head, held.subarray(bodyAt, end), bornIn);
      held = end === held.length ? EMPTY : held.subarray(end);
    }
  });
});

const lower = (name: string): string => name.toLowerCase();

function take(socket: Socket, head: string, body: Buffer, bornIn: number): void {
  const path = head.slice(5, head.indexOf(' ', 5));
  if (path === END_OF_HOST) {
    life += 1;
    socket.end(OK);
    return;
  }
  if (path.startsWith('/hang/')) {
    hanging += 1;
    return;
  }
  received += 1;
  if (received % settings.verifyEvery === 0 && !isSigned(head, path, body)) {
    badSignatures += 1;
    socket.write(UNAUTHORIZED);
    return;
  }
  const eventId = eventIdOf(body);
  measure(eventId);
  if (settings.keepsLedger) note(header(head, 'x-platform-delivery') ?? '', eventId, path, bornIn);
  const { answerWithinMs } = settings;
  if (answerWithinMs === 0) socket.write(OK);
  else setTimeout(() => socket.write(OK), Math.random() * answerWithinMs);
}

const isSigned = (head: string, path: string, body: Buffer): boolean =>
  verifySignature(header(head, 'x-platform-signature'), body, secrets.get(path) ?? secrets.get('*') ?? []);

/** Finds the id without parsing a body of known shape. */
function eventIdOf(body: Buffer): string {
  const from = body.indexOf('"eventId":"') + 11;
  return body.toString('latin1', from, body.indexOf('"', from));
}

function note(deliveryId: string, eventId: string, path: string, bornIn: number): void {
  const entry = ledger.get(deliveryId);
  if (entry === undefined) ledger.set(deliveryId, { deliveryId, eventId, path, lives: [bornIn] });
  else entry.lives.push(bornIn);
}

const CHUNK = 65_536;

function measure(eventId: string): void {
  const sentAt = encodedAt(eventId);
  if (sentAt === undefined) return;
  if (latencyCount % CHUNK === 0) latencies.push(new Float64Array(CHUNK));
  const chunk = latencies.at(-1);
  if (chunk !== undefined) chunk[latencyCount % CHUNK] = Number(process.hrtime.bigint() / 1_000n) - sentAt;
  latencyCount += 1;
}

/** Latencies so far, which are reset. */
function takeLatencies(): Latencies {
  const all = new Float64Array(latencyCount);
  for (const [index, chunk] of latencies.entries())
    all.set(chunk.subarray(0, Math.min(CHUNK, latencyCount - index * CHUNK)), index * CHUNK);
  latencies = [];
  latencyCount = 0;
  all.sort();
  const at = (share: number) => (all[Math.floor(all.length * share)] ?? Number.NaN) / 1_000;
  return {
    count: all.length,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    max: (all.at(-1) ?? Number.NaN) / 1_000,
  };
}

const send = (message: FromReceiver) => process.send?.(message);

process.on('message', (message: ToReceiver) => {
  switch (message.kind) {
    case 'settings':
      settings = message;
      for (const [path, of] of Object.entries(message.secrets ?? {})) secrets.set(path, of);
      return send({ kind: 'done' });
    case 'progress':
      return send({ kind: 'progress', received, badSignatures, hanging });
    case 'latencies':
      return send({ kind: 'latencies', latencies: takeLatencies() });
    case 'ledger':
      return send({ kind: 'ledger', entries: [...ledger.values()] });
  }
});
process.once('disconnect', () => process.exit(0));

server.listen(0, '127.0.0.1', () => {
  send({ kind: 'listening', port: (server.address() as AddressInfo).port });
});
