/** Reads HTTP answers with a Content-Length off a plain socket: as little client as there can be. */
import type { Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');

/** Tells the status of each answer once its last byte is there. */
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
