/**
 * Names that code finds without declaring them: the globals of an isolate, which a test compares
 * with a real one, and those that the bundler gives (`sandbox/node/globals.ts`, `define`).
 */
const NAMES = `
  AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean
  DataView Date DisposableStack Error EvalError Float16Array Float32Array Float64Array Function
  Infinity Int16Array Int32Array Int8Array Intl Iterator JSON Map Math NaN Number Object Promise
  Proxy RangeError ReferenceError Reflect RegExp Set String SuppressedError Symbol SyntaxError
  Temporal TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef
  WeakSet decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite
  isNaN parseFloat parseInt undefined unescape AbortController AbortSignal Blob
  ByteLengthQueuingStrategy CompressionStream CountQueuingStrategy Crypto CryptoKey CustomEvent
  DOMException DecompressionStream ErrorEvent Event EventSource EventTarget File FormData Headers
  MessageChannel MessageEvent MessagePort Navigator Performance PerformanceEntry PerformanceMark
  PerformanceMeasure PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming QuotaExceededError ReadableByteStreamController ReadableStream
  ReadableStreamBYOBReader ReadableStreamBYOBRequest ReadableStreamDefaultController
  ReadableStreamDefaultReader Request Response SubtleCrypto TextDecoder TextDecoderStream
  TextEncoder TextEncoderStream TransformStream TransformStreamDefaultController URL URLPattern
  URLSearchParams WritableStream WritableStreamDefaultController WritableStreamDefaultWriter
  addEventListener atob btoa clearInterval clearTimeout console crypto dispatchEvent fetch
  navigator onerror performance queueMicrotask removeEventListener reportError self setInterval
  setTimeout structuredClone`;

const GIVEN = ['Buffer', 'process', 'setImmediate', 'clearImmediate', 'global', 'MODE'];

/** What an isolate has itself. */
export const ISOLATE_GLOBALS: readonly string[] = NAMES.trim().split(/\s+/);

export const KNOWN_GLOBALS: ReadonlySet<string> = new Set([...ISOLATE_GLOBALS, ...GIVEN, 'arguments']);
