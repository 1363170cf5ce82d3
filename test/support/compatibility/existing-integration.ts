/**
 * Integrations of `fixtures/compatibility` as they exist elsewhere: bundled by the tools of another
 * platform into one ES module, with a runtime and an API client of their own, and published as a
 * ready script. Nothing of Annex is in them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { TestService } from '../service.ts';

const FIXTURES = new URL('../../../fixtures/compatibility/', import.meta.url);
/** The import source of JSX that those tools set; resolved to the runtime of the fixtures. */
const JSX = '@platform/jsx';

const bundles = new Map<string, Promise<string>>();

/** The bundle of a fixture, as the other platform's command line writes it. */
export function bundleOf(name: string): Promise<string> {
  const known = bundles.get(name);
  if (known !== undefined) return known;
  const made = bundle(name);
  bundles.set(name, made);
  return made;
}

async function bundle(name: string): Promise<string> {
  const entry = ['index.jsx', 'index.js']
    .map((file) => fileURLToPath(new URL(`${name}/${file}`, FIXTURES)))
    .find((path) => existsSync(path));
  const { outputFiles } = await build({
    entryPoints: [entry ?? name],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: JSX,
    alias: { [`${JSX}/jsx-runtime`]: fileURLToPath(new URL('platform/jsx-runtime.js', FIXTURES)) },
    loader: { '.raw.js': 'text' },
  });
  return outputFiles[0]?.text ?? '';
}

export interface PublishOptions {
  readonly secrets?: Readonly<Record<string, string>>;
  /** Files beside the script, by path. */
  readonly files?: Readonly<Record<string, Buffer<ArrayBuffer>>>;
  /** The environment of the manifest. */
  readonly env?: string;
}

/** Publishes a fixture. @returns the answer */
export async function publishExisting(
  annex: TestService,
  name: string,
  { secrets, files = {}, env }: PublishOptions = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
  const form = new FormData();
  form.append('manifest', readFileSync(new URL(`${name}/platform-manifest.yaml`, FIXTURES), 'utf8'));
  form.append('script', await bundleOf(name));
  for (const [path, bytes] of Object.entries(files)) form.append('files', new Blob([bytes]), path);
  if (secrets !== undefined) form.append('secrets', JSON.stringify(secrets));
  if (env !== undefined) form.append('env', env);
  return annex.api('POST', '/v1/integrations', { form });
}
