/**
 * The order of the code, checked: which layer, folder and file may import which.
 * docs/decisions/source-layers.md draws the layers.
 */
import { describe, expect, test } from 'vitest';
import { cycles, filesIn, folderCycles, imports, read, sources } from '../../support/repository/sources.ts';

/** Top to bottom: a file imports from its own layer or from those below. */
const LAYERS: readonly (readonly string[])[] = [
  ['src/main.ts', 'src/local/'],
  ['src/host/serve.ts', 'src/host/service-log.ts'],
  ['src/host/workers/'],
  [
    'src/host/service.ts',
    'src/host/service-routes.ts',
    'src/host/service-processes.ts',
    'src/host/service-engine.ts',
  ],
  [
    'src/host/config.ts',
    'src/host/outbound-settings.ts',
    'src/host/read-settings.ts',
    'src/host/settings.ts',
  ],
  ['src/host/http/'],
  ['src/host/publish/', 'src/host/delivery/'],
  ['src/host/calls/'],
  ['src/host/inspector/'],
  ['src/host/cells/'],
  ['src/host/launch/'],
  ['src/host/targets/'],
  ['src/host/bundle/', 'src/host/store/', 'src/host/egress/'],
  ['src/host/database/', 'src/host/confinement/'],
  ['src/cli/'],
  ['src/imports/'],
  ['src/model/'],
  ['src/protocol/bridge.ts'],
  [
    'src/protocol/wire.ts',
    'src/protocol/parse-cell-message.ts',
    'src/protocol/frames.ts',
    'src/protocol/inspection.ts',
  ],
  [
    'src/errors.ts',
    'src/limit-table.ts',
    'src/event-limits.ts',
    'src/limits.ts',
    'src/libraries.ts',
    'src/own-files.ts',
    'src/real-files.ts',
    'src/version.ts',
  ],
];

/** Folders whose sub-folders import each other, with the reason. */
const INTERTWINED: Readonly<Record<string, string>> = {
  'src/cell/': 'an isolate has calls and jobs, and both run in a slot of an isolate',
  'sandbox/': 'a part is a piece of the web platform that is evaluated later',
  'sandbox/web/': 'the interfaces of the web platform have each other as members',
};

/** Files that import each other all the same, with the reason. */
const CYCLES: Readonly<Record<string, string>> = {
  'sandbox/web/events/message-event.ts sandbox/web/events/message-port.ts':
    'two interfaces of one standard: an event has ports, and a port makes events',
  'src/host/cells/cell-process.ts src/host/cells/in-flight-task.ts src/host/cells/in-flight-tasks.ts':
    'types only: a task learns which process has it',
  'src/host/service-routes.ts src/host/service.ts':
    'types only: those of what the composition root starts are inferred there',
};
/** Below all programs: rules and data types without I/O, and the files of Annex and of authors. */
const SHARED =
  'src/(model|imports)/|src/(errors|limits|limit-table|event-limits|libraries|own-files|real-files|version)\\.ts';

/** Programs that are apart: beside its own files, each imports only these. */
const IMPORTED_BY: Readonly<Record<string, RegExp>> = {
  'src/cell/': /^src\/(protocol\/|errors\.ts|limits\.ts)/,
  'sandbox/': /^src\/protocol\/(wire|bridge)\.ts$/,
  'src/cli/': new RegExp(`^(${SHARED}|packages/(client/src/index|sdk/declarations)\\.ts$)`),
  'packages/sdk/': new RegExp(`^(${SHARED}|sandbox/)`),
  'packages/client/': new RegExp(`^(${SHARED}|sandbox/sdk/)`),
  'packages/ui/': /^$/,
  'packages/components/': new RegExp(`^(${SHARED}|packages/ui/)`),
  'packages/testing/': new RegExp(`^(${SHARED}|packages/client/src/)`),
};
const layerOf = (path: string): number =>
  LAYERS.findIndex((layer) => layer.some((prefix) => path.startsWith(prefix)));

