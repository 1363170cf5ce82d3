/**
 * Ends the sessions of a node's pool that were left on the server when the node was cut off.
 *
 * The server does not notice that a connection is dead: it keeps the session, its open transaction
 * and its locks for up to half a minute. Statements that wait for such a lock would fail long after
 * the database is back, on this node and on others. So the node ends these sessions itself, before
 * it sends any other work. Their transactions have failed here and are repeated; whether a commit
 * that was on its way took effect is as unknown as without this.
 */
import { type Client, DatabaseError } from 'pg';

/**
 * Attack, or a bad day: a server that was restarted, or another one that took over, gives the
 * number of a process to a session of another node. So a session is ended only if it also began
 * when the lost one did. A role may end its own sessions, and no other's.
 */
const END = `
  select pg_terminate_backend(session.pid)
  from unnest($1::int[], $2::float8[]) as cut (pid, age_ms)
  join pg_stat_activity as session on session.pid = cut.pid
  where session.usename = session_user and session.datname = current_database()
    and session.backend_start between now() - (cut.age_ms + $3) * interval '1 millisecond'
      and now() - cut.age_ms * interval '1 millisecond'`;
/** From the begin of a session to its first statement: longer than any attempt to connect. */
const CONNECTING_MS = 10_000;

export class CutSessions {
  readonly #ticks: () => number;
  /** Process on the server → when its session had begun, by the monotonic clock. */
  readonly #begunAt = new Map<number, number>();
  #hasFailed = false;

  /** @param ticks monotonic clock, in milliseconds */
  constructor(ticks: () => number) {
    this.#ticks = ticks;
  }

  /** The connection of this client has been cut. @param begunAt when it was connected */
  add(client: object, begunAt: number): void {
    const { processID } = client as { readonly processID?: unknown };
    if (typeof processID === 'number') this.#begunAt.set(processID, begunAt);
  }

  /** Ends them, over a new connection. Never rejects: the server ends what is left in its time. */
  async end(client: Pick<Client, 'query'>): Promise<void> {
    if (this.#begunAt.size === 0) return;
    const now = this.#ticks();
    const ages = [...this.#begunAt.values()].map((begunAt) => now - begunAt);
    try {
      await client.query(END, [[...this.#begunAt.keys()], ages, CONNECTING_MS]);
    } catch (cause) {
      // A connection that is lost again: the next one ends them. A server that refuses, or that
      // never answers this, must not keep the node away.
      this.#hasFailed = !(cause instanceof DatabaseError) && !this.#hasFailed;
      if (this.#hasFailed) return;
    }
    this.#hasFailed = false;
    this.#begunAt.clear();
  }
}
