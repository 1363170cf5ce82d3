/** Durations as tests write them. */

/** Milliseconds, or a number with a unit: `500ms`, `30s`, `5m`, `1h`, `3d`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** @throws TypeError for anything else, and for a time that goes back */
export function milliseconds(duration: Duration): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(`${duration}`) ?? [];
  const value = typeof duration === 'number' ? duration : Number(number) * (UNITS[unit] ?? 1);
  if (Number.isFinite(value) && value >= 0) return Math.round(value);
  throw new TypeError(`"${duration}" is no duration: give milliseconds, or a text such as "30s" or "1h".`);
}
