/**
 * Attacks by strangers on the public listener: raw sockets, no token. Each resolves when it was
 * stopped and its connections are closed.
 */
import { connect, type Socket } from 'node:net';

/** Of attackers alone, so that limits per address do not refuse the bystanders. */
export const ATTACKER = '127.0.0.2';

/** The service under attack, as sent to a child process. */
export interface Victim {
  readonly control: string;
  readonly adminToken: string;
  /** Endpoint of a bystander, which strangers attack. */
  readonly bystander: string;
}

/** Below the limit on the head of a request. */
const BLANKS = 15_000;
const MIB = 1024 * 1024;
/** The kernel buffers a part of an answer that its client does not read. */
const UNREAD_CONNECTIONS = 40;

/** An attack that runs until it is stopped. */
export type Stranger = (victim: Victim, stop: AbortSignal) => Promise<void>;

const address = (victim: Victim) => {
  const url = new URL(victim.bystander);
  return { port: Number(url.port), host: url.host, path: url.pathname };
};

/** One connection after another, each driven by `use` until it closes or the attack is stopped. */
async function connections(
  victim: Victim,
  stop: AbortSignal,
  count: number,
  use: (socket: Socket, every: (ms: number, work: () => void) => void) => void,
): Promise<void> {
  const one = async () => {
    while (!stop.aborted) {
      const socket = connect({ port: address(victim).port, host: '127.0.0.1', localAddress: ATTACKER });
      const timers: NodeJS.Timeout[] = [];
      const closed = new Promise((resolve) => socket.once('close', resolve));
      const end = () => void socket.destroy();
      stop.addEventListener('abort', end);
      socket.on('error', () => undefined);
      socket.once('connect', () =>
        use(socket, (ms, work) => timers.push(setInterval(() => socket.writable && work(), ms))),
      );
      await closed;
      for (const timer of timers) clearInterval(timer);
      stop.removeEventListener('abort', end);
      // A refused attacker tries again, as fast as a distant client can connect.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.all(Array.from({ length: count }, one));
}

const head = (victim: Victim, method: string, headers: string): string => {
  const { host, path } = address(victim);
  return `${method} ${path}/ HTTP/1.1\r\nhost: ${host}\r\n${headers}\r\n`;
};

/** A `Connection` header that takes a careless pattern quadratic time. */
const backtrackingHeader: Stranger = (victim, stop) =>
  connections(victim, stop, 4, (socket, every) => {
    const text = head(victim, 'GET', `connection: x${' '.repeat(BLANKS)}y\r\n`);
    socket.resume();
    every(100, () => socket.write(text));
  });

/** Bodies in chunks of one byte: a megabyte of body in a second. */
const tinyChunks: Stranger = (victim, stop) =>
  connections(victim, stop, 8, (socket, every) => {
    socket.resume();
    socket.write(head(victim, 'POST', 'transfer-encoding: chunked\r\n'));
    const piece = '1\r\nx\r\n'.repeat(4_096);
    every(30, () => {
      if (socket.writableLength < MIB) socket.write(piece);
    });
  });

/** Uploads just fast enough to be allowed, to hold every place of one endpoint. */
const slowUploads: Stranger = (victim, stop) =>
  connections(victim, stop, 40, (socket, every) => {
    socket.resume();
    socket.write(head(victim, 'POST', 'transfer-encoding: chunked\r\n'));
    const piece = `bb8\r\n${'x'.repeat(3_000)}\r\n`;
    every(1_000, () => socket.write(piece));
  });

/** Envelopes with a forged signature whose last byte is never sent. */
const unfinishedEnvelopes: Stranger = (victim, stop) =>
  connections(victim, stop, 24, (socket, every) => {
    const { host, path } = address(victim);
    const bytes = 11 * MIB;
    const signature = `t=${Math.floor(Date.now() / 1_000)},v1=${'a'.repeat(64)}`;
    socket.resume();
    socket.write(
      `POST ${path}/v1 HTTP/1.1\r\nhost: ${host}\r\ncontent-type: multipart/form-data; boundary=b\r\nx-platform-signature: ${signature}\r\ncontent-length: ${bytes}\r\n\r\n`,
    );
    const piece = Buffer.alloc(512 * 1024, 'x');
    let left = bytes - 1;
    every(20, () => {
      if (left <= 0 || socket.writableLength > 0) return;
      const now = piece.subarray(0, Math.min(left, piece.length));
      left -= now.length;
      socket.write(now);
    });
  });

/** Requests answers of megabytes and never reads them. */
export function unreadAnswers(endpoints: readonly string[]): Stranger {
  return (victim, stop) =>
    Promise.all(
      endpoints.map((bystander) =>
        connections({ ...victim, bystander }, stop, UNREAD_CONNECTIONS, (socket) => {
          socket.pause();
          socket.write(head({ ...victim, bystander }, 'GET', ''));
        }),
      ),
    ).then(() => undefined);
}

export const STRANGERS: Readonly<Record<string, Stranger>> = {
  'backtracking header': backtrackingHeader,
  'tiny chunks': tinyChunks,
  'slow uploads': slowUploads,
  'unfinished envelopes': unfinishedEnvelopes,
};
