/**
 * `Temporal` (https://tc39.es/proposal-temporal/) with a `Temporal.Now` in whole milliseconds, like every clock here.
 *
 * Attack: the engine's `Temporal.Now` counts nanoseconds, fine enough to measure caches and other tenants (`clock.ts`).
 *
 * The engine makes its Temporal, 170 KB of it, when somebody first reads the global; so does this. `globals.ts` has deleted
 * the engine's by then, unread, and with it the only way to its `Now`. What is left of it is found through a date. That a
 * tenant may have replaced the methods on this way is his own loss: none of them leads to a clock.
 */
import { defineProperty, now, objectKeys } from './primordials.ts';

type Zone = string | undefined;

const epoch = new Date(0).toTemporalInstant();
const Instant = epoch.constructor as typeof globalThis.Temporal.Instant;
const zoned = epoch.toZonedDateTimeISO('UTC');
const dateTime = zoned.toPlainDateTime();
const date = dateTime.toPlainDate();

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

export const Temporal = namespace('Temporal', {
  Now,
  PlainDate: date.constructor,
  PlainTime: dateTime.toPlainTime().constructor,
  PlainDateTime: dateTime.constructor,
  ZonedDateTime: zoned.constructor,
  Duration: zoned.since(zoned).constructor,
  Instant,
  PlainYearMonth: date.toPlainYearMonth().constructor,
  PlainMonthDay: date.toPlainMonthDay().constructor,
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
