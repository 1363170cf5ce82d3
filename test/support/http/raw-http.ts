/**
 * Hand-written HTTP: raw bytes, for requests that no client sends.
 */
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface RawConnection {
  readonly socket: Socket;
  /** Bytes received so far. */
  seen(): string;
  /** All bytes received, after the other side has ended the connection. */
  readonly closed: Promise<string>;
}

/** @param url of the listener; only its port is used */
export async function dial(url: string): Promise<RawConnection> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk) => (text += chunk));
  socket.on('error', () => undefined);
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  return { socket, seen: () => text, closed };
}

/** Writes `bytes` and reads until the connection ends. */
export async function exchange(url: string, bytes: string): Promise<string> {
  const { socket, closed } = await dial(url);
  socket.write(bytes, 'latin1');
  return closed;
}

/** Status lines in the received bytes. */
export const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** The error of the host's own answer. */
export function errorOf(text: string): { code: string; message: string; requestId: string } {
  const [, body = ''] = text.split('\r\n\r\n');
  return (JSON.parse(body) as { error: { code: string; message: string; requestId: string } }).error;
}
