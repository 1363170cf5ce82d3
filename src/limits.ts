/**
 * The limits by name, with their values and the groups that follow from their table.
 *
 * Code that enforces a limit imports it from here or takes a `Limits`.
 */
import { LIMIT_TABLE } from './limit-table.ts';

/** Unit of limits whose name ends in `Days`. */
export const DAY_MS = 24 * 60 * 60 * 1_000;

export interface Limit {
  /** In the unit that the name ends in; otherwise the limit counts things. */
  readonly default: number;
  /** Minimum of the setting; 1 if absent. */
  readonly least?: number;
  /** What is bounded, in Markdown, for the operator. */
  readonly about: string;
  /**
   * Sentences for a value beyond the limit, without its end. In the first, `#` is replaced by the
   * used amount; the second is for an unknown amount.
   */
  readonly met?: readonly [used: string, unknown: string];
  /** Whether the operator can lower it for one integration. */
  readonly isLowerable?: true;
  /** Whether an isolate enforces it on its calls. */
  readonly isOfIsolate?: true;
  /**
   * Of limits that a cell reports: whether the call ends, or what exceeds the limit is refused,
   * dropped or queued.
   */
  readonly endsCall?: boolean;
}

export type LimitName = keyof typeof LIMIT_TABLE;

/** A full set of limits; every value is a positive integer. */
export type Limits = { readonly [K in LimitName]: number };

/** A limit that was reached, as reported to callers and in logs. */
export interface LimitMet {
  readonly name: LimitName;
  /** The limit, in the unit of its name. */
  readonly max: number;
  /** The value that exceeded it, if known. */
  readonly used?: number;
}

export const LIMITS: Readonly<Record<LimitName, Limit>> = LIMIT_TABLE;
export const LIMIT_NAMES = Object.keys(LIMIT_TABLE) as LimitName[];

export const DEFAULT_LIMITS = Object.fromEntries(
  LIMIT_NAMES.map((name) => [name, LIMIT_TABLE[name].default]),
) as Limits;

type NamesWith<Part> = { [K in LimitName]: (typeof LIMIT_TABLE)[K] extends Part ? K : never }[LimitName];

const namesWith = <const Part extends Partial<Limit>>(part: Part) =>
  LIMIT_NAMES.filter((name) =>
    Object.entries(part).every(([member, value]) => LIMITS[name][member as keyof Limit] === value),
  ) as NamesWith<Part>[];

/** Limits of one call or one installation. The others concern processes, uploads or the machine. */
export const LOWERABLE_LIMITS = namesWith({ isLowerable: true });
export type LowerableLimit = (typeof LOWERABLE_LIMITS)[number];

/**
 * The limits that an isolate enforces on its calls: those of the deployment, unless the integration
 * has lowered them.
 */
export const ISOLATE_LIMITS = namesWith({ isOfIsolate: true });
export type IsolateLimits = Pick<Limits, (typeof ISOLATE_LIMITS)[number]>;

/** The limits that end a call, as a cell reports them. */
export const CALL_ENDING_LIMITS = namesWith({ endsCall: true });

/** The limits that do not end a call. */
export const SOFT_LIMITS = namesWith({ endsCall: false });
export type SoftLimit = (typeof SOFT_LIMITS)[number];

/**
 * The rule of fair shares: a holder has no more places than it leaves free for others. One holder
 * gets half of all places, four get a fifth each, and a new holder finds as many as the largest
 * has. Attack: a few organizations or senders that hold every place.
 *
 * @param own places that the holder has
 * @param left places that are free after it has taken one more
 */
export const isFairPlace = (own: number, left: number): boolean =>
  // The first place of a holder may be the last: otherwise none could have the only one.
  own === 0 ? left >= 0 : own < left;
