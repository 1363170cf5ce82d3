/**
 * Official API clients of npm, published from their `node_modules` and called: their requests reach
 * a server of the test through `fetch`, in their own form and with their own signatures.
 */
import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { originOf, serve } from '../../support/library.ts';
import { withNodePackages } from '../../support/node-package.ts';
import { TestService } from '../../support/service.ts';

let annex: TestService;
let server: Server;
let origin: string;
/** What the server has got, and what it answers. */
const requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
let answer: { status?: number; type?: string; body: string };

beforeAll(async () => {
  annex = await TestService.start({ flags: ['--egress-allow', '127.0.0.1/32'] });
  server = await serve(async (request, response) => {
    const { method = '', url = '', headers } = request;
    requests.push({ method, url, headers, body: await text(request) });
    response.writeHead(answer.status ?? 200, { 'content-type': answer.type ?? 'application/json' });
    response.end(answer.body);
  });
  origin = originOf(server);
});
afterAll(async () => {
  server.close();
  await annex.stop();
});

/** Publishes and installs code that answers with the value of its function `run(origin)`. */
async function run(name: string, source: string): Promise<unknown> {
  requests.length = 0;
  const code = `${source}
    export default { async fetch(request) {
      try { return Response.json(await run(${JSON.stringify(origin)})); }
      catch (error) { return Response.json({ failed: String(error?.stack ?? error) }); }
    } };`;
  await annex.publish(name, await withNodePackages(code));
  const { endpoint } = await annex.install(name);
  const response = await fetch(`${endpoint}/`);
  return response.json();
}

test('stripe creates a customer, reads an error, and checks the signature of a webhook', async () => {
  answer = { body: JSON.stringify({ id: 'cus_1', object: 'customer', name: 'Ada' }) };
  const payload = JSON.stringify({ id: 'evt_1', object: 'event', type: 'invoice.paid' });
  const at = Math.floor(Date.now() / 1_000);
  const v1 = createHmac('sha256', 'whsec_1').update(`${at}.${payload}`).digest('hex');
  const found = await run(
    'stripe-app',
    `import Stripe from 'stripe';
     const payload = ${JSON.stringify(payload)};
     const signed = (v1) => 't=${at},v1=' + v1;
     async function run(origin) {
       const { hostname, port } = new URL(origin);
       const stripe = new Stripe('sk_test_1', { host: hostname, port, protocol: 'http', maxNetworkRetries: 0 });
       const customer = await stripe.customers.create({ name: 'Ada', metadata: { a: '1' } });
       const event = await stripe.webhooks.constructEventAsync(payload, signed('${v1}'), 'whsec_1');
       const forged = await stripe.webhooks.constructEventAsync(payload, signed('00'), 'whsec_1').catch((error) => error.type);
       return { customer: customer.name, event: event.type, forged };
     }`,
  );
  expect(found).toEqual({
    customer: 'Ada',
    event: 'invoice.paid',
    forged: 'StripeSignatureVerificationError',
  });
  expect(requests).toMatchObject([
    {
      method: 'POST',
      url: '/v1/customers',
      headers: { authorization: 'Bearer sk_test_1' },
      body: 'name=Ada&metadata[a]=1',
    },
  ]);
});

test('@slack/web-api posts a message and reads an error of the API', async () => {
  answer = { body: JSON.stringify({ ok: true, channel: 'C1', ts: '1.2' }) };
  const found = await run(
    'slack-app',
    `import { WebClient } from '@slack/web-api';
     async function run(origin) {
       const slack = new WebClient('xoxb-1', { slackApiUrl: origin + '/api/', retryConfig: { retries: 0 } });
       return slack.chat.postMessage({ channel: 'C1', text: 'größer', blocks: [{ type: 'divider' }] });
     }`,
  );
  expect(found).toMatchObject({ ok: true, ts: '1.2' });
  const [sent] = requests;
  expect(sent).toMatchObject({ method: 'POST', url: '/api/chat.postMessage' });
  expect(sent?.headers.authorization).toBe('Bearer xoxb-1');
  expect(Object.fromEntries(new URLSearchParams(sent?.body))).toEqual({
    channel: 'C1',
    text: 'größer',
    blocks: '[{"type":"divider"}]',
  });
});

test('@octokit/rest reads pages of issues', async () => {
  answer = { body: JSON.stringify([{ number: 1, title: 'one' }]) };
  const found = await run(
    'octokit-app',
    `import { Octokit } from '@octokit/rest';
     async function run(origin) {
       const octokit = new Octokit({ auth: 'ghp_1', baseUrl: origin });
       const issues = await octokit.paginate(octokit.rest.issues.listForRepo, { owner: 'o', repo: 'r', per_page: 5 });
       return issues.map(({ title }) => title);
     }`,
  );
  expect(found).toEqual(['one']);
  expect(requests).toMatchObject([
    { url: '/repos/o/r/issues?per_page=5', headers: { authorization: 'token ghp_1' } },
  ]);
});

