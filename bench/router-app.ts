/**
 * The integration of the cold benchmark: an application of ordinary size, about 75 KB as one
 * script, most of it a library (hono with three middlewares) of which a call runs a little.
 */
import { build } from 'esbuild';

const LIBRARY = `
export { Hono } from 'hono';
export { cors } from 'hono/cors';
export { jwt } from 'hono/jwt';
export { logger } from 'hono/logger';`;

const APPLICATION = `
import { createIntegration } from '@annex/sdk';
import { cors, Hono, jwt, logger } from './library.js';
const app = new Hono();
app.use('/api/*', cors());
app.use('/admin/*', logger(), jwt({ secret: 'of the benchmark', alg: 'HS256' }));
app.post('*', async (context) => context.json({ received: (await context.req.json()).hello }));
export default createIntegration({ fetch: (request) => app.fetch(request) });`;

/** Its files, by path; the first is the entry. */
export async function routerApp(): Promise<Record<string, string>> {
  const { outputFiles } = await build({
    stdin: { contents: LIBRARY, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'esnext',
  });
  return { 'index.js': APPLICATION, 'library.js': outputFiles[0]?.text ?? '' };
}
