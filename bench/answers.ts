/** Minimal HTTP client: reads answers with a Content-Length from a plain socket. */
import type { Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');

/** Calls `answered` with the status of each answer when its last byte has arrived. */
export function onAnswers(socket: Socket, answered: (status: string) => void): void {
  let held: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const headEnd = held.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const head = held.toString('latin1', 0, headEnd);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (held.length < headEnd + HEAD_END.length + length) return;
    held = Buffer.alloc(0);
    answered(head.slice(9, 12));
  });
}
