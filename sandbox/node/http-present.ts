/**
 * What `node:http` and `node:https` have in an isolate: the class `Agent`, the tables, and the
 * checks of headers. HTTP clients construct an agent even if they send their requests with `fetch`.
 * The agent opens no socket.
 */
import METHODS from 'node-tables/http-methods.json';
import STATUS_CODES from 'node-tables/http-status.json';
import { nodeError } from './errors.ts';

class Agent {
  readonly options: object;
  readonly requests = {};
  readonly sockets = {};
  readonly freeSockets = {};

  constructor(options: object = {}) {
    this.options = options;
  }

  on(): this {
    return this;
  }

  destroy(): void {}
}

/** RFC 9110 section 5.6.2 and 5.5. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
const NO_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

function validateHeaderName(name: unknown, label = 'Header name'): void {
  if (typeof name === 'string' && TOKEN.test(name)) return;
  const message = `${label} must be a valid HTTP token ["${name}"]`;
  throw nodeError(TypeError, 'ERR_INVALID_HTTP_TOKEN', message);
}

function validateHeaderValue(name: string, value: unknown): void {
  if (value === undefined) {
    const message = `Invalid value "${value}" for header "${name}"`;
    throw nodeError(TypeError, 'ERR_HTTP_INVALID_HEADER_VALUE', message);
  }
  if (!NO_VALUE.test(`${value}`)) return;
  throw nodeError(TypeError, 'ERR_INVALID_CHAR', `Invalid character in header content ["${name}"]`);
}

const globalAgent = new Agent();
/** Bytes of all headers of a message, as Node.js limits them. */
const maxHeaderSize = 16_384;

export const https = { Agent, globalAgent };
export const http = {
  ...https,
  METHODS,
  STATUS_CODES,
  maxHeaderSize,
  validateHeaderName,
  validateHeaderValue,
};
