/**
 * DOMException (https://webidl.spec.whatwg.org/#idl-DOMException): the error of web interfaces that
 * has a name.
 */
import {
  captureStackTrace,
  construct,
  defineProperty,
  deleteProperty,
  ErrorIntrinsic,
  setPrototypeOf,
} from './primordials.ts';
import { defineInterface, isObject, toDOMString } from './web-idl.ts';

/**
 * Names with a legacy code, and the constant of that code; a gap for a code that no name has any
 * more.
 */
const LEGACY: readonly (readonly [name: string | undefined, constant: string])[] = [
  ['IndexSizeError', 'INDEX_SIZE_ERR'],
  [undefined, 'DOMSTRING_SIZE_ERR'],
  ['HierarchyRequestError', 'HIERARCHY_REQUEST_ERR'],
  ['WrongDocumentError', 'WRONG_DOCUMENT_ERR'],
  ['InvalidCharacterError', 'INVALID_CHARACTER_ERR'],
  [undefined, 'NO_DATA_ALLOWED_ERR'],
  ['NoModificationAllowedError', 'NO_MODIFICATION_ALLOWED_ERR'],
  ['NotFoundError', 'NOT_FOUND_ERR'],
  ['NotSupportedError', 'NOT_SUPPORTED_ERR'],
  ['InUseAttributeError', 'INUSE_ATTRIBUTE_ERR'],
  ['InvalidStateError', 'INVALID_STATE_ERR'],
  ['SyntaxError', 'SYNTAX_ERR'],
  ['InvalidModificationError', 'INVALID_MODIFICATION_ERR'],
  ['NamespaceError', 'NAMESPACE_ERR'],
  ['InvalidAccessError', 'INVALID_ACCESS_ERR'],
  [undefined, 'VALIDATION_ERR'],
  ['TypeMismatchError', 'TYPE_MISMATCH_ERR'],
  ['SecurityError', 'SECURITY_ERR'],
  ['NetworkError', 'NETWORK_ERR'],
  ['AbortError', 'ABORT_ERR'],
  ['URLMismatchError', 'URL_MISMATCH_ERR'],
  ['QuotaExceededError', 'QUOTA_EXCEEDED_ERR'],
  ['TimeoutError', 'TIMEOUT_ERR'],
  ['InvalidNodeTypeError', 'INVALID_NODE_TYPE_ERR'],
  ['DataCloneError', 'DATA_CLONE_ERR'],
];

/** Returns its argument, so that a subclass adds private members to an existing object. */
class Existing {
  constructor(value: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the purpose of this class
    return value;
  }
}

/** Private state of a DOMException. */
class Details extends Existing {
  readonly #message: string;
  readonly #name: string;
  readonly #cause: unknown;

  constructor(exception: object, message: string, name: string, cause: unknown) {
    super(exception);
    this.#message = message;
    this.#name = name;
    this.#cause = cause;
  }

  static message(exception: object): string {
    return (exception as Details).#message;
  }

  static nameOf(exception: object): string {
    return (exception as Details).#name;
  }

  static cause(exception: object): unknown {
    return (exception as Details).#cause;
  }
}

/**
 * Each is a genuine error of the engine (`Error.isError`), though the class inherits from no
 * constructor: the engine's constructor makes it, with the prototype of `new.target`.
 */
export class DOMException {
  /**
   * @param options name, or name and cause as proposed (https://github.com/whatwg/webidl/pull/1179)
   */
  constructor(message: unknown = '', options: unknown = 'Error') {
    const text = toDOMString(message);
    const { cause, name = 'Error' } = isObject(options)
      ? (options as { cause?: unknown; name?: unknown })
      : { cause: undefined, name: options };
    // The engine puts the message into the stack; the attribute is the prototype's.
    const exception = construct(ErrorIntrinsic, [text], new.target) as DOMException;
    deleteProperty(exception, 'message');
    new Details(exception, text, toDOMString(name), cause);
    captureStackTrace(exception, DOMException);
    // biome-ignore lint/correctness/noConstructorReturn: only the engine can make an error
    return exception;
  }

  get name(): string {
    return Details.nameOf(this);
  }

  get message(): string {
    return Details.message(this);
  }

  get cause(): unknown {
    return Details.cause(this);
  }

  get code(): number {
    const name = Details.nameOf(this);
    return LEGACY.findIndex((entry) => entry[0] === name) + 1;
  }
}
setPrototypeOf(DOMException.prototype, Error.prototype);
defineInterface(DOMException, 'DOMException');
for (let i = 0; i < LEGACY.length; i++) {
  const constant = { value: i + 1, enumerable: true };
  defineProperty(DOMException, LEGACY[i]?.[1] as string, constant);
  defineProperty(DOMException.prototype, LEGACY[i]?.[1] as string, constant);
}
