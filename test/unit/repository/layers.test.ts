/**
 * The order of the code, checked: which layer, folder and file may import which.
 * docs/decisions/source-layers.md draws the layers.
 */
import { describe, expect, test } from 'vitest';
import { cycles, filesIn, imports, read, sources } from '../../support/repository/sources.ts';

/** Top to bottom: a file imports from its own layer or from those below. */
const LAYERS: readonly (readonly string[])[] = [
  ['src/main.ts', 'src/local/'],
  ['src/serve.ts', 'src/service-log.ts'],
  ['src/workers/'],
  ['src/service.ts', 'src/service-routes.ts', 'src/service-processes.ts', 'src/service-engine.ts'],
  ['src/config.ts', 'src/settings.ts'],
  ['src/http/'],
  ['src/publish/', 'src/delivery/'],
  ['src/calls/'],
  ['src/inspector/'],
  ['src/cells/'],
  ['src/launch/'],
  ['src/targets/'],
  ['src/bundle/', 'src/store/', 'src/egress/'],
  ['src/database/', 'src/confinement/'],
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
    'src/limits.ts',
    'src/own-files.ts',
    'src/real-files.ts',
    'src/version.ts',
  ],
];

/**
 * Top to bottom within a folder, by file or sub-folder. What a list does not name is at the bottom.
 * The list of the store names everything.
 */
