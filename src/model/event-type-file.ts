/**
 * A file of event types, YAML or JSON: name → declaration
 * (`docs/events.md#declaring-types-by-a-file`). It is what `annex serve --event-types` and `annex
 * event-types push` read. The operator wrote it; each problem has its line.
 */
import { isMap, isNode, LineCounter, parseDocument } from 'yaml';
import type { DataCheck } from './event-schema.ts';
import {
  EventCatalog,
  type EventTypeDeclaration,
  eventTypeFault,
  readDeclaration,
  storedEventType,
} from './event-type.ts';

const FILE_BYTES_MAX = 8 * 1024 * 1024;

export interface EventTypeFileProblem {
  /** First is 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export interface EventTypeFile {
  readonly types: ReadonlyMap<
    string,
    { readonly declaration: EventTypeDeclaration; readonly check: DataCheck; readonly written: unknown }
  >;
  readonly problems: readonly EventTypeFileProblem[];
}

/** Reads a file of event types. `types` has those without problems. */
export function readEventTypeFile(text: string): EventTypeFile {
  const types = new Map<string, { declaration: EventTypeDeclaration; check: DataCheck; written: unknown }>();
  if (Buffer.byteLength(text) > FILE_BYTES_MAX)
    return {
      types,
      problems: [{ line: 1, column: 1, message: `The file is over ${FILE_BYTES_MAX} bytes.` }],
    };
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, schema: 'core', prettyErrors: false });
  const placeAt = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const problems: EventTypeFileProblem[] = document.errors.map(({ message, pos }) => ({
    ...placeAt(pos[0]),
    message: message.split('\n', 1)[0] ?? '',
  }));
  if (problems.length > 0) return { types, problems };
  const { contents } = document;
  if (contents === null) return { types, problems };
  if (!isMap(contents)) {
    const message = 'The file must be a map: name of an event type → its declaration.';
    return { types, problems: [{ line: 1, column: 1, message }] };
  }
  /** The nearest node of the path that exists. */
  const placeOf = (path: readonly string[]) => {
    for (let length = path.length; length > 0; length -= 1) {
      const node = document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return placeAt(node.range[0]);
    }
    return { line: 1, column: 1 };
  };
  const value = document.toJS({ maxAliasCount: 100 }) as Record<string, unknown>;
  for (const { key } of contents.items) {
    const name = String(isNode(key) && 'value' in key ? key.value : key);
    const at = isNode(key) && key.range ? placeAt(key.range[0]) : placeOf([name]);
    const fault = eventTypeFault(name);
    if (fault !== undefined) problems.push({ ...at, message: fault });
    const written = value[name];
    const read = readDeclaration(written);
    if (!read.ok) {
      for (const { path, message } of read.problems)
        problems.push({ ...placeOf([name, ...path]), message: `${name}: ${message}` });
    } else if (fault === undefined) types.set(name, { ...read, written });
  }
  return { types, problems };
}

/** The types of a file, for what needs no service. */
export const catalogOf = ({ types }: Pick<EventTypeFile, 'types'>): EventCatalog =>
  new EventCatalog(
    [...types].map(([name, { declaration }]) =>
      storedEventType(name, declaration, { createdAt: 0, updatedAt: 0 }),
    ),
  );
