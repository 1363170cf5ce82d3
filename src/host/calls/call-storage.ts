/**
 * The operations of storage of one call, on the side of the host (docs/contract/storage.md#sdk).
 *
 * The isolate keeps the limits on their number, in all and at once; a cell that passes them was
 * taken over. What an operation says is up to the code: each part is checked here. Which areas
 * there are follows from the target of the call, and nothing that the code sends names another one.
 */
import { AnnexError, ERRORS, type ErrorCode } from '../../errors.ts';
import type { LimitName } from '../../limits.ts';
import {
  checkKey,
  checkPrefix,
  checkValue,
  EXPIRES_IN_S_MAX,
  ownArea,
  type StorageArea,
  sharedArea,
} from '../../model/stored-value.ts';
import type { Target } from '../../model/target.ts';
import { STORE_IN_FLIGHT_MAX, type StoreMessage } from '../../protocol/wire.ts';
import { type Storage, type StorageChange, storedOrThrown } from '../store/storage/storage.ts';
import type { SendToCell } from './call-streams.ts';

const MS_PER_S = 1_000;
const LIST_MAX = 1_000;
const LIST_DEFAULT = 100;
const NOTHING = Buffer.alloc(0);

export interface CallStorageDeps {
  readonly id: number;
  readonly storage: Pick<Storage, 'get' | 'change' | 'list'>;
  readonly target: Pick<Target, 'integration' | 'since' | 'installationId' | 'limits'>;
  readonly send: SendToCell;
}

/** What the code asks for; every member is checked when it is used. */
type Asked = Readonly<Record<string, unknown>>;

/** The answer, and the value that was read. */
type Answer = readonly [answer: object, value?: Uint8Array];

export class CallStorage {
  readonly #deps: CallStorageDeps;
  #begun = 0;
  #inFlight = 0;
  #over = false;
  readonly #met = new Set<LimitName>();
  #faultCode: ErrorCode | undefined;

  constructor(deps: CallStorageDeps) {
    this.#deps = deps;
  }

  /** Limits that the operations have met. */
  get met(): ReadonlySet<LimitName> {
    return this.#met;
  }

  /** The first error with which one of them has failed for a reason of the platform. */
  get faultCode(): ErrorCode | undefined {
    return this.#faultCode;
  }

  /** @returns false where the cell passed a limit that the isolate keeps */
  begin(message: StoreMessage, value: Buffer): boolean {
    this.#begun += 1;
    this.#inFlight += 1;
    const { storageOperationsPerCall, storageValueBytes } = this.#deps.target.limits;
    if (this.#begun > storageOperationsPerCall || this.#inFlight > STORE_IN_FLIGHT_MAX) return false;
    if (value.byteLength > storageValueBytes) return false;
    void this.#run(message, value);
    return true;
  }

  /** The call is over: what has begun is done, and nobody waits for its answer. */
  end(): void {
    this.#over = true;
  }

  /** Never rejects. */
  async #run({ operation, request }: StoreMessage, value: Buffer): Promise<void> {
    const refused = (cause: unknown): Answer => [{ error: this.#refused(cause) }];
    const [answer, found = NOTHING] = await this.#answer(request, value).catch(refused);
    this.#inFlight -= 1;
    if (this.#over) return;
    const { id, send } = this.#deps;
    send({ t: 'stored', id, operation, answer: JSON.stringify(answer) }, found);
  }

  #refused(cause: unknown): object {
    const error =
      cause instanceof AnnexError
        ? cause
        : new AnnexError('INTERNAL_ERROR', 'The service has failed.', { cause });
    if (ERRORS[error.code].blame === 'platform') this.#faultCode ??= error.code;
    if (error.limit) this.#met.add(error.limit.name);
    return { code: error.code, status: ERRORS[error.code].status, message: error.message };
  }

  async #answer(request: string, value: Buffer): Promise<Answer> {
    const asked = parsed(request);
    const area = this.#areaOf(asked);
    if (asked['do'] === 'list') return this.#list(area, asked);
    const { limits } = this.#deps.target;
    const key = text(asked['key'], 'key');
    checkKey(key, limits);
    if (asked['do'] === 'get') return this.#get(area, key);
    const change = this.#changeOf(asked, value);
    const answer = await this.#deps.storage.change(area, key, change, limits);
    const { version, was, number } = storedOrThrown(area, key, answer);
    return [{ version, was, value: number }];
  }

  #areaOf({ area }: Asked): StorageArea {
    const { target } = this.#deps;
    if (area === 'integration') return sharedArea(target);
    const own = ownArea(target);
    if (own !== undefined) return own;
    const message =
      'A call of the endpoint of the integration has no installation: use context.integration.storage.';
    throw new AnnexError('REQUEST_INVALID', message);
  }

