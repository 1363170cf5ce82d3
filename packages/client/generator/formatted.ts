/** Formats generated TypeScript like the rest of the source: with Biome and the repository's settings. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const BIOME = fileURLToPath(new URL('../../../node_modules/.bin/biome', import.meta.url));

/** @throws Error if the text does not parse */
export function formatted(text: string): string {
  const options = { cwd: ROOT, input: text, encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 } as const;
  const { status, stdout, stderr } = spawnSync(BIOME, ['format', '--stdin-file-path=generated.ts'], options);
  if (status !== 0) throw new Error(`Biome cannot format the generated text: ${stderr}`);
  return stdout;
}
