/**
 * The random values of `node:crypto`, by Web Crypto of the isolate.
 */
import { Buffer, type Bytes } from './buffer.ts';
import { answer, type Done } from './callback.ts';
import {
  invalidArgType,
  outOfRange,
  validateBoolean,
  validateFunction,
  validateNumber,
  validateObject,
} from './errors.ts';

/** Bytes of one call of `getRandomValues`. */
const RANDOM_BYTES_MAX = 65_536;
const SIZE_MAX = 2 ** 31 - 1;
const RANGE_MAX = 2 ** 48 - 1;

function fill(bytes: Uint8Array<ArrayBuffer>): void {
  for (let at = 0; at < bytes.length; at += RANDOM_BYTES_MAX) {
    globalThis.crypto.getRandomValues(bytes.subarray(at, at + RANDOM_BYTES_MAX));
  }
}

/** The part of a target that is filled. Offset and size count elements. */
function partOf(target: ArrayBuffer | ArrayBufferView, from: unknown = 0, size?: unknown) {
  const view = ArrayBuffer.isView(target);
  if (!view && !(target instanceof ArrayBuffer)) {
    throw invalidArgType('buf', ['ArrayBuffer', 'ArrayBufferView'], target);
  }
  const unit = view && 'BYTES_PER_ELEMENT' in target ? (target.BYTES_PER_ELEMENT as number) : 1;
  const [buffer, start] = view ? [target.buffer as ArrayBuffer, target.byteOffset] : [target, 0];
  validateNumber(from, 'offset', 0, Math.min(target.byteLength / unit, SIZE_MAX));
  const most = Math.min(target.byteLength, SIZE_MAX) - from * unit;
  if (size !== undefined) validateNumber(size, 'size', 0, most / unit);
  return new Uint8Array(buffer, start + from * unit, size === undefined ? most : size * unit);
}

export function randomFillSync<T extends ArrayBuffer | ArrayBufferView>(
  target: T,
  from?: unknown,
  size?: unknown,
): T {
  fill(partOf(target, from, size));
  return target;
}

export function randomFill<T extends ArrayBuffer | ArrayBufferView>(target: T, ...rest: unknown[]): void {
  const at = rest.findIndex((one) => typeof one === 'function');
  const done = at < 0 ? rest.at(-1) : rest[at];
  if (at < 0) partOf(target, rest[0], rest[1]);
  validateFunction(done, 'callback');
  const part = partOf(target, at > 0 ? rest[0] : undefined, at > 1 ? rest[1] : undefined);
  answer(done as unknown as Done<T>, () => {
    fill(part);
    return target;
  });
}

export function randomBytes(size: number, done?: Done<Bytes>): Bytes | undefined {
  validateNumber(size, 'size', 0, SIZE_MAX);
  if (done !== undefined) validateFunction(done, 'callback');
  const make = () => randomFillSync(Buffer.alloc(size));
  if (done === undefined) return make();
  answer(done, make);
  return undefined;
}

/** A whole number from `min` to below `max`, each as likely as the other. */
export function randomInt(min: number, max?: number | Done<number>, done?: Done<number>): number | undefined {
  if (max === undefined || typeof max === 'function') return drawn([0, min], 'max', max);
  return drawn([min, max], 'max - min', done);
}

function drawn([min, max]: [number, number], range: string, done?: Done<number>): number | undefined {
  if (done !== undefined) validateFunction(done, 'callback');
  if (!Number.isSafeInteger(min)) throw invalidArgType('min', 'a safe integer', min);
  if (!Number.isSafeInteger(max)) throw invalidArgType('max', 'a safe integer', max);
  if (max <= min) throw outOfRange('max', `greater than the value of "min" (${min})`, max);
  const size = max - min;
  if (size > RANGE_MAX) {
    throw outOfRange(range, `<= ${RANGE_MAX}`, size);
  }
  const draw = (): number => {
    // Numbers at the end of the space would make some results likelier.
    const fair = 2 ** 48 - (2 ** 48 % size);
    for (;;) {
      const bytes = randomFillSync(new Uint8Array(6));
      const value = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
      if (value < fair) return min + (value % size);
    }
  };
  if (done === undefined) return draw();
  answer(done, draw);
  return undefined;
}

function checkOptions(options: unknown): void {
  if (options === undefined) return;
  validateObject(options, 'options');
  const { disableEntropyCache } = options as { disableEntropyCache?: unknown };
  if (disableEntropyCache !== undefined) validateBoolean(disableEntropyCache, 'options.disableEntropyCache');
}

export function randomUUID(options?: object): string {
  checkOptions(options);
  return globalThis.crypto.randomUUID();
}

/** Begins with the time in milliseconds, so that later ones sort after earlier ones (RFC 9562). */
export function randomUUIDv7(options?: object): string {
  checkOptions(options);
  const bytes = randomFillSync(Buffer.alloc(16)) as Bytes & {
    writeUIntBE(value: number, ...at: number[]): void;
  };
  bytes.writeUIntBE(Date.now(), 0, 6);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const digits = bytes.toString('hex');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
