/**
 * `GET /v1/packages` and `/v1/packages/{file}`: the npm packages of the version that runs, for
 * authors and host products: `npm install {url}` asks no registry for them.
 *
 * Without a token, because npm sends none: they are the program itself, and nothing of a tenant.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { AnnexError } from '../../errors.ts';
import { ARCHIVES, archiveName } from '../../own-files.ts';
import type { Origins } from '../../targets/target-resolver.ts';
import { VERSION } from '../../version.ts';

const NAMES = ['annex', '@annex/sdk', '@annex/testing', '@annex/client', '@annex/components'];
/** File → name. Attack: a path of another file of this machine. */
const FILES: ReadonlyMap<string, string> = new Map(NAMES.map((name) => [archiveName(name, VERSION), name]));

const pathOf = (file: string): string => fileURLToPath(new URL(file, ARCHIVES));
const bytesOf = (file: string): Promise<number | undefined> =>
  stat(pathOf(file)).then(
    ({ size }) => size,
    () => undefined,
  );

export function packagesRoutes(app: FastifyInstance, origins: Pick<Origins, 'apiUrl'>): void {
  app.get('/v1/packages', { schema: { hide: true } }, async () => {
    const items: { name: string; version: string; url: string }[] = [];
    for (const [file, name] of FILES)
      if ((await bytesOf(file)) !== undefined)
        items.push({ name, version: VERSION, url: `${origins.apiUrl}/packages/${file}` });
    return { items };
  });
  app.get<{ Params: { file: string } }>(
    '/v1/packages/:file',
    { schema: { hide: true } },
    async (request, reply) => {
      const { file } = request.params;
      const bytes = FILES.has(file) ? await bytesOf(file) : undefined;
      if (bytes === undefined) throw unknownFile();
      reply.type('application/gzip').header('content-length', bytes);
      return reply.send(createReadStream(pathOf(file)));
    },
  );
}

function unknownFile(): AnnexError {
  const files = [...FILES.keys()].join(', ');
  const message = `This service has no such package. There are ${files}; in a clone, "npm run packages" makes them.`;
  return new AnnexError('ROUTE_UNKNOWN', message);
}
