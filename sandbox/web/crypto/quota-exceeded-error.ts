/**
 * QuotaExceededError (https://webidl.spec.whatwg.org/#quotaexceedederror): a DOMException that may
 * have the quota and the amount requested.
 */

import { registerSerializable } from '../clone/structured-clone-registry.ts';
import { DOMException } from '../dom-exception.ts';
import { defineInterface, toDictionary } from '../web-idl.ts';

export class QuotaExceededError extends DOMException {
  readonly #quota: number | null;
  readonly #requested: number | null;

  constructor(message: unknown = '', options: unknown = undefined) {
    super(message, 'QuotaExceededError');
    const { quota, requested } = toDictionary(options, 'QuotaExceededError: options');
    this.#quota = amount(quota, 'quota');
    this.#requested = amount(requested, 'requested');
    if (this.#quota !== null && this.#requested !== null && this.#requested < this.#quota)
      throw new RangeError('QuotaExceededError: requested is less than quota');
  }

  static {
    registerSerializable(QuotaExceededError.prototype, {
      is: (value): value is QuotaExceededError => #quota in value,
      clone: (error) =>
        new QuotaExceededError(error.message, {
          quota: error.#quota ?? undefined,
          requested: error.#requested ?? undefined,
        }),
    });
  }

  get quota(): number | null {
    return this.#quota;
  }

  get requested(): number | null {
    return this.#requested;
  }
}
defineInterface(QuotaExceededError, 'QuotaExceededError');

function amount(value: unknown, what: string): number | null {
  if (value === undefined) return null;
  const number = +(value as number);
  // NaN and the infinities are not a `double` of Web IDL.
  if (number - number !== 0) throw new TypeError(`QuotaExceededError: ${what} is not a finite number`);
  if (number < 0) throw new RangeError(`QuotaExceededError: ${what} is negative`);
  return number;
}
