/**
 * Closes the connections that were on their way to a worker when it died. `node:cluster` waits for
 * the worker's answer to each and would keep them open for ever: their clients would never get an
 * answer.
 *
 * It follows the messages of `node:cluster` itself, which are not documented. If they change, such
 * clients wait until their own time-out; a test of the supervisor shows it.
 */
import type { ChildProcess } from 'node:child_process';

/** A message of `node:cluster`: a connection that is handed on, and the answer to it. */
interface ClusterMessage {
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

/** @returns closes what the worker has not answered; for its end */
export function followHandedConnections(worker: ChildProcess): () => void {
  const unanswered = new Map<number, { close(): void }>();
  const send = worker.send.bind(worker) as (...given: unknown[]) => boolean;
  const following = (...given: unknown[]): boolean => {
    const [{ act, seq }, connection] = given as [ClusterMessage, { close(): void }];
    if (act === 'newconn' && seq !== undefined) unanswered.set(seq, connection);
    return send(...given);
  };
  worker.send = following;
  worker.on('internalMessage', ({ ack }: ClusterMessage) => {
    // Accepted, or handed to another worker.
    if (ack !== undefined) unanswered.delete(ack);
  });
  return () => {
    for (const connection of unanswered.values()) connection.close();
    unanswered.clear();
  };
}
