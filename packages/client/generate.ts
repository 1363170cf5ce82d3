/**
 * Writes `src/generated.ts` from the OpenAPI description of a service that it starts for the
 * purpose: `node packages/client/generate.ts`. A test compares the two.
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { startTemporaryService } from '../../src/cli/temporary-service.ts';
import { clientText } from './generator/client-text.ts';
import { formatted } from './generator/formatted.ts';
import type { Description } from './generator/openapi.ts';

const TARGET = fileURLToPath(new URL('src/generated.ts', import.meta.url));

const { service, end } = await startTemporaryService({ flags: ['--built-ins', 'none', '--cells', '1'] });
try {
  const response = await fetch(`${service.controlUrl}/v1/openapi.json`);
  await writeFile(TARGET, formatted(clientText((await response.json()) as Description)));
  console.error('Wrote packages/client/src/generated.ts.');
} finally {
  await end();
}