describe('layers', () => {
  test('every file of the host has one', () => {
    const homeless = filesIn('src').filter((path) => !path.startsWith('src/cell/') && layerOf(path) === -1);
    expect(homeless).toEqual([]);
  });

  test('a file of the host imports from its own layer and those below, and never a cell', () => {
    const breaches = filesIn('src')
      .filter((path) => !path.startsWith('src/cell/'))
      .flatMap((path) =>
        imports(path)
          .filter((target) => target.path.startsWith('src/'))
          .filter((target) => layerOf(target.path) < layerOf(path))
          .map((target) => `${path} → ${target.path}`),
      );
    expect(breaches).toEqual([]);
  });

  test('the sub-folders of a folder do not import each other in a circle', () => {
    const folders = new Set(
      sources.flatMap((path) => [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1))),
    );
    const known = (folder: string) => folder in INTERTWINED;
    const circles = [...folders].filter((folder) => !known(folder)).flatMap(folderCycles);
    expect(circles.filter((circle) => !(circle in CYCLES))).toEqual([]);
    expect([...folders].filter(known).filter((folder) => folderCycles(folder).length === 0)).toEqual([]);
  });

  test('files do not import each other in a circle, types included', () => {
    expect(cycles(sources).sort()).toEqual(Object.keys(CYCLES).sort());
  });

  test('the bundler, the store and the egress, which share a layer, do not import each other', () => {
    const neighbours = ['src/host/bundle/', 'src/host/store/', 'src/host/egress/'];
    const crossing = neighbours.flatMap((home) =>
      filesIn(home).flatMap((path) =>
        imports(path)
          .filter((target) => neighbours.some((other) => other !== home && target.path.startsWith(other)))
          .map((target) => `${path} → ${target.path}`),
      ),
    );
    expect(crossing).toEqual([]);
  });

  test('the host parses no upload: only the process of an upload imports the parsers', () => {
    const inHost = new Set<string>();
    const waiting = ['src/main.ts'];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (inHost.has(path) || !sources.includes(path)) continue;
      inHost.add(path);
      waiting.push(...imports(path).flatMap((target) => (target.typeOnly ? [] : [target.path])));
    }
    const parsers = ['archive', 'archive-links', 'tar', 'read-form', 'read-upload'];
    const apart = [
      ...parsers.map((name) => `src/host/bundle/reading/${name}.ts`),
      'src/host/bundle/bundle-code.ts',
    ];
    expect(apart.filter((path) => !sources.includes(path))).toEqual([]);
    expect(inHost.has('src/host/bundle/bundler.ts')).toBe(true);
    expect(apart.filter((path) => inHost.has(path))).toEqual([]);
  });

  test('only the egress dials out', () => {
    // A command that forwards deliveries is a client, on the machine of an author.
    const mayDial = /^src\/(host\/egress\/|cli\/commands\/listen\.ts)/;
    const dialling = sources
      .filter((path) => path.startsWith('src/') && !mayDial.test(path))
      .filter((path) => /from '(undici|node:(tls|https|http2|dns|dns\/promises))'/.test(read(path)));
    expect(dialling).toEqual([]);
  });

  test.each(Object.keys(IMPORTED_BY))('%s imports only what is on its list', (folder) => {
    const breaches = filesIn(folder).flatMap((path) =>
      imports(path)
        .filter((target) => !target.path.startsWith(folder) && !IMPORTED_BY[folder]?.test(target.path))
        .map((target) => `${path} → ${target.path}`),
    );
    expect(breaches).toEqual([]);
  });

  test('of the wire and the bridge, the sandbox imports types alone', () => {
    const values = filesIn('sandbox').flatMap((path) =>
      imports(path).filter((target) => target.path.startsWith('src/') && !target.typeOnly),
    );
    expect(values).toEqual([]);
  });
});
