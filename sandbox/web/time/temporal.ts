/**
 * `Temporal` (https://tc39.es/proposal-temporal/) with a `Temporal.Now` in whole milliseconds, like
 * every clock of an isolate (`clock.ts`).
 *
 * Attack: measuring caches and other tenants by the nanoseconds of the engine's `Temporal.Now`. The
 * engine makes its Temporal, of 170 KB, at the first read of the global; this module does the same.
 * `globals.ts` has deleted the global of the engine before any code could read it. That global was
 * the only access to the `Temporal.Now` of the engine; this module gets the classes from a `Date`
 * object. A tenant may have replaced the methods that it calls for that; none of them returns a
 * clock.
 */
import { wrapMethod } from '../memory/memory-refusals.ts';
import { ballast, carriedBy, carryInHeap } from '../memory/native-memory-accounting.ts';
import {
  apply,
  construct,
  defineProperty,
  now,
  objectKeys,
  ownKeys,
  toTemporalInstant,
} from '../primordials.ts';

type Zone = string | undefined;

const epoch = toTemporalInstant(new Date(0));
const Instant = epoch.constructor as typeof globalThis.Temporal.Instant;
const zoned = epoch.toZonedDateTimeISO('UTC');
const dateTime = zoned.toPlainDateTime();
const date = dateTime.toPlainDate();
/**
 * Bytes outside of the heap for each object of `Temporal`, and for a formatter while it formats
 * one.
 */
const OBJECT_BYTES = 320;
const FORMATTER_BYTES = 64 * 1024;

/**
 * Wraps one of the engine's classes, so that each object counts its bytes.
 *
 * Attack: a heap full of dates, which hold five times as much outside of it that no limit counts.
 */
function counted(Intrinsic: Function): Function {
  const Counted = new Proxy(Intrinsic, {
    __proto__: null,
    construct: (target: Function, args: unknown[], newTarget: Function) =>
      weighed(construct(target, args, newTarget)),
  } as ProxyHandler<Function>);
  const prototype = Intrinsic.prototype as object;
  for (const holder of [Intrinsic, prototype])
    for (const key of ownKeys(holder))
      if (key !== 'constructor' && key !== 'toLocaleString')
        wrapMethod(holder, key, (native, self, args) => weighed(apply(native, self, args)));
  wrapMethod(prototype, 'toLocaleString', (native, self, args) => {
    ballast(FORMATTER_BYTES);
    return apply(native, self, args);
  });
  defineProperty(prototype, 'constructor', { value: Counted, writable: true, configurable: true });
  return Counted;
}

/** Makes an object carry its bytes. */
export function weighed<T>(made: T): T {
  if (typeof made === 'object' && made !== null && carriedBy(made) === 0) carryInHeap(made, OBJECT_BYTES);
  return made;
}

const instant = (): Temporal.Instant => Instant.fromEpochMilliseconds(now());
const timeZoneId = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;
const inZone = (zone: Zone): Temporal.ZonedDateTime =>
  instant().toZonedDateTimeISO(zone === undefined ? timeZoneId() : zone);

// Their parameter counts as optional.
const Now = namespace('Temporal.Now', {
  instant: () => instant(),
  timeZoneId: () => timeZoneId(),
  plainDateTimeISO: (zone: Zone = undefined) => inZone(zone).toPlainDateTime(),
  zonedDateTimeISO: (zone: Zone = undefined) => inZone(zone),
  plainDateISO: (zone: Zone = undefined) => inZone(zone).toPlainDate(),
  plainTimeISO: (zone: Zone = undefined) => inZone(zone).toPlainTime(),
});

const [plainTime, duration, yearMonth, monthDay] = [
  dateTime.toPlainTime(),
  zoned.since(zoned),
  date.toPlainYearMonth(),
  date.toPlainMonthDay(),
];

export const Temporal = namespace('Temporal', {
  Now,
  PlainDate: counted(date.constructor),
  PlainTime: counted(plainTime.constructor),
  PlainDateTime: counted(dateTime.constructor),
  ZonedDateTime: counted(zoned.constructor),
  Duration: counted(duration.constructor),
  Instant: counted(Instant),
  PlainYearMonth: counted(yearMonth.constructor),
  PlainMonthDay: counted(monthDay.constructor),
});

/** An object of the shape that the engine's namespaces have. */
function namespace(name: string, members: Readonly<Record<string, object>>): object {
  const made = {};
  const names = objectKeys(members);
  for (let i = 0; i < names.length; i++) {
    const key = names[i] as string;
    const value = members[key];
    // The bundle is minified.
    if (name === 'Temporal.Now') defineProperty(value as object, 'name', { value: key, configurable: true });
    defineProperty(made, key, { value, writable: true, enumerable: false, configurable: true });
  }
  return defineProperty(made, Symbol.toStringTag, { value: name, configurable: true });
}
