/**
 * Ends the sessions that a node left on the server when it was cut off.
 *
 * The server does not notice that a connection is dead: it keeps the session, its open transaction
 * and its locks for up to half a minute. Statements that wait for such a lock would fail long after
 * the database is back, on this node and on others. So the node ends these sessions itself, as the
 * first thing on its new connection. Their transactions have failed here and are repeated; whether
 * a commit that was on its way took effect is as unknown as without this.
 */
import type { Client } from 'pg';

/**
 * The process of a session may have ended, and another session may have its number: that one began
 * after the cut. A role may end its own sessions.
 */
const END = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where pid = any($1::int[]) and usename = current_user and datname = current_database()
    and backend_start < now() - $2 * interval '1 millisecond'`;

export class CutSessions {
  readonly #ticks: () => number;
  /** Process on the server → when its connection was cut, by the monotonic clock. */
  readonly #cutAt = new Map<number, number>();

  /** @param ticks monotonic clock, in milliseconds */
  constructor(ticks: () => number) {
    this.#ticks = ticks;
  }

  /** The connection of this client has been cut. */
  add(client: object): void {
    const { processID } = client as { readonly processID?: unknown };
    if (typeof processID !== 'number' || this.#cutAt.has(processID)) return;
    this.#cutAt.set(processID, this.#ticks());
  }

  /** Ends them, over a new connection. Never rejects: the server ends what is left in its time. */
  async end(client: Pick<Client, 'query'>): Promise<void> {
    if (this.#cutAt.size === 0) return;
    const processes = [...this.#cutAt.keys()];
    const sinceMs = this.#ticks() - Math.min(...this.#cutAt.values());
    const ended = await client.query(END, [processes, sinceMs]).catch(() => undefined);
    // The connection was lost again: the next one ends them.
    if (ended !== undefined) for (const process of processes) this.#cutAt.delete(process);
  }
}
