/**
 * Whole numbers of any size for RSA, Diffie-Hellman and primes. `BigInt` stops where the isolate is
 * stopped; what takes a key of a caller bounds its size.
 */
import { Buffer } from './buffer.ts';
import { numberOf } from './crypto-der.ts';
import { randomFillSync } from './crypto-random.ts';

/** `base` to the power of `exponent`, four binary digits at a time. */
export function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  const powers = [1n % modulus];
  for (let at = 1; at < 16; at++) powers.push(((powers[at - 1] as bigint) * (base % modulus)) % modulus);
  let result = powers[0] as bigint;
  for (const digit of exponent.toString(16)) {
    for (let square = 0; square < 4; square++) result = (result * result) % modulus;
    result = (result * (powers[Number.parseInt(digit, 16)] as bigint)) % modulus;
  }
  return result;
}

/** The inverse of a number; undefined where there is none. */
export function inverse(value: bigint, modulus: bigint): bigint | undefined {
  let [one, other] = [modulus, value % modulus];
  let [x, y] = [0n, 1n];
  while (other !== 0n) {
    const times = one / other;
    [one, other] = [other, one - times * other];
    [x, y] = [y, x - times * y];
  }
  return one === 1n ? (x + modulus) % modulus : undefined;
}

export const bitsOf = (value: bigint): number => (value === 0n ? 0 : value.toString(2).length);
export const bytesOf = (value: bigint): number => Math.ceil(bitsOf(value) / 8);

export const randomBits = (bits: number): bigint =>
  numberOf(randomFillSync(Buffer.alloc(Math.ceil(bits / 8)))) >> BigInt((8 - (bits % 8)) % 8);

/** A number from `1` to below `limit`. */
export function randomBelow(limit: bigint): bigint {
  for (;;) {
    const value = randomBits(bitsOf(limit));
    if (value > 0n && value < limit) return value;
  }
}

const PRIMES_BELOW = 2_000;
let smallPrimes: bigint[] | undefined;
function primesBelow(): readonly bigint[] {
  if (smallPrimes !== undefined) return smallPrimes;
  smallPrimes = [];
  for (let one = 2n; one < PRIMES_BELOW; one++) {
    if (smallPrimes.every((prime) => one % prime !== 0n)) smallPrimes.push(one);
  }
  return smallPrimes;
}

/** By trial division and the test of Miller and Rabin, with as many random bases. */
export function isPrime(value: bigint, checks: number): boolean {
  if (value < 2n) return false;
  for (const prime of primesBelow()) {
    if (value % prime === 0n) return value === prime;
  }
  let [odd, twos] = [value - 1n, 0];
  for (; odd % 2n === 0n; twos++) odd /= 2n;
  for (let check = 0; check < checks; check++) {
    let x = power(randomBelow(value - 1n) + 1n, odd, value);
    if (x === 1n || x === value - 1n) continue;
    let passed = false;
    for (let square = 1; square < twos && !passed; square++) {
      x = (x * x) % value;
      passed = x === value - 1n;
    }
    if (!passed) return false;
  }
  return true;
}

/** How sure a prime has to be for which nobody else has chosen a composite number. */
const CHECKS = 8;
/** How many numbers are tried after a random one. */
const STEPS = 1_000;

export interface PrimeWish {
  readonly safe?: boolean;
  /** The prime is `rem` more than a multiple of `add`. */
  readonly add?: bigint;
  readonly rem?: bigint;
  /** How many of its first digits are 1. */
  readonly ones?: number;
}

/** A prime of as many binary digits; it does not end where no prime fits the wish. */
export function primeOf(bits: number, { safe = false, add, rem, ones = 2 }: PrimeWish = {}): bigint {
  const top = ((1n << BigInt(Math.min(ones, bits))) - 1n) << BigInt(bits - Math.min(ones, bits));
  for (;;) {
    let value = randomBits(bits) | (add === undefined ? top | 1n : top);
    if (add !== undefined) value += (rem ?? (safe ? 3n : 1n)) - (value % add);
    // Upwards from a random number: an isolate gets only so many of them in a row.
    for (let steps = 0; steps < STEPS && bitsOf(value) === bits; steps++, value += add ?? 2n) {
      // The cheap checks of both numbers come before the others.
      if (!isPrime(value, 0) || (safe && !isPrime(value >> 1n, 1)) || !isPrime(value, 1)) continue;
      if (isPrime(value, CHECKS) && (!safe || isPrime(value >> 1n, CHECKS))) return value;
    }
  }
}
