/**
 * Bounds the requests that one connection may start in one turn of the event loop.
 *
 * Attack: thousands of pipelined requests in one segment, over and over. Node's parser emits every
 * request of a segment, and reads up to 32 segments, before anything else runs: one connection
 * blocked the event loop for 0.5 s at a time. Clients may pipeline requests, but no real client
 * sends many. A connection that exceeds the bound is closed; the rest of its segment costs only its
 * parsing and reaches neither the framework nor a route.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';

/** More than real clients pipeline. */
export const REQUESTS_PER_TURN = 32;

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** The turn in which a connection last started a request, and how many it started in it. */
interface Pipeline {
  turn: number;
  started: number;
}

/** Puts the bound in front of the request listeners that the server has now. */
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
