/**
 * What the service did in each minute of the last day: calls and how long they took, deliveries,
 * and what was waiting. The charts of the console need no other system.
 *
 * Each node counts in memory and writes one row a minute, of its own; a row of a minute is added up
 * from the rows of all nodes. A day is kept, so the table is bounded: 1,440 rows for each node. A
 * minute without a row is one in which no node ran.
 */
import type { RandomBytes } from '../../model/identifiers.ts';
import type { ActivityRow, Database, DeliveryState } from '../database/tables.ts';
import type { Backlog } from './deliveries/backlog.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Of a point of a chart. */
export const STEP_MS = 5 * MINUTE_MS;

/** Buckets of wall times for each doubling: a quantile is at most a fifth too high. */
const PER_DOUBLING = 4;
/** The last bucket ends at 65 seconds, and takes what is longer. */
const BUCKETS = 16 * PER_DOUBLING + 1;

/** What is read when a row is written. */
export interface Gauges {
  readonly cells: number;
  readonly cellBytes: number;
  /** Installations that are suspected or in quarantine. */
  readonly contained: number;
}

export interface ActivityPoint extends Gauges {
  /** Its beginning, in milliseconds since 1970. */
  readonly at: number;
  readonly calls: number;
  /** Of them, those that ended in another outcome than `ok`. */
  readonly errors: number;
  /** Of the wall times of calls; absent without calls. */
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly delivered: number;
  readonly failed: number;
  readonly waiting: number;
}

export interface ActivityDeps {
  readonly database: Database;
  readonly backlog: Pick<Backlog, 'waiting'>;
  /** Milliseconds since 1970. */
  readonly wallNow: () => number;
  readonly randomBytes: RandomBytes;
}

type Counts = Pick<ActivityRow, 'calls' | 'errors' | 'delivered' | 'failed'>;
const COUNTS = ['calls', 'errors', 'delivered', 'failed'] as const;
const NONE: Readonly<Counts> = { calls: 0, errors: 0, delivered: 0, failed: 0 };

export class Activity {
  readonly #deps: ActivityDeps;
  /** Of this start of this node: another start writes rows of its own. */
  readonly #node: string;
  #minute: number;
  #counts = { ...NONE };
  #walls = new Uint32Array(BUCKETS);
  #gauges = (): Gauges => ({ cells: 0, cellBytes: 0, contained: 0 });

  constructor(deps: ActivityDeps) {
    this.#deps = deps;
    this.#node = Buffer.from(deps.randomBytes(6)).toString('hex');
    this.#minute = minuteOf(deps.wallNow());
  }

  /** @param gauges read whenever a row is written */
  watch(gauges: () => Gauges): void {
    this.#gauges = gauges;
  }

  /** A call has ended. It is on the way of every call: nothing but counts in memory. */
  call(isOk: boolean, wallMs: number): void {
    this.#counts.calls += 1;
    if (!isOk) this.#counts.errors += 1;
    const bucket = bucketOf(wallMs);
    this.#walls[bucket] = (this.#walls[bucket] ?? 0) + 1;
  }

  /** A delivery was settled; a retry counts as neither. */
  delivery(state: DeliveryState): void {
    if (state === 'delivered' || state === 'failed') this.#counts[state] += 1;
  }

  /** Writes the row of the minute, or writes it again with what was counted since. */
  async write(): Promise<void> {
    const { database, wallNow } = this.#deps;
    const row = this.#row();
    const now = minuteOf(wallNow());
    if (now !== this.#minute) {
      this.#minute = now;
      this.#counts = { ...NONE };
      this.#walls = new Uint32Array(BUCKETS);
    }
    await database
      .insertInto('activity')
      .values(row)
      .onConflict((conflict) => conflict.columns(['minute', 'node']).doUpdateSet(row))
      .execute();
  }

