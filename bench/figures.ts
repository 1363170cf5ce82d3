/**
 * What a benchmark measures: figures of Annex, each beside the same figure of a peer or of a quiet
 * service, and the ratio of the two. Rounds measure both in turn, so the ratio of a round is of the
 * same machine in the same minute; of the rounds, the median counts.
 */

/** What a ratio or a figure of Annex has to be. */
export interface Aim {
  readonly least?: number;
  readonly most?: number;
  /** About the figure of Annex, in its unit, and not about the ratio. */
  readonly isAbsolute?: boolean;
}

/** One figure of one round. */
export interface Figure {
  readonly row: string;
  readonly unit: string;
  readonly annex: number;
  /** What it is compared with. */
  readonly to?: string;
  readonly other?: number | undefined;
  /** Why the other figure is missing. */
  readonly missing?: string | undefined;
  readonly aim?: Aim;
}

/** A round of a benchmark. */
export interface Round {
  /** Counts from 0: what is measured first alternates. */
  readonly turn: number;
  /** Duration of one measurement, and of the warm-up before it. */
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly isQuick: boolean;
  /** Selects rows, attacks or snippets whose names have it. */
  readonly part: string;
  /** Size of what is filled, where `--size` gives it. */
  readonly size: number | undefined;
}

export type Bench = (round: Round) => AsyncGenerator<Figure>;

/** A row of the table: of all its rounds. */
export interface Row {
  readonly row: string;
  readonly unit: string;
  readonly annex: number;
  readonly to?: string;
  readonly other?: number;
  readonly ratio?: number;
  /** Spread of the ratios, or of the figures of Annex where nothing is beside them. */
  readonly low: number;
  readonly high: number;
  readonly missing?: string;
  readonly aim?: Aim;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Measures one after the other: which is first alternates with the rounds. */
export async function inTurn<A, B>(
  { turn }: Round,
  one: () => Promise<A>,
  other: () => Promise<B>,
): Promise<[A, B]> {
  if (turn % 2 === 0) return [await one(), await other()];
  const second = await other();
  return [await one(), second];
}

export function rowOf(figures: readonly Figure[]): Row {
  const [first] = figures as [Figure, ...Figure[]];
  const { row, unit, to, aim } = first;
  const ratios = figures.flatMap(({ annex, other }) => (other === undefined ? [] : [annex / other]));
  const others = figures.flatMap(({ other }) => other ?? []);
  const annex = median(figures.map((figure) => figure.annex));
  const spread = ratios.length > 0 ? ratios : figures.map((figure) => figure.annex);
  const missing = figures.find((figure) => figure.missing !== undefined)?.missing;
  return {
    ...{ row, unit, annex, low: Math.min(...spread), high: Math.max(...spread) },
    ...(to !== undefined && { to }),
    ...(aim && { aim }),
    ...(ratios.length > 0 ? { ratio: median(ratios), other: median(others) } : missing && { missing }),
  };
}

/** @returns undefined where the row has no aim, or lacks the ratio that the aim is about */
export function isMet({ aim, ratio, annex }: Row): boolean | undefined {
  const value = aim?.isAbsolute ? annex : ratio;
  if (aim === undefined || value === undefined) return undefined;
  return value >= (aim.least ?? Number.NEGATIVE_INFINITY) && value <= (aim.most ?? Number.POSITIVE_INFINITY);
}

/** A row that cannot be measured on this machine. */
export const absent = (row: string, missing: string): Figure => ({
  row,
  unit: '',
  annex: Number.NaN,
  missing,
});

export const shown = (value: number): string => {
  if (Number.isNaN(value)) return '-';
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(Math.abs(value) < 1 ? 3 : Math.abs(value) < 20 ? 2 : 0);
};

export function aimText({ aim, unit }: Pick<Row, 'aim' | 'unit'>): string {
  if (aim === undefined) return '';
  const what = aim.isAbsolute ? ` ${unit}` : ' ×';
  return [
    ...(aim.least === undefined ? [] : [`≥ ${aim.least}${what}`]),
    ...(aim.most === undefined ? [] : [`≤ ${aim.most}${what}`]),
  ].join(', ');
}

/** Columns of text, the first to the left and the others to the right. */
export function columns(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  const cell = (text: string, at: number) =>
    at === 0 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0);
  return lines.map((line) => line.map(cell).join('  ').trimEnd()).join('\n');
}

export function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => [
    row.row,
    `${shown(row.annex)} ${row.unit}`,
    row.to ? `${row.to} ${row.other === undefined ? '-' : shown(row.other)}` : '',
    row.ratio === undefined ? '' : `${shown(row.ratio)} ×`,
    Number.isNaN(row.annex) ? '' : `${shown(row.low)}–${shown(row.high)}`,
    aimText(row),
    isMet(row) === false ? 'missed' : '',
  ]);
  const missing = new Set(
    rows.flatMap((row) => (row.missing ? [`${row.to ?? row.row}: ${row.missing}`] : [])),
  );
  const head = ['row', 'Annex', 'beside', 'ratio', 'spread', 'aim', ''];
  return [columns([head, ...lines]), ...missing].join('\n');
}
