/**
 * The members that Request and Response share (https://fetch.spec.whatwg.org/#body-mixin), put onto
 * both prototypes.
 *
 * The methods are `async`, so that every error is a rejection, also for a wrong receiver. Their
 * fast path awaits nothing.
 */

import type { Bytes } from '../encoding/bytes.ts';
import { utf8Decode, utf8DecodeWithoutBom, utf8Encode } from '../encoding/utf8.ts';
import { charCodeAt, jsonParse, slice, typedArrayBuffer } from '../primordials.ts';
import type { Box } from '../promise-box.ts';
import { decodedStream } from '../streams/decoded-stream.ts';
import { parseUrlencoded } from '../url/urlencoded.ts';
import { type Blob, blobOver } from './blob.ts';
import { Body, drainBody, isBytes, isUnusable, isUsed, streamOf, takeForm } from './body.ts';
import { type FormData, type FormEntry, formOf } from './form-data.ts';
import { getHeader, type HeaderList } from './header-list.ts';
import { extractMimeType, serializeMimeType } from './mime-type.ts';
import { parseMultipart } from './multipart.ts';

export interface BodyMixin {
  readonly body: ReadableStream | null;
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
  bytes(): Promise<Bytes>;
  formData(): Promise<FormData>;
  json(): Promise<unknown>;
  text(): Promise<string>;
  textStream(): ReadableStream;
}

/** Defines the members. The two functions throw a TypeError unless `self` is of the class. */
export function mixInBody<T extends object>(
  prototype: T,
  bodyOf: (self: T) => Body | undefined,
  headersOf: (self: T) => HeaderList,
): void {
  const mixin: BodyMixin & ThisType<T> = {
    get body() {
      const body = bodyOf(this);
      return body === undefined ? null : streamOf(body);
    },
    get bodyUsed() {
      const body = bodyOf(this);
      return body !== undefined && isUsed(body);
    },
    async arrayBuffer() {
      const all = toBytes(bodyOf(this), true);
      return typedArrayBuffer(isBytes(all) ? all : (await all).bytes);
    },
    async blob() {
      const all = toBytes(bodyOf(this), false);
      const bytes = isBytes(all) ? all : (await all).bytes;
      const type = extractMimeType(getHeader(headersOf(this), 'content-type'));
      return blobOver(bytes, type === undefined ? '' : serializeMimeType(type));
    },
    async bytes() {
      const all = toBytes(bodyOf(this), true);
      return isBytes(all) ? all : (await all).bytes;
    },
    async formData() {
      const body = bodyOf(this);
      const direct = takeForm(body);
      if (direct !== undefined) return direct;
      const all = toBytes(body, false);
      const bytes = isBytes(all) ? all : (await all).bytes;
      return formOf(parseForm(bytes, getHeader(headersOf(this), 'content-type')));
    },
    async json() {
      const text = toText(bodyOf(this));
      return jsonParse(typeof text === 'string' ? text : await text);
    },
    async text() {
      return toText(bodyOf(this));
    },
    textStream() {
      const body = bodyOf(this) ?? new Body('');
      if (isUnusable(body)) throw new TypeError('The body has already been used, or is locked by a reader');
      return decodedStream(streamOf(body));
    },
  };
  Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(mixin));
}

function toBytes(body: Body | undefined, owned: boolean): Bytes | Promise<Box> {
  if (body === undefined) return new Uint8Array();
  const all = drainBody(body, owned);
  return typeof all === 'string' ? utf8Encode(all) : all;
}

function toText(body: Body | undefined): string | Promise<string> {
  if (body === undefined) return '';
  const all = drainBody(body, false);
  if (typeof all === 'string') return charCodeAt(all, 0) === 0xfeff ? slice(all, 1) : all;
  return isBytes(all) ? utf8Decode(all) : decodeLater(all);
}

const decodeLater = async (box: Promise<Box>): Promise<string> => utf8Decode((await box).bytes);

/** The last step of `formData()`. @throws TypeError unless the bytes are a form of that type */
function parseForm(bytes: Bytes, contentType: string | null): readonly FormEntry[] {
  const type = extractMimeType(contentType);
  switch (type?.essence) {
    case 'multipart/form-data': {
      const boundary = type.parameters.get('boundary');
      if (boundary === undefined)
        throw new TypeError('The Content-Type multipart/form-data names no boundary');
      return parseMultipart(bytes, boundary);
    }
    case 'application/x-www-form-urlencoded':
      return parseUrlencoded(utf8DecodeWithoutBom(bytes));
    default:
      throw new TypeError(`A body of type ${type?.essence ?? '(none)'} is not a form`);
  }
}
