/**
 * Writes `src/generated.ts` and `docs/client-reference.md` from the OpenAPI description of a service
 * that it starts for the purpose: `node packages/client/generate.ts`. A test compares them.
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { startTemporaryService } from '../../src/cli/temporary-service.ts';
import { clientText } from './generator/client-text.ts';
import { formatted } from './generator/formatted.ts';
import type { Description } from './generator/openapi.ts';
import { referenceText } from './generator/reference-text.ts';

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const { service, end } = await startTemporaryService({ flags: ['--built-ins', 'none', '--cells', '1'] });
try {
  const response = await fetch(`${service.controlUrl}/v1/openapi.json`);
  const description = (await response.json()) as Description;
  await writeFile(pathOf('src/generated.ts'), formatted(clientText(description)));
  await writeFile(pathOf('../../docs/client-reference.md'), referenceText(description));
  console.error('Wrote packages/client/src/generated.ts and docs/client-reference.md.');
} finally {
  await end();
}
