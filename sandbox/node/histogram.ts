/**
 * The histograms of `node:perf_hooks`: how often each value was recorded, in buckets that keep a
 * number of decimal digits (http://hdrhistogram.org).
 */
import {
  invalidArgType,
  nodeError,
  outOfRange,
  validateInteger,
  validateNumber,
  validateObject,
  validateUint32,
} from './errors.ts';
import { named } from './named.ts';

/** What an empty histogram has for its least value. */
const LEAST = 2n ** 63n - 1n;
const INSIDE = Symbol('inside');

interface Options {
  readonly lowest?: number | bigint;
  readonly highest?: number | bigint;
  readonly figures?: number;
}

export class Histogram {
  /** Lower end of a bucket → how often. */
  readonly #counts = new Map<number, number>();
  readonly #highest: number;
  /** Buckets between a power of two and the next one. */
  readonly #steps: number;
  #count = 0;
  #exceeds = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = 0;

  constructor(token: unknown, bounds: { highest: number; figures: number }) {
    if (token !== INSIDE) throw nodeError(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
    const { highest, figures } = bounds;
    this.#highest = highest;
    this.#steps = 2 ** Math.ceil(Math.log2(2 * 10 ** figures)) / 2;
  }

  get count(): number {
    return this.#count;
  }
  get countBigInt(): bigint {
    return BigInt(this.#count);
  }
  get min(): number {
    return this.#count === 0 ? Number(LEAST) : this.#min;
  }
  get minBigInt(): bigint {
    return this.#count === 0 ? LEAST : BigInt(this.#min);
  }
  get max(): number {
    return this.#max;
  }
  get maxBigInt(): bigint {
    return BigInt(this.#max);
  }
  /** How many values were above `highest`. */
  get exceeds(): number {
    return this.#exceeds;
  }
  get exceedsBigInt(): bigint {
    return BigInt(this.#exceeds);
  }
  get mean(): number {
    return this.#sum((value) => value) / this.#count;
  }
  get stddev(): number {
    const { mean } = this;
    return Math.sqrt(this.#sum((value) => (value - mean) ** 2) / this.#count);
  }

  /** The value that this share of all values does not exceed. */
  percentile(percent: number): number {
    validateNumber(percent, 'percentile');
    if (!(percent > 0 && percent <= 100)) {
      throw outOfRange('percentile', '> 0 && <= 100', percent);
    }
    return this.#valueAt(percent);
  }
  percentileBigInt(percent: number): bigint {
    return BigInt(this.percentile(percent));
  }

  /** Share in percent → value, in steps that become finer towards the end. */
  get percentiles(): Map<number, number> {
    const found = new Map<number, number>();
    if (this.#count > 0) {
      found.set(0, this.#valueAt(0));
      for (let percent = 50; this.#valueAt(percent) < this.#valueAt(100); percent += (100 - percent) / 2) {
        found.set(percent, this.#valueAt(percent));
      }
    }
    return found.set(100, this.#valueAt(100));
  }
  get percentilesBigInt(): Map<number, bigint> {
    return new Map([...this.percentiles].map(([percent, value]) => [percent, BigInt(value)]));
  }

  reset(): void {
    this.#counts.clear();
    [this.#count, this.#exceeds, this.#min, this.#max] = [0, 0, Number.POSITIVE_INFINITY, 0];
  }

  toJSON(): object {
    const { count, min, max, mean, exceeds, stddev } = this;
    return { count, min, max, mean, exceeds, stddev, percentiles: Object.fromEntries(this.percentiles) };
  }

  [Symbol.for('nodejs.util.inspect.custom')](
    depth: number,
    options: object,
    inspect?: (value: object, options: object) => string,
  ): unknown {
    if (depth < 0) return `[${this.constructor.name}]`;
    const { percentiles } = this;
    const shown = { ...this.toJSON(), percentiles };
    return `Histogram ${inspect === undefined ? JSON.stringify(this) : inspect(shown, options)}`;
  }

  protected add_(value: number, times = 1): void {
    if (value > this.#highest) {
      this.#exceeds += times;
      return;
    }
    const bucket = this.#bucketOf(value);
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + times);
    this.#count += times;
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
  }

  protected addAll(other: Histogram): void {
    for (const [value, times] of other.#counts) this.add_(value, times);
    this.#exceeds += other.#exceeds;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
  }

  #bucketOf(value: number): number {
    const width = 2 ** Math.max(0, Math.floor(Math.log2(value)) - Math.log2(this.#steps));
    return Math.floor(value / width) * width;
  }

  #sum(term: (value: number) => number): number {
    return [...this.#counts].reduce((sum, [value, times]) => sum + term(value) * times, 0);
  }

  #valueAt(percent: number): number {
    let left = Math.max(1, Math.ceil((percent / 100) * this.#count));
    for (const [value, times] of [...this.#counts].sort(([one], [other]) => one - other)) {
      left -= times;
      if (left <= 0) return value;
    }
    return 0;
  }
}

export class RecordableHistogram extends Histogram {
  #last: number | undefined;

  record(value: number | bigint, times = 1): void {
    if (typeof value !== 'bigint') validateInteger(value, 'val', 1);
    else if (value < 1n || value > LEAST) throw invalidArgType('val', ['integer', 'bigint'], value);
    validateInteger(times, 'count', 1);
    this.add_(Number(value), times);
  }

  /** Records the nanoseconds since this was called the last time. */
  recordDelta(): void {
    const now = performance.now() * 1_000_000;
    if (this.#last !== undefined) this.add_(Math.max(1, Math.round(now - this.#last)));
    this.#last = now;
  }

  add(other: RecordableHistogram): void {
    if (!(other instanceof RecordableHistogram)) throw invalidArgType('other', 'RecordableHistogram', other);
    this.addAll(other);
  }
}

/** There is no event loop that could be late: it never records anything. */
class IntervalHistogram extends Histogram {
  #enabled = false;

  enable(): boolean {
    const changed = !this.#enabled;
    this.#enabled = true;
    return changed;
  }

  disable(): boolean {
    const changed = this.#enabled;
    this.#enabled = false;
    return changed;
  }
}

function checkBound(value: unknown, name: string, least: number | bigint): number {
  if (typeof value === 'bigint') {
    if (value >= BigInt(least)) return Number(value);
  } else validateInteger(value, name, Number(least));
  return Number(value);
}

named({ Histogram, RecordableHistogram, IntervalHistogram });

export function createHistogram(options: Options = {}): RecordableHistogram {
  validateObject(options, 'options');
  const { lowest = 1, highest = Number.MAX_SAFE_INTEGER, figures = 3 } = options;
  const least = checkBound(lowest, 'options.lowest', 1);
  const most = checkBound(highest, 'options.highest', 2 * least);
  validateInteger(figures, 'options.figures', 1, 5);
  return new RecordableHistogram(INSIDE, { highest: most, figures });
}

export function monitorEventLoopDelay(options: { readonly resolution?: number } = {}): IntervalHistogram {
  validateObject(options, 'options');
  validateUint32(options.resolution ?? 10, 'options.resolution', true);
  return new IntervalHistogram(INSIDE, { highest: Number.MAX_SAFE_INTEGER, figures: 3 });
}
