/**
 * Publishes the built-in integrations when Annex starts, as public, under a reserved organization
 * without tokens. Publishes them again when a release changes their content.
 *
 * A hash of their files and of the SDK identifies the content, so only the first start of a release
 * bundles them. If an operator deletes one or activates an older version, that lasts until the next
 * release. If another organization owned the name before, the built-in integration is not
 * published; if one has taken it since, the built-in has another name.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SDK_SOURCE } from '../../imports/sdk-source.ts';
import type { Actor } from '../../model/actor.ts';
import { BUILT_IN_ORGANIZATION, BUILT_INS, movedBuiltIn } from '../../model/identifiers.ts';
import { inWordsOf, type LevelNames } from '../../model/level-names.ts';
import { MANIFEST_FILE } from '../../model/manifest/manifest.ts';
import { NODE_SOURCE } from '../bundle/node-source.ts';
import type { UploadForm } from '../bundle/upload-form.ts';
import type { BuiltIns } from '../store/integrations/built-ins.ts';
import type { Registry } from '../store/integrations/registry.ts';
import type { Publisher } from './publish.ts';

const FIXTURES = fileURLToPath(new URL('../../../fixtures/', import.meta.url));
const BY: Actor = { principal: { kind: 'admin', tokenId: 'built-in' }, requestId: 'start', depth: 0 };

export interface BuiltInsDeps {
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly builtIns: Pick<BuiltIns, 'contentOf' | 'published'>;
  readonly registry: Pick<Registry, 'integration'>;
  /** The product's words for spaces and sites, for the texts of the manifests. */
  readonly levelNames: LevelNames;
  /** Writes a log entry for each integration that was published or could not be. */
  report(level: 'info' | 'warn', details: Readonly<Record<string, unknown>>, message: string): void;
}

/**
 * Publishes each integration whose content changed. Never rejects: Annex also runs without them.
 */
export async function publishBuiltIns(deps: BuiltInsDeps): Promise<void> {
  for (const name of BUILT_INS) {
    try {
      await publishOne(deps, name);
    } catch (err) {
      deps.report('warn', { integration: name, err }, 'a built-in integration was not published');
    }
  }
}

async function publishOne(
  { publisher, builtIns, registry, levelNames, report }: BuiltInsDeps,
  name: string,
): Promise<void> {
  const files = filesOf(join(FIXTURES, name));
  const source = files.get(MANIFEST_FILE)?.toString('utf8') ?? '';
  files.set(MANIFEST_FILE, Buffer.from(inWordsOf(levelNames, source)));
  const contentHash = hashOf(files);
  if ((await builtIns.contentOf(name)) === contentHash) return;
  const isMoved = (await registry.integration(movedBuiltIn(name)))?.organization === BUILT_IN_ORGANIZATION;
  const worded = String(files.get(MANIFEST_FILE));
  const manifest = Buffer.from(owned(worded, isMoved ? movedBuiltIn(name) : name));
  files.delete(MANIFEST_FILE);
  const form: UploadForm = {
    files,
    singles: new Map([['manifest', manifest]]),
    filesSent: true,
    problems: [],
    fileProblems: [],
  };
  const published = await publisher.publish(form, BY);
  if (published.ok) {
    await builtIns.published(name, contentHash);
    return report(
      'info',
      { integration: name, version: published.version },
      'a built-in integration was published',
    );
  }
  const problems = published.problems.map(({ message }) => message);
  report('warn', { integration: name, problems }, 'a built-in integration was not published');
}

/**
 * Sets the reserved organization in the manifest, and the name. The folder is also an example that
 * authors publish as their own.
 */
const owned = (manifest: string, name: string): string =>
  manifest
    .replace(/^organization: .*$/m, `organization: ${BUILT_IN_ORGANIZATION}`)
    .replace(/^name: .*$/m, `name: ${name}`);

function filesOf(folder: string): Map<string, Buffer> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    paths.sort().map((path) => [relative(folder, path).split(sep).join('/'), readFileSync(path)]),
  );
}

function hashOf(files: ReadonlyMap<string, Uint8Array>): string {
  const hash = createHash('sha256');
  for (const [path, content] of [...files, ...SDK_SOURCE, ...NODE_SOURCE]) {
    const digest = createHash('sha256').update(content).digest('hex');
    hash.update(`${path}\n${digest}\n`);
  }
  return hash.digest('base64url');
}