const FOLDER_LAYERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'src/http/': [
    ['control/'],
    ['public/'],
    ['listener.ts', 'credentials.ts', 'client-connections.ts', 'chunked-request.ts', 'client-caller.ts'],
    ['error-answer.ts', 'slow-senders.ts', 'loopback-listeners.ts', 'client-address.ts', 'request-head.ts'],
  ],
  'src/http/control/': [
    ['control-routes.ts'],
    ['events/'],
    ['components/', 'content/', 'deliveries/', 'product/', 'audit.ts', 'introspection.ts'],
    ['installations/', 'integrations/', 'logs.ts', 'tokens.ts', 'time-range.ts', 'list-forms.ts'],
    ['log-events.ts'],
    ['following/', 'log-line-view.ts'],
    ['typed-routes.ts', 'schemas.ts'],
  ],
  'src/http/public/': [
    ['public-routes.ts'],
    ['streamed-upload.ts'],
    ['answer.ts', 'envelope.ts', 'request-body.ts', 'request-authorizer.ts'],
    ['body-budget.ts', 'envelope-event.ts', 'envelope-signatures.ts', 'request-rates.ts'],
  ],
  'src/publish/': [['built-ins.ts'], ['publish.ts', 'receive-upload.ts']],
  'src/delivery/': [
    ['open-delivery.ts'],
    ['open-intake.ts'],
    ['accept/test-events.ts'],
    ['accept/event-acceptance.ts', 'accept/task-acceptance.ts', 'delivery-orders.ts'],
    ['delivery-worker.ts', 'accept/recipients.ts'],
    ['attempts.ts', 'backlog-poll.ts', 'backlog-at-start.ts'],
    ['handler-delivery.ts', 'webhook-delivery.ts', 'lifecycle/'],
    ['event-call.ts', 'failure-text.ts', 'leases.ts', 'repeated-writes.ts'],
    ['in-flight.ts'],
    ['retry.ts', 'worker-loop.ts'],
    ['scheduler/fair-scheduler.ts'],
    ['scheduler/quotas.ts', 'scheduler/back-offs.ts', 'scheduler/refill-slots.ts'],
    ['scheduler/endpoint-queue.ts'],
  ],
  'src/calls/': [
    ['published-scripts.ts'],
    ['dispatch.ts'],
    ['running-call.ts'],
    ['call-traffic.ts'],
    ['call-fetches.ts'],
    ['call-streams.ts'],
    ['call-log.ts', 'incoming-stream.ts', 'shed-error.ts'],
    ['admission.ts', 'call.ts', 'outgoing-stream.ts'],
  ],
  'src/cells/': [
    ['pool.ts'],
    ['placement.ts', 'script-probes.ts'],
    ['quarantine.ts'],
    ['cell-place.ts'],
    ['cell-process.ts', 'in-flight-task.ts', 'in-flight-tasks.ts'],
    ['cell-death.ts', 'script-requests.ts'],
  ],
  'src/inspector/': [
    ['inspector.ts'],
    ['debugger-connection.ts', 'inspected-targets.ts'],
    ['inspector-target.ts', 'inspection-settings.ts', 'request-check.ts', 'script-map.ts'],
  ],
  'src/launch/': [
    ['cell-launch.ts'],
    ['cell-program.ts'],
    ['cell-build.ts'],
    ['cell-folder.ts', 'cell-sources.ts'],
  ],
  'src/targets/': [['open-targets.ts'], ['caller-statements.ts'], ['target-resolver.ts']],
  'src/bundle/': [
    ['bundler.ts', 'bundler-process.ts'],
    ['bundler-child.ts', 'bundle-code.ts'],
    ['build-problems.ts', 'bundler-wire.ts', 'jsx-in-typescript.ts', 'reading/'],
    ['bundle-result.ts', 'bundler-confinement.ts', 'upload-form.ts', 'virtual-files.ts'],
    ['spare-bundler.ts'],
    ['glob-imports.ts', 'bundler-message.ts', 'bundler-program.ts', 'sdk-exports.ts'],
  ],
  'src/imports/': [
    ['source-options.ts'],
    ['jsx.ts'],
    ['tsconfig.ts'],
    ['resolve-import.ts'],
    ['node-modules.ts', 'optional-imports.ts', 'sdk-source.ts'],
  ],
  'src/store/': [
    ['store.ts', 'backup.ts'],
    ['housekeeping.ts', 'target-source.ts', 'reseal/'],
    ['webhooks/', 'events/'],
    ['installations/', 'deliveries/'],
    ['integrations/'],
    ['tokens.ts', 'logs.ts', 'audit.ts', 'statement-keys.ts', 'spent-signatures.ts'],
    ['log-poll.ts', 'followed-logs.ts'],
    ['audit-rows.ts', 'log-lines.ts', 'store-changes.ts', 'vault/'],
  ],
  'src/egress/': [
    ['egress-metrics.ts', 'product-metrics.ts'],
    ['product-client.ts'],
    ['egress.ts', 'webhook/'],
    ['connection-pools.ts', 'connector.ts', 'redirect.ts', 'network-errors.ts'],
    [
      'policy.ts',
      'name-resolution.ts',
      'request-head.ts',
      'decoding.ts',
      'fetch-tally.ts',
      'this-machine.ts',
    ],
  ],
  'src/database/': [
    ['copy/'],
    ['sqlite/', 'postgres/'],
    ['database.ts', 'transaction.ts', 'group-commit.ts'],
    ['availability.ts'],
    ['migrations.ts', 'bulk.ts', 'locks.ts', 'notices.ts', 'engine.ts'],
  ],
  'src/workers/': [['supervisor.ts'], ['worker-slot.ts', 'worker-link.ts', 'machine-metrics.ts']],
  'src/confinement/': [['confine.ts', 'launch.ts'], ['layers.ts'], ['bubblewrap.ts']],
  'src/model/': [
    ['credentials-mask.ts'],
    ['actor.ts', 'redaction.ts', 'target.ts', 'unknown-name-errors.ts', 'example-event.ts'],
    ['configuration-', 'environment.ts', 'posted-event.ts', 'principal.ts', 'runtime-token-format.ts'],
    ['endpoint-urls.ts', 'oauth-state.ts'],
    ['installation.ts', 'schema-check.ts'],
    ['manifest/author-types.ts', 'manifest/manifest-schema.ts', 'manifest/stored-manifest.ts'],
    ['manifest/secrets.ts', 'manifest/block-markdown.ts', 'manifest/image.ts'],
    ['manifest/find-manifest.ts'],
    ['manifest/manifest.ts'],
    ['manifest/'],
    ['contentkit/'],
  ],
  'src/protocol/': [
    ['bridge.ts', 'parse-cell-message.ts'],
    ['wire.ts', 'frames.ts'],
  ],
  'src/cell/': [
    ['main.ts'],
    ['isolates/isolates.ts'],
    ['isolates/tenant-isolate.ts'],
    ['isolates/cpu-and-wall-limits.ts', 'calls/emission-reader.ts'],
    ['isolates/cell-parts.ts', 'isolates/entry-queue.ts'],
    ['inspection/cell-inspector.ts', 'inspection/inspected-isolate.ts'],
    ['crypto/'],
    ['calls/'],
    ['isolates/'],
  ],
  'src/local/': [
    ['annex.ts'],
    ['commands.ts'],
    ['check.ts', 'dev/', 'doctor/', 'demo/', 'serve.ts', 'store/', 'testing/'],
    ['temporary-service.ts'],
  ],
  'src/cli/': [
    ['run-annex.ts'],
    ['commands/'],
    ['reference.ts', 'installation/', 'traffic/'],
    ['upload/publish-upload.ts'],
    ['upload/prepared-upload.ts'],
    ['upload/folder-upload.ts', 'upload/secret-values.ts', 'upload/upload-'],
    ['upload/', 'new-folder.ts'],
    ['program.ts', 'typed-folder.ts'],
    ['command.ts'],
    ['context.ts'],
    ['profile/'],
    ['terminal/'],
  ],
  'sandbox/': [
    ['entry.ts'],
    ['handlers.ts'],
    ['call-request.ts', 'bridge-guard.ts', 'fetch.ts', 'load.ts', 'timers.ts'],
    [
      'call.ts',
      'inbound.ts',
      'outbound.ts',
      'outbound-buffered.ts',
      'pending-fetches.ts',
      'isolate-streams.ts',
    ],
    ['parts/data-url.ts', 'parts/performance-observer.ts', 'parts/streams.ts', 'parts/url', 'sdk/'],
    ['web/'],
  ],
};

