/**
 * What `setImmediate` waits for: a message to itself. A timer of the web platform that is set by
 * another one waits for four milliseconds, and code of Node.js sets thousands in a row.
 *
 * A message ends with the call that sent it. Each has a channel of its own, so that none that was
 * lost holds up the next.
 */

/** @returns what takes the task back */
export function runSoon(task: () => void): () => void {
  const { port1, port2 } = new MessageChannel();
  port2.onmessage = () => {
    port2.close();
    task();
  };
  port1.postMessage(null);
  return () => port2.close();
}