  /**
   * Writes what was counted, at a stop. Nothing is written where nothing was: the last write of a
   * stop stays in the log as long as another program reads the database.
   */
  async finish(): Promise<void> {
    if (Object.values(this.#counts).some((count) => count > 0)) await this.write();
  }

  /** The last day in steps, oldest first; with what this node has not written yet. */
  async read(): Promise<ActivityPoint[]> {
    const { database, wallNow } = this.#deps;
    const rows = await database
      .selectFrom('activity')
      .selectAll()
      .where('minute', '>', wallNow() - DAY_MS)
      .orderBy('minute')
      .execute();
    const own = this.#row();
    const isOwn = ({ minute, node }: ActivityRow) => minute === own.minute && node === own.node;
    return pointsOf([...rows.filter((row) => !isOwn(row)), own]);
  }

  /** Removes what is older than a day. */
  async prune(): Promise<void> {
    const { database, wallNow } = this.#deps;
    await database
      .deleteFrom('activity')
      .where('minute', '<=', wallNow() - DAY_MS)
      .execute();
  }

  #row(): ActivityRow {
    const { cells, cellBytes, contained } = this.#gauges();
    return {
      ...{ minute: this.#minute, node: this.#node, ...this.#counts },
      ...{ walls: wallsText(this.#walls), waiting: this.#deps.backlog.waiting },
      ...{ cells, cell_bytes: cellBytes, contained },
    };
  }
}

const minuteOf = (ms: number): number => Math.floor(ms / MINUTE_MS) * MINUTE_MS;

const bucketOf = (wallMs: number): number =>
  wallMs <= 1 ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log2(wallMs) * PER_DOUBLING));

/** The buckets that have any, as `bucket:count`. */
const wallsText = (walls: Uint32Array): string =>
  Array.from(walls, (count, bucket) => (count === 0 ? '' : `${bucket}:${count}`))
    .filter(Boolean)
    .join(' ');

interface Step {
  readonly counts: Counts;
  readonly walls: Float64Array;
  readonly minutes: Map<number, Gauges & { waiting: number }>;
}

function pointsOf(rows: readonly ActivityRow[]): ActivityPoint[] {
  const steps = new Map<number, Step>();
  for (const row of rows) {
    const at = Math.floor(row.minute / STEP_MS) * STEP_MS;
    const step = steps.get(at) ?? {
      counts: { ...NONE },
      walls: new Float64Array(BUCKETS),
      minutes: new Map(),
    };
    steps.set(at, step);
    for (const name of COUNTS) step.counts[name] += row[name];
    for (const [, bucket, count] of row.walls.matchAll(/\b(\d{1,2}):(\d{1,10})/g))
      if (Number(bucket) < BUCKETS)
        step.walls[Number(bucket)] = (step.walls[Number(bucket)] ?? 0) + Number(count);
    const before = step.minutes.get(row.minute);
    // Nodes have cells of their own, and one database.
    step.minutes.set(row.minute, {
      cells: row.cells + (before?.cells ?? 0),
      cellBytes: row.cell_bytes + (before?.cellBytes ?? 0),
      contained: row.contained + (before?.contained ?? 0),
      waiting: Math.max(row.waiting, before?.waiting ?? 0),
    });
  }
  return Array.from(steps, ([at, { counts, walls, minutes }]) => {
    const most = (name: keyof Gauges | 'waiting') =>
      Math.max(...Array.from(minutes.values(), (gauges) => gauges[name]));
    const [p50Ms, p99Ms] = [quantile(walls, 0.5), quantile(walls, 0.99)];
    return {
      ...{ at, ...counts, waiting: most('waiting') },
      ...{ cells: most('cells'), cellBytes: most('cellBytes'), contained: most('contained') },
      ...(p50Ms !== undefined && { p50Ms }),
      ...(p99Ms !== undefined && { p99Ms }),
    };
  }).sort((one, other) => one.at - other.at);
}

/** The upper end of the bucket in which it is. */
function quantile(walls: Float64Array, share: number): number | undefined {
  const total = walls.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let below = 0;
  const bucket = walls.findIndex((count) => {
    below += count;
    return below >= total * share;
  });
  return Math.round(2 ** (bucket / PER_DOUBLING) * 10) / 10;
}
