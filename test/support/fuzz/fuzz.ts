/**
 * Thousands of hostile inputs, the same for the same seed: a random source, and a loop that reports
 * the failing input. `mutations.ts` makes the inputs.
 *
 * `ANNEX_FUZZ_SEED` tries other inputs, `ANNEX_FUZZ_INPUTS` sets their number, and `ANNEX_FUZZ_AT`
 * runs only the input with the number that a failure has reported (assertions over all inputs then
 * fail).
 */
import { inspect } from 'node:util';
import { vi } from 'vitest';
import type { Limits } from '../../../src/limits.ts';
import { Chance } from './chance.ts';

export { Chance };

/** Default number of inputs for each target. */
const INPUTS = {
  frames: 8_000,
  cellMessages: 24_000,
  emissions: 12_000,
  cryptoRequests: 8_000,
  cells: 48,
  multipart: 12_000,
  envelopes: 4_000,
  manifests: 8_000,
  uploads: 250,
  requestHeads: 4_000,
  answerHeads: 2_000,
  signatures: 8_000,
  webhookSignatures: 4_000,
  receiverAnswers: 1_500,
  receiverUrls: 4_000,
  receivedSignatures: 8_000,
  urlHosts: 12_000,
  egressLists: 6_000,
  egressHeads: 10_000,
  archives: 6_000,
  images: 4_000,
  fetchEvents: 6_000,
  runtimeTokens: 8_000,
  drawings: 8_000,
} as const;

export type Target = keyof typeof INPUTS;

/** Default number of inputs of all targets together. */
export const INPUTS_IN_ALL = Object.values(INPUTS).reduce((sum, inputs) => sum + inputs, 0);

const SEED = Number(process.env['ANNEX_FUZZ_SEED'] ?? 2_026);
const FACTOR = Number(process.env['ANNEX_FUZZ_INPUTS'] ?? INPUTS_IN_ALL) / INPUTS_IN_ALL;
const ONLY_AT = process.env['ANNEX_FUZZ_AT'];
/** Bounds a hang only: tests with so many inputs take long on a busy machine. */
vi.setConfig({ testTimeout: 300_000 });

/** How much of an input a failure shows. */
const SHOWN_CHARS_MAX = 2_000;

/**
 * For a service under fuzzing: one address sends more requests in a minute than the defaults allow.
 */
export const UNTHROTTLED: Partial<Limits> = {
  connectionsPerAddress: 1_000_000,
  requestsPerSecondPerAddress: 1_000_000,
  requestsPerSecondPerEndpoint: 1_000_000,
  failedCredentialsPerMinutePerAddress: 1_000_000,
};

interface Fuzzed<Input> {
  /** Makes one input. */
  make(random: Chance): Input;
  /**
   * Throws if a property does not hold. The random source is the input's own, for further choices.
   */
  check(input: Input, random: Chance): void | Promise<void>;
  /** Inputs that are checked at once; default one. */
  atOnce?: number;
}

/** Tries the inputs of a target. @throws for the first failing input, with how to repeat it */
export async function fuzz<Input>(target: Target, { make, check, atOnce = 1 }: Fuzzed<Input>): Promise<void> {
  const inputs = Math.max(1, Math.round(INPUTS[target] * FACTOR));
  let next = ONLY_AT === undefined ? 0 : Number(ONLY_AT);
  const end = ONLY_AT === undefined ? inputs : next + 1;
  const work = async () => {
    while (next < end) {
      const at = next++;
      const random = new Chance(seedOf(target, at));
      const input = make(random);
      try {
        const checking = check(input, random);
        if (checking !== undefined) await checking;
      } catch (cause) {
        next = end;
        throw new Error(broken(target, at, input, cause), { cause });
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, end - next) }, work));
}

/**
 * Each input has its own random source: it can be tried alone, and other targets do not change it.
 */
function seedOf(target: Target, at: number): number {
  let seed = SEED;
  for (const char of `${target} ${at}`) seed = Math.imul(seed ^ char.charCodeAt(0), 0x01000193);
  return seed;
}

function broken(target: Target, at: number, input: unknown, cause: unknown): string {
  const shown = inspect(readable(input), { depth: 6, maxArrayLength: 50, maxStringLength: SHOWN_CHARS_MAX });
  const why = cause instanceof Error ? cause.message : String(cause);
  return `${target}: ${why}\nagain: ANNEX_FUZZ_SEED=${SEED} ANNEX_FUZZ_AT=${at}\ninput: ${shown.slice(0, SHOWN_CHARS_MAX)}`;
}

/** Bytes as text, one character each: most inputs are nearly text. */
function readable(input: unknown): unknown {
  if (input instanceof Uint8Array) return Buffer.from(input).toString('latin1');
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, readable(value)]));
}
