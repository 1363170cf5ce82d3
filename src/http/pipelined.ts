/**
 * Bounds the requests that one connection may start in one turn of the event loop.
 *
 * Attack: thousands of pipelined requests in one segment, over and over. Node's parser hands over every request of a segment, and
 * reads up to 32 segments, before anything else runs: one connection held up the event loop for 0.5 s at a time. A client may
 * send requests before it has answers, but no real client sends many. A connection with one request too many is closed; the rest
 * of its segment costs no more than its parsing and reaches neither the framework nor a route.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** More than clients that pipeline send ahead. */
export const REQUESTS_PER_TURN = 32;

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** The requests that a connection has started in the turn in which it last started one. */
interface Pipeline {
  turn: number;
  started: number;
}

/** Puts the bound in front of the server's present request listeners. */
export function boundPipelines(server: Server): void {
  const served = server.listeners('request') as Serve[];
  const pipelines = new WeakMap<object, Pipeline>();
  let turn = 0;
  let isTurnEnding = false;
  const endTurn = (): void => {
    turn += 1;
    isTurnEnding = false;
  };
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!isTurnEnding) {
      isTurnEnding = true;
      setImmediate(endTurn);
    }
    const { socket } = request;
    let pipeline = pipelines.get(socket);
    if (pipeline === undefined) {
      pipeline = { turn, started: 0 };
      pipelines.set(socket, pipeline);
    }
    if (pipeline.turn !== turn) {
      pipeline.turn = turn;
      pipeline.started = 0;
    }
    pipeline.started += 1;
    if (pipeline.started <= REQUESTS_PER_TURN) for (const serve of served) serve(request, response);
    else socket.destroy();
  });
}
