/**
 * `npm run bench:libraries`: the cost of much-used packages of npm, as a table for
 * `docs/npm-packages.md`.
 *
 *   upload  files and bytes that an author's tool uploads (`test/support/node-package.ts`)
 *   script  bytes of the bundle
 *   publish the time of the publish: reading, bundling, the probe
 *   first   p50 of the first call of an installation, which starts its isolate
 *   next    p50 of the second call
 *
 * The first row is an integration without packages: the others compare with it.
 */

import { DEFAULT_LIMITS } from '../src/limits.ts';
import { startTemporaryService } from '../src/local/temporary-service.ts';
import { bundle, uploaded } from '../test/support/bundle/uploaded.ts';
import { withNodePackages } from '../test/support/node-package.ts';

const INSTALLATIONS = 15;
/** Time between first calls: those of new tenants do not come back to back. */
const PAUSE_MS = 25;

/** Name → what an integration imports, and what its answer says. */
const USES: Readonly<Record<string, readonly [imports: string, use: string]>> = {
  'no package': ['', `'hello'`],
  stripe: [`import Stripe from 'stripe';`, `new Stripe('sk_test_1').customers.constructor.name`],
  '@slack/web-api': [
    `import { WebClient } from '@slack/web-api';`,
    `typeof new WebClient('x').chat.postMessage`,
  ],
  '@octokit/rest': [`import { Octokit } from '@octokit/rest';`, `typeof new Octokit().rest.issues.create`],
  openai: [
    `import OpenAI from 'openai';`,
    `typeof new OpenAI({ apiKey: 'x', dangerouslyAllowBrowser: true }).chat`,
  ],
  '@aws-sdk/client-s3': [
    `import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';`,
    `typeof new S3Client({ region: 'eu-central-1' }).send + typeof PutObjectCommand`,
  ],
  twilio: [`import twilio from 'twilio';`, `typeof twilio('AC1', 'token').messages.create`],
  jsonwebtoken: [`import jwt from 'jsonwebtoken';`, `jwt.sign({ a: 1 }, 'secret')`],
  axios: [`import axios from 'axios';`, `typeof axios.create().get`],
  'graphql-request, graphql': [
    `import { GraphQLClient } from 'graphql-request';`,
    `typeof new GraphQLClient('https://a.example').request`,
  ],
  'react, react-dom/server': [
    `import { createElement } from 'react'; import { renderToString } from 'react-dom/server';`,
    `renderToString(createElement('p', null, 'hello'))`,
  ],
  zod: [`import { z } from 'zod';`, `z.object({ a: z.string() }).safeParse({ a: 'b' }).success`],
  jose: [`import { SignJWT, jwtVerify } from 'jose';`, `typeof SignJWT + typeof jwtVerify`],
  'date-fns': [`import { addDays, format } from 'date-fns';`, `format(addDays(new Date(0), 1), 'yyyy')`],
  nanoid: [`import { nanoid } from 'nanoid';`, `nanoid()`],
  'itty-router': [`import { AutoRouter } from 'itty-router';`, `typeof AutoRouter().fetch`],
};

interface Row {
  readonly name: string;
  readonly files: number;
  readonly uploadBytes: number;
  readonly scriptBytes: number;
  readonly publishMs: number;
  readonly firstMs: number;
  readonly nextMs: number;
}

async function main(): Promise<void> {
  const { service, end } = await startTemporaryService({
    flags: ['--built-ins', 'none', '--cells', '1', ...process.argv.slice(2)],
    limits: { isolatesPerCell: INSTALLATIONS },
  });
  try {
    const admin = service.firstAdminToken ?? '';
    const api: Api = async (path, init) => {
      const headers = { ...init.headers, authorization: `Bearer ${admin}` };
      const response = await fetch(`${service.controlUrl}/v1/${path}`, { ...init, method: 'POST', headers });
      if (response.status !== 201) throw new Error(`${path} answered ${await response.text()}`);
      return (await response.json()) as Record<string, unknown>;
    };
    const rows: Row[] = [];
    for (const [index, name] of Object.keys(USES).entries())
      rows.push(await measure(api, name, `app-${index}`));
    console.log(table(rows));
  } finally {
    await end();
  }
}

type Api = (path: string, init: RequestInit) => Promise<Record<string, unknown>>;

async function measure(api: Api, name: string, app: string): Promise<Row> {
  const [imports, use] = USES[name] ?? ['', ''];
  const files = await withNodePackages(
    `import { createIntegration } from '@annex/sdk';\n${imports}\n` +
      `export default createIntegration({ fetch: () => new Response(String(${use})) });\n`,
  );
  const form = new FormData();
  form.append(
    'manifest',
    `name: ${app}\ntitle: Bench\ndescription: For the benchmark.\norganization: acme\nvisibility: public\nscopes: []\nscript: index.js\n`,
  );
  for (const [path, source] of Object.entries(files)) form.append('files', new Blob([source]), path);
  const publishMs = await elapsed(() => api('integrations', { body: form }));
  const result = await bundle(uploaded(files), 'index.js', { limits: DEFAULT_LIMITS });
  if (!result.ok) throw new Error(`${name} does not bundle.`);
  const { firstMs, nextMs } = await calls(api, app);
  return {
    name,
    files: Object.keys(files).length,
    uploadBytes: Object.values(files).reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    scriptBytes: Buffer.byteLength(result.script),
    publishMs,
    firstMs,
    nextMs,
  };
}

/** First and second calls of new installations. */
async function calls(api: Api, app: string): Promise<{ firstMs: number; nextMs: number }> {
  const first: number[] = [];
  const next: number[] = [];
  for (let at = 0; at < INSTALLATIONS; at++) {
    const { urls } = await api(`integrations/${app}/installations`, {
      body: JSON.stringify({ organization: `${app}-${at}` }),
      headers: { 'content-type': 'application/json' },
    });
    const { publicEndpoint } = urls as { publicEndpoint: string };
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    for (const times of [first, next]) {
      times.push(
        await elapsed(async () => {
          const response = await fetch(`${publicEndpoint}/`);
          await response.text();
          if (response.status !== 200) throw new Error(`${app} answered ${response.status}.`);
        }),
      );
    }
  }
  return { firstMs: median(first), nextMs: median(next) };
}

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

function table(rows: readonly Row[]): string {
  const kib = (bytes: number) => `${(bytes / 1_024).toFixed(bytes < 10_240 ? 1 : 0)} KiB`;
  const ms = (value: number) => value.toFixed(1);
  const lines = rows.map(
    (row) =>
      `| ${row.name} | ${row.files}, ${kib(row.uploadBytes)} | ${kib(row.scriptBytes)} | ${Math.round(row.publishMs)} ms | ${ms(row.firstMs)} ms | ${ms(row.nextMs)} ms |`,
  );
  return [
    '| package | upload | script | publish | first call | next call |',
    '|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

await main();