/** Files that import each other all the same, with the reason. */
const CYCLES: Readonly<Record<string, string>> = {
  'sandbox/web/events/message-event.ts sandbox/web/events/message-port.ts':
    'two interfaces of one standard: an event has ports, and a port makes events',
  'src/cells/cell-process.ts src/cells/in-flight-task.ts src/cells/in-flight-tasks.ts':
    'types only: a task learns which process has it',
  'src/service-routes.ts src/service.ts':
    'types only: those of what the composition root starts are inferred there',
};
/** Below all programs: rules and data types without I/O, and the files of Annex and of authors. */
const SHARED = 'src/(model|imports)/|src/(errors|limits|limit-table|own-files|real-files|version)\\.ts';

/** Programs that are apart: beside its own files, each imports only these. */
const IMPORTED_BY: Readonly<Record<string, RegExp>> = {
  'src/cell/': /^src\/(protocol\/|errors\.ts|limits\.ts)/,
  'sandbox/': /^src\/protocol\/(wire|bridge)\.ts$/,
  'src/cli/': new RegExp(`^(${SHARED}|packages/(client/src/index|sdk/declarations)\\.ts$)`),
  'packages/sdk/': new RegExp(`^(${SHARED}|sandbox/)`),
  'packages/client/': new RegExp(`^(${SHARED}|sandbox/sdk/)`),
  'packages/components/': new RegExp(`^(${SHARED})`),
  'packages/testing/': new RegExp(`^(${SHARED}|packages/client/src/)`),
};
const layerIn = (layers: readonly (readonly string[])[], path: string): number =>
  layers.findIndex((layer) => layer.some((prefix) => path.startsWith(prefix)));
const layerOf = (path: string): number => layerIn(LAYERS, path);

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

  test.each(Object.keys(FOLDER_LAYERS))('a file of %s imports from its own layer and below', (folder) => {
    const lists = FOLDER_LAYERS[folder] ?? [];
    const layer = (path: string): number => {
      const at = layerIn(lists, path.slice(folder.length));
      return at === -1 ? lists.length : at;
    };
    const breaches = filesIn(folder).flatMap((path) =>
      imports(path)
        .filter((target) => target.path.startsWith(folder) && layer(target.path) < layer(path))
        .map((target) => `${path} → ${target.path}`),
    );
    expect(breaches).toEqual([]);
  });

  test('what the lists of folders name exists', () => {
    const missing = Object.entries(FOLDER_LAYERS).flatMap(([folder, lists]) =>
      lists
        .flat()
        .map((name) => folder + name)
        .filter((prefix) => !sources.some((path) => path.startsWith(prefix))),
    );
    expect(missing).toEqual([]);
  });

  test('the list of the store names all of its files', () => {
    const lists = FOLDER_LAYERS['src/store/'] ?? [];
    const homeless = filesIn('src/store').filter((path) => layerIn(lists, path.slice(10)) === -1);
    expect(homeless).toEqual([]);
  });

  test('files do not import each other in a circle, types included', () => {
    expect(cycles(sources).sort()).toEqual(Object.keys(CYCLES).sort());
  });

  test('the bundler, the store and the egress, which share a layer, do not import each other', () => {
    const neighbours = ['src/bundle/', 'src/store/', 'src/egress/'];
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
    const parsers = ['archive', 'archive-links', 'archive-tree', 'tar', 'read-form', 'read-upload'];
    const apart = [...parsers.map((name) => `src/bundle/reading/${name}.ts`), 'src/bundle/bundle-code.ts'];
    expect(apart.filter((path) => !sources.includes(path))).toEqual([]);
    expect(inHost.has('src/bundle/bundler.ts')).toBe(true);
    expect(apart.filter((path) => inHost.has(path))).toEqual([]);
  });

  test('only the egress dials out', () => {
    // A command that forwards deliveries is a client, on the machine of an author.
    const mayDial = /^src\/(egress|cli\/traffic)\//;
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
