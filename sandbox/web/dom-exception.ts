/** DOMException (https://webidl.spec.whatwg.org/#idl-DOMException): the error of web interfaces that has a name. */
import { captureStackTrace, defineProperty, setPrototypeOf } from './primordials.ts';
import { defineInterface, toDOMString } from './web-idl.ts';

/** Names with a legacy code, and the constant of that code; a gap where a code is no longer given to any name. */
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

export class DOMException {
  readonly #message: string;
  readonly #name: string;

  constructor(message: unknown = '', name: unknown = 'Error') {
    this.#message = toDOMString(message);
    this.#name = toDOMString(name);
    captureStackTrace(this, DOMException);
  }

  get name(): string {
    return this.#name;
  }

  get message(): string {
    return this.#message;
  }

  get code(): number {
    const name = this.#name;
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