  async #get(area: StorageArea, key: string): Promise<Answer> {
    const found = await this.#deps.storage.get(area, key);
    if (found === undefined) return [{}];
    const { kind, version, expiresAt } = found;
    return [{ kind, version, expiresAt }, Buffer.from(found.text, kind === 'json' ? 'utf8' : 'base64')];
  }

  async #list(area: StorageArea, { prefix = '', limit = LIST_DEFAULT, cursor }: Asked): Promise<Answer> {
    const { storage, target } = this.#deps;
    const beginning = text(prefix, 'prefix');
    checkPrefix(beginning, target.limits);
    const after = cursor === undefined ? undefined : text(cursor, 'cursor');
    // The cursor is the last key: a forged one begins a page elsewhere among keys of the same area.
    if (after !== undefined) checkKey(after, target.limits, 'cursor');
    const count = whole(limit, 'limit', 1, LIST_MAX);
    const { items, next } = await storage.list(area, { prefix: beginning, limit: count, cursor: after });
    return [{ items, cursor: next }];
  }

  #changeOf(asked: Asked, value: Buffer): StorageChange {
    if (asked['do'] === 'increment')
      return {
        do: 'increment',
        by: whole(asked['by'], 'by', -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
      };
    const ifVersion =
      asked['ifVersion'] === undefined
        ? undefined
        : whole(asked['ifVersion'], 'ifVersion', 0, Number.MAX_SAFE_INTEGER);
    if (asked['do'] === 'delete') return { do: 'delete', ifVersion };
    const { kind, expiresIn } = asked;
    if (asked['do'] !== 'put' || (kind !== 'json' && kind !== 'bytes'))
      throw invalid('The operation is not one of storage.');
    checkValue(value.byteLength, this.#deps.target.limits);
    return {
      do: 'put',
      value: { kind, text: value.toString(kind === 'json' ? 'utf8' : 'base64') },
      valueBytes: value.byteLength,
      expiresInMs: expiresIn === undefined ? undefined : expiryMs(expiresIn),
      ifVersion,
    };
  }
}

const invalid = (message: string): AnnexError => new AnnexError('REQUEST_INVALID', message);

function parsed(request: string): Asked {
  try {
    const asked: unknown = JSON.parse(request);
    if (typeof asked === 'object' && asked !== null) return asked as Asked;
  } catch {
    // Said below.
  }
  throw invalid('The operation is not one of storage.');
}

function text(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw invalid(`${what} must be a string.`);
}

function whole(value: unknown, what: string, min: number, max: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max)
    return value as number;
  throw invalid(`${what} must be a whole number from ${min} to ${max}.`);
}

function expiryMs(seconds: unknown): number {
  if (typeof seconds === 'number' && seconds > 0 && seconds <= EXPIRES_IN_S_MAX)
    return Math.ceil(seconds * MS_PER_S);
  throw invalid(`expiresIn must be a number of seconds, more than 0 and at most ${EXPIRES_IN_S_MAX}.`);
}
