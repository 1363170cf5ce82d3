/**
 * `tee` for the prelude, also with copied chunks for the second stream, as the fetch standard
 * requires of a body.
 */
import { part } from '../parts.ts';
import { PromiseIntrinsic, promiseThen, uncurryThis } from '../primordials.ts';
import type { SourceController, StreamPair } from './stream.ts';
import { acquireReader, DONE, isByteStream, newReadableStream } from './stream-internals.ts';

type Stream = ReadableStream;
const { genuine, libraryTee } = part('streams');
const tee = uncurryThis(libraryTee as (this: unknown) => [object, object]);

/** @param cloneChunk makes the second stream's chunk from the first's; if it throws, both fail */
export function teeStream(of: Stream, cloneChunk: ((chunk: unknown) => unknown) | undefined): StreamPair {
  if (cloneChunk !== undefined && !isByteStream(of)) return teeCloning(of, cloneChunk);
  const pair = tee(of);
  return { first: genuine(pair[0]) as Stream, second: genuine(pair[1]) as Stream };
}

/**
 * "ReadableStreamDefaultTee" with cloneForBranch2
 * (https://streams.spec.whatwg.org/#abstract-opdef-readablestreamdefaulttee).
 */
function teeCloning(of: Stream, cloneChunk: (chunk: unknown) => unknown): StreamPair {
  const source = acquireReader(of);
  const controls: (SourceController | undefined)[] = [undefined, undefined];
  const reasons: unknown[] = [undefined, undefined];
  const cancelled = [false, false];
  let settle: (result: unknown) => void = () => {};
  const over = new PromiseIntrinsic<unknown>((resolve) => {
    settle = resolve;
  });
  let reading = false;
  let again = false;

  const each = (act: (control: SourceController, which: number) => void): void => {
    for (let i = 0; i < 2; i++) {
      const control = controls[i];
      if (control !== undefined && !cancelled[i]) act(control, i);
    }
  };
  const pass = (chunk: unknown): void => {
    again = false;
    let copy: unknown;
    try {
      if (!cancelled[1]) copy = cloneChunk(chunk);
    } catch (error) {
      each((control) => control.error(error));
      settle(source.cancel(error));
      return;
    }
    each((control, which) => control.enqueue(which === 0 ? chunk : copy));
    reading = false;
    if (again) pull();
  };
  const pull = (): undefined => {
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    source.read({
      chunk: (chunk) => void promiseThen(DONE, () => pass(chunk)),
      close: () => {
        reading = false;
        each((control) => control.close());
        if (!cancelled[0] || !cancelled[1]) settle(undefined);
      },
      error: () => {
        reading = false;
      },
    });
  };
  const branch = (which: 0 | 1): Stream =>
    newReadableStream(
      {
        start: (control) => {
          controls[which] = control;
        },
        pull,
        cancel: (reason) => {
          cancelled[which] = true;
          reasons[which] = reason;
          if (cancelled[1 - which]) settle(source.cancel([reasons[0], reasons[1]]));
          return over;
        },
      },
      1,
    );
  const pair = { first: branch(0), second: branch(1) };
  source.onError((reason) => {
    each((control) => control.error(reason));
    if (!cancelled[0] || !cancelled[1]) settle(undefined);
  });
  return pair;
}
