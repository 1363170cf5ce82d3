/**
 * How many requests of one connection are taken in one turn of the event loop.
 *
 * Attack: thousands of requests in one piece, over and over. Node's parser hands over all of a piece, and reads up to 32 pieces,
 * before anything else has a turn: one connection held up the event loop for 0.5 s at a time. A client may send requests
 * before it has answers, but none sends many. A connection with one too many is ended, and what is left of its piece costs
 * no more than its parsing: it comes to no framework and no route.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** More than clients that pipeline send ahead. */
export const REQUESTS_PER_TURN = 32;

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** Puts the bound in front of what serves the requests of this server so far. */
export function boundPipelines(server: Server): void {
  const served = server.listeners('request') as Serve[];
  const counts = new Map<object, number>();
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (counts.size === 0) setImmediate(() => counts.clear());
    const count = (counts.get(socket) ?? 0) + 1;
    counts.set(socket, count);
    if (count <= REQUESTS_PER_TURN) for (const serve of served) serve(request, response);
    else socket.destroy();
  });
}
