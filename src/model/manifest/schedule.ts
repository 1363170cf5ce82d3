/**
 * `schedules` of a manifest (docs/contract/schedules.md): when the service queues a task by itself.
 *
 * `croner` reads the cron and knows time zones. What it is given is narrowed first: five fields of
 * plain cron, and a time zone by its name.
 */
import { hash } from 'node:crypto';
import { Cron } from 'croner';
import { unpassable } from '../canonical-json.ts';
import { byDefault, checked, choice, type Field, maps, optional, type ReadOf, text } from './field.ts';

/**
 * Entries that are read. Attack: a manifest with thousands of them, of which each costs a
 * search for its next time. The limit `schedulesPerManifest` is below.
 */
export const SCHEDULES_READ = 100;
const CRON_CHARS_MAX = 100;
const TIMEZONE_CHARS_MAX = 64;
const TASK_BYTES_MAX = 4 * 1024;
const MINUTE_MS = 60_000;

/**
 * Five fields of numbers, names, `*`, `,`, `-` and `/`. The library reads more: `@daily`, seconds,
 * a time that comes once, and characters that other programs do not know.
 */
const CRON = /^[0-9A-Za-z*,/-]+( [0-9A-Za-z*,/-]+){4}$/;
/** Letters are in names alone: of months and of weekdays. */
const NAMES = /[A-Za-z]+/g;
const NAME = /^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)$/i;
/** `Europe/Berlin` or `UTC`, and no offset such as `+02:00`. */
const TIMEZONE = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;
const SCHEDULE_ID = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const LEVEL_MEANINGS = {
  installation: 'Runs for each active installation.',
  integration: 'Runs once, at the own endpoint of the integration.',
} as const;

const CATCH_UP_MEANINGS = {
  one: 'Runs that were missed are made up by one.',
  none: 'Runs that were missed are left out.',
} as const;

/** Any JSON value. */
const TASK: Field<unknown> = {
  schema: { description: 'The task that the code gets: any JSON value; {} if absent.' },
  read(fields, key) {
    const task = fields.raw(key);
    const unfit = unpassable(task);
    if (unfit !== undefined) return fields.error(key, `${fields.nameOf(key)} ${unfit}.`);
    const bytes = Buffer.byteLength(JSON.stringify(task));
    if (bytes <= TASK_BYTES_MAX) return task;
    return fields.error(
      key,
      `${fields.nameOf(key)} has ${bytes} bytes; at most ${TASK_BYTES_MAX} are allowed.`,
    );
  },
};

const SCHEDULE = {
  id: optional(
    text('Its name, by which it is shown and run; if absent, its number in the list.', {
      pattern: SCHEDULE_ID,
      wanted: 'lower-case letters, digits and hyphens, at most 63 characters',
    }),
  ),
  cron: text('When it runs: minute, hour, day of the month, month, weekday.', {
    charsMax: CRON_CHARS_MAX,
    fault: cronFault,
    hint: "Write five fields: '0 9 * * 1-5' is 09:00 from Monday to Friday.",
  }),
  timezone: byDefault(
    text('The IANA name of the time zone in which the cron is read.', {
      charsMax: TIMEZONE_CHARS_MAX,
      fault: timezoneFault,
      hint: 'Write a name such as Europe/Berlin.',
    }),
    'UTC',
  ),
  task: byDefault(TASK, {}),
  level: byDefault(choice(LEVEL_MEANINGS, 'For whom it runs.'), 'installation' as const),
  catchUp: byDefault(choice(CATCH_UP_MEANINGS, 'What becomes of runs that were missed.'), 'one' as const),
};

type Written = ReadOf<typeof SCHEDULE>;

/** A schedule of a manifest. */
export type Schedule = Written & { readonly id: string };

/** Schedules with their ids. */
export const SCHEDULES: Field<readonly Schedule[]> = withIds(
  checked(
    maps(SCHEDULE, {
      item: 'When the service queues a task.',
      description: 'Tasks that the service queues by itself, at times that recur.',
      max: SCHEDULES_READ,
    }),
    (schedules, fields, key) => {
      const seen = new Set<string>();
      for (const [index, { id }] of withNumbers(schedules).entries()) {
        if (seen.has(id)) fields.error([key, index, 'id'], `The id "${id}" is that of another schedule.`);
        seen.add(id);
      }
      return undefined;
    },
  ),
);

