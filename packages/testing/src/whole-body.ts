/**
 * Bodies of requests and answers that are read whole. Node.js reads a body with the global
 * `queueMicrotask`, which a test may have faked: such a body would never end.
 */

/** An object whose body is these bytes, read without `queueMicrotask`. */
export function withWholeBody<Message extends Request | Response>(
  message: Message,
  bytes: Uint8Array<ArrayBuffer>,
): Message {
  const prototype: object = Object.getPrototypeOf(message);
  let isRead = false;
  const isUsed = () => isRead || Boolean(Reflect.get(prototype, 'bodyUsed', message));
  const refuseUsed = () => {
    if (isUsed()) throw new TypeError('Body is unusable: Body has already been read');
  };
  const taken = async () => {
    refuseUsed();
    isRead = message.body !== null;
    return bytes.slice();
  };
  const text = async () => new TextDecoder().decode(await taken());
  const type = () => message.headers.get('content-type') ?? '';
  const readers = {
    arrayBuffer: async () => (await taken()).buffer,
    blob: async () => new Blob([await taken()], { type: type() }),
    bytes: taken,
    clone() {
      refuseUsed();
      const clone: () => Message = Reflect.get(prototype, 'clone');
      return withWholeBody(clone.call(message), bytes);
    },
    json: async () => JSON.parse(await text()),
    text,
  };
  for (const [name, value] of Object.entries(readers)) Object.defineProperty(message, name, { value });
  return Object.defineProperty(message, 'bodyUsed', { get: isUsed });
}

/** Runs what makes an answer and reads it, with a `queueMicrotask` that is no fake. */
export async function unfaked<Value>(work: () => Promise<Value>): Promise<Value> {
  const faked = globalThis.queueMicrotask;
  globalThis.queueMicrotask = (callback) => void Promise.resolve().then(callback);
  try {
    return await work();
  } finally {
    globalThis.queueMicrotask = faked;
  }
}
