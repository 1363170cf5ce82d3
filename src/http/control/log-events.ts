/**
 * The lines of a log as server-sent events: what they are read from, and their text, which is made
 * once, and held in memory once, for all followers of a log.
 */
import { LOG_LEVELS, type LogLevel } from '../../protocol/wire.ts';
import type { Logs, StoredLine } from '../../store/logs.ts';
import type { Source } from './following/event-stream.ts';
import { type LineOf, lineView } from './log-line-view.ts';

/** Lines of one read of the store. */
const LINES_PER_READ = 200;
/** Estimated text of a line beside what the code has logged. */
const LINE_BASE_BYTES = 256;
/** The shape of a line's `id`. */
export const LINE_ID = /^[0-9a-f]{12}-[0-9a-f]{12}-[A-Za-z0-9_-]{8}$/;

export interface FollowedLog {
  readonly tenant: string;
  /** What the lines of this tenant are shown to belong to. */
  readonly of: LineOf;
  /** This level and those above it. */
  readonly level?: LogLevel | undefined;
}

export function logEvents(
  logs: Pick<Logs, 'follow' | 'since' | 'list'>,
  { tenant, of, level }: FollowedLog,
): Source<StoredLine> {
  const rank = level === undefined ? 0 : LOG_LEVELS.indexOf(level);
  return {
    follow: (written) => logs.follow(tenant, written),
    async newest(count) {
      const { items } = await logs.list({ tenant, level, limit: count });
      return items.toReversed();
    },
    async *after(id) {
      for (let last = id; ; ) {
        const { lines, isWhole } = await logs.since({ tenant, level, after: last, limit: LINES_PER_READ });
        yield { items: lines, isWhole };
        last = lines.at(-1)?.id ?? last;
        if (lines.length < LINES_PER_READ) return;
      }
    },
    bytesOf: ({ text }) => LINE_BASE_BYTES + text.length,
    textOf: (lines) => textOf(lines, rank, of),
  };
}

/** Of each batch, its text by lowest level. */
const TEXTS = new WeakMap<readonly StoredLine[], Map<number, Buffer>>();

function textOf(lines: readonly StoredLine[], rank: number, of: LineOf): Buffer {
  const texts = TEXTS.get(lines) ?? new Map<number, Buffer>();
  TEXTS.set(lines, texts);
  const text = texts.get(rank) ?? Buffer.from(lines.filter(isAtLeast(rank)).map(eventOf(of)).join(''));
  texts.set(rank, text);
  return text;
}

const isAtLeast =
  (rank: number) =>
  ({ level }: StoredLine): boolean =>
    LOG_LEVELS.indexOf(level) >= rank;

// Attack: a line with line breaks that forges events. JSON has none.
const eventOf =
  (of: LineOf) =>
  (line: StoredLine): string =>
    `id: ${line.id}\ndata: ${JSON.stringify(lineView(line, of))}\n\n`;
