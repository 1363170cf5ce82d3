/** How an inspection shows streams: by their state, without the library's properties. */

import { List, push } from '../list.ts';
import { objectKeys } from '../primordials.ts';
import { describeKind } from './inspect-built-in.ts';

/** Reads the state of streams; each function throws for any other value. */
export interface StreamStates {
  readableState(stream: object): { locked: boolean; state: string; supportsBYOB: boolean };
  writableState(stream: object): { locked: boolean; state: string };
  transformSides(stream: object): { readable: object; writable: object };
}

type Prototypes = Readonly<Record<'ReadableStream' | 'WritableStream' | 'TransformStream', object>> & {
  /** Prototypes of readers, writers and controllers, which are shown by name only. */
  readonly others: readonly object[];
};

/** Called once, when the part `streams` is evaluated. */
export function describeStreams(prototypes: Prototypes, states: StreamStates): void {
  describe(prototypes.ReadableStream, states.readableState);
  describe(prototypes.WritableStream, states.writableState);
  describe(prototypes.TransformStream, states.transformSides);
  for (let i = 0; i < prototypes.others.length; i++) describe(prototypes.others[i] as object, () => ({}));
}

function describe(prototype: object, read: (value: object) => object): void {
  describeKind(prototype, (value, name, inspector) => {
    const members = read(value) as Record<string, unknown>;
    const entries = new List<string>();
    const keys = objectKeys(members);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i] as string;
      push(entries, `${key}: ${inspector.show(members[key])}`);
    }
    return { title: name, entries, opaque: true };
  });
}