function withIds(field: Field<readonly Written[]>): Field<readonly Schedule[]> {
  const { schema } = field;
  return {
    schema,
    empty: [],
    read(fields, key) {
      const read = field.read(fields, key);
      return read && withNumbers(read);
    },
  };
}

const withNumbers = (schedules: readonly Written[]): readonly Schedule[] =>
  schedules.map((schedule, index) => ({ ...schedule, id: schedule.id ?? `${index + 1}` }));

/** The schedules of a level; none where the manifest has no schedules. */
export const schedulesAt = (
  { schedules = [] }: { readonly schedules?: readonly Schedule[] },
  level: Schedule['level'],
): readonly Schedule[] => schedules.filter((schedule) => schedule.level === level);

/** What decides when a schedule runs: its times begin anew when this changes. */
export const timing = ({ cron, timezone }: Schedule): string => JSON.stringify([cron, timezone]);

/**
 * How long after its minute has begun a schedule runs at an endpoint: always the same for the two,
 * and even over all endpoints. Attack, or success: ten thousand installations at 09:00.
 */
export function spreadMs(endpointKey: string, id: string): number {
  const digest = hash('sha256', `${endpointKey}/${id}`, 'buffer');
  return digest.readUInt32BE(0) % MINUTE_MS;
}

/** A run to come. */
export interface ScheduledRun {
  /** The minute that the cron names. */
  readonly at: number;
  /** When it begins. */
  readonly dueAt: number;
}

/**
 * The first run that begins after a time, in milliseconds since 1970; undefined if there is none.
 * Of ten thousand endpoints that ask for the same minute, the first one searches.
 */
export function nextRun(schedule: Schedule, endpointKey: string, after: number): ScheduledRun | undefined {
  const spread = spreadMs(endpointKey, schedule.id);
  const at = minuteAfter(schedule, after - spread);
  return at === undefined ? undefined : { at, dueAt: at + spread };
}

interface Searched {
  readonly cron: Cron;
  /** The last search: from a time, and what it found. */
  from: number;
  found: number | undefined;
}

/** Searches by cron and time zone. */
const SEARCHED = new Map<string, Searched>();
const SEARCHED_MAX = 1_000;

function minuteAfter(schedule: Schedule, time: number): number | undefined {
  const key = timing(schedule);
  let searched = SEARCHED.get(key);
  if (searched === undefined) {
    const cron = cronOf(schedule.cron, schedule.timezone);
    searched = { cron, from: Number.POSITIVE_INFINITY, found: undefined };
    if (SEARCHED.size >= SEARCHED_MAX) SEARCHED.clear();
    SEARCHED.set(key, searched);
  }
  const { cron, from, found } = searched;
  if (from <= time && found !== undefined && time < found) return found;
  searched.from = time;
  searched.found = cron.nextRun(new Date(time))?.getTime();
  return searched.found;
}

const cronOf = (cron: string, timezone: string): Cron =>
  new Cron(cron, { timezone, mode: '5-part', paused: true });

/** Any time, for the question whether a cron ever comes. */
const SOME_TIME = new Date(Date.UTC(2026, 0, 1));

/** @returns a clause that follows the member's name */
function cronFault(cron: string): string | undefined {
  if (!CRON.test(cron)) return 'must be a cron of five fields';
  if (cron.match(NAMES)?.some((name) => !NAME.test(name)))
    return 'must be a cron with names of months or weekdays such as "jan" and "mon"';
  try {
    if (cronOf(cron, 'UTC').nextRun(SOME_TIME) !== null) return undefined;
  } catch {
    return 'must be a cron of five fields';
  }
  return 'must be a cron whose time comes';
}

/** @returns a clause that follows the member's name */
function timezoneFault(timezone: string): string | undefined {
  if (TIMEZONE.test(timezone)) {
    try {
      new Intl.DateTimeFormat('en', { timeZone: timezone });
      return undefined;
    } catch {
      // It is not known.
    }
  }
  return 'must be the IANA name of a time zone';
}