test('openai streams a completion', async () => {
  const part = (content: string) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`;
  answer = { type: 'text/event-stream', body: `${part('Hello ')}${part('wörld')}data: [DONE]\n\n` };
  const found = await run(
    'openai-app',
    `import OpenAI from 'openai';
     async function run(origin) {
       const openai = new OpenAI({ apiKey: 'sk-1', baseURL: origin + '/v1', maxRetries: 0, dangerouslyAllowBrowser: true });
       const stream = await openai.chat.completions.create({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] });
       let text = '';
       for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
       return text;
     }`,
  );
  expect(found).toBe('Hello wörld');
  expect(requests).toMatchObject([
    { method: 'POST', url: '/v1/chat/completions', headers: { authorization: 'Bearer sk-1' } },
  ]);
});

test('@aws-sdk/client-s3 signs an upload', async () => {
  answer = { type: 'application/xml', body: '' };
  const found = await run(
    's3-app',
    `import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
     async function run(origin) {
       const s3 = new S3Client({ region: 'eu-central-1', endpoint: origin, forcePathStyle: true, maxAttempts: 1,
         credentials: { accessKeyId: 'AKIA1', secretAccessKey: 'secret' } });
       const { $metadata } = await s3.send(new PutObjectCommand({ Bucket: 'b', Key: 'a/ö.txt', Body: 'hello', ContentType: 'text/plain' }));
       return $metadata.httpStatusCode;
     }`,
  );
  expect(found).toBe(200);
  const [put] = requests;
  expect(put).toMatchObject({ method: 'PUT', url: '/b/a/%C3%B6.txt?x-id=PutObject', body: 'hello' });
  expect(put?.headers['x-amz-content-sha256']).toBe(createHash('sha256').update('hello').digest('hex'));
  expect(put?.headers.authorization).toBe(signatureV4(put as (typeof requests)[0], 'secret'));
});

/** The signature of an S3 request, computed from its specification. */
function signatureV4(request: (typeof requests)[0], secret: string): string {
  const { authorization = '' } = request.headers;
  const [, scope = '', names = ''] =
    /Credential=AKIA1\/([^,]+), SignedHeaders=([^,]+), /.exec(authorization) ?? [];
  const [path = '', query = ''] = request.url.split('?');
  const headers = names.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
  const canonical = [
    request.method,
    path,
    query,
    headers.join(''),
    names,
    request.headers['x-amz-content-sha256'],
  ];
  const sha256 = createHash('sha256').update(canonical.join('\n')).digest('hex');
  const text = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, sha256].join('\n');
  const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return `AWS4-HMAC-SHA256 Credential=AKIA1/${scope}, SignedHeaders=${names}, Signature=${hmac(key, text).toString('hex')}`;
}

test('twilio sends a message, draws TwiML and checks the signature of a request', async () => {
  answer = { status: 201, body: JSON.stringify({ sid: 'SM1', body: 'hello' }) };
  const url = 'https://a.example/sms';
  const signature = createHmac('sha1', 'token').update(`${url}BodyhiFrom+1`).digest('base64');
  const found = await run(
    'twilio-app',
    `import twilio from 'twilio';
     async function run(origin) {
       const client = twilio('AC1', 'token');
       // Its requests go to a fixed host of Twilio; the address is the only change.
       const { httpClient } = client;
       const request = httpClient.request.bind(httpClient);
       httpClient.request = (options) => request({ ...options, uri: options.uri.replace('https://api.twilio.com', origin) });
       const { sid } = await client.messages.create({ to: '+2', from: '+1', body: 'hello' });
       const twiml = new twilio.twiml.MessagingResponse();
       twiml.message('a < b');
       const check = (signature) => twilio.validateRequest('token', signature, '${url}', { Body: 'hi', From: '+1' });
       return { sid, twiml: twiml.toString(), genuine: check('${signature}'), forged: check('x') };
     }`,
  );
  expect(found).toEqual({
    sid: 'SM1',
    twiml: '<?xml version="1.0" encoding="UTF-8"?><Response><Message>a &lt; b</Message></Response>',
    genuine: true,
    forged: false,
  });
  expect(requests).toMatchObject([
    {
      method: 'POST',
      url: '/2010-04-01/Accounts/AC1/Messages.json',
      headers: { authorization: `Basic ${Buffer.from('AC1:token').toString('base64')}` },
      body: 'To=%2B2&From=%2B1&Body=hello',
    },
  ]);
});

test('axios sends JSON through interceptors, and has the answer of an error', async () => {
  answer = { status: 422, body: '{"wrong":"name"}' };
  const found = await run(
    'axios-app',
    `import axios from 'axios';
     async function run(origin) {
       const client = axios.create({ baseURL: origin, params: { page: 2 } });
       client.interceptors.request.use((config) => { config.headers.set('x-trace', 't1'); return config; });
       try { await client.post('/things', { name: 'größer' }); }
       catch (error) { return { code: error.code, status: error.response.status, data: error.response.data }; }
     }`,
  );
  expect(found).toEqual({ code: 'ERR_BAD_REQUEST', status: 422, data: { wrong: 'name' } });
  expect(requests).toMatchObject([
    { method: 'POST', url: '/things?page=2', headers: { 'x-trace': 't1' }, body: '{"name":"größer"}' },
  ]);
});

test('graphql-request asks with variables, and graphql runs a schema', async () => {
  answer = { body: JSON.stringify({ data: { user: { name: 'Ada' } } }) };
  const found = await run(
    'graphql-app',
    `import { GraphQLClient, gql } from 'graphql-request';
     import { buildSchema, graphql } from 'graphql';
     async function run(origin) {
       const client = new GraphQLClient(origin + '/graphql', { headers: { authorization: 'Bearer 1' } });
       const { user } = await client.request(gql\`query Q($id: ID!) { user(id: $id) { name } }\`, { id: 1 });
       const schema = buildSchema('type Query { hello(name: String!): String }');
       const { data } = await graphql({ schema, source: '{ hello(name: "Ada") }', rootValue: { hello: ({ name }) => 'Hello ' + name } });
       return { user, hello: data.hello };
     }`,
  );
  expect(found).toEqual({ user: { name: 'Ada' }, hello: 'Hello Ada' });
  expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ variables: { id: 1 }, operationName: 'Q' });
});
