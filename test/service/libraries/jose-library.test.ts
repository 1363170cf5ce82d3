/**
 * jose, unchanged, inside an installation of a real service: tokens that are signed or encrypted
 * inside are read outside, by the same library on Node's Web Crypto, and the other way round.
 */
import { webcrypto } from 'node:crypto';
import * as jose from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deployWithLibrary, originOf, postJson, serve } from '../../support/library.ts';
import { type Installed, TestService } from '../../support/service.ts';

let annex: TestService;
beforeAll(async () => {
  annex = await TestService.start({ flags: ['--egress-allow', '127.0.0.1/32'] });
});
afterAll(() => annex.stop());

describe('jose', () => {
  const SECRET = 'thirty-two bytes are needed here';
  const KINDS = ['HS256', 'RS256', 'PS256', 'ES256', 'ES512', 'EdDSA'];
  let signer: Installed;
  beforeAll(async () => {
    signer = await deployWithLibrary(
      annex,
      'jose-app',
      `export * from 'jose';`,
      `import { createIntegration } from '@annex/sdk';
       import * as jose from './library.js';
       const keys = {};
       const keysFor = async (alg) => (keys[alg] ??= alg === 'HS256'
         ? new TextEncoder().encode(${JSON.stringify(SECRET)})
         : await jose.generateKeyPair(alg, { extractable: true }));
       const routes = {
         // Signs, verifies its own token, and answers the token with the public key.
         async sign({ alg }) {
           const pair = await keysFor(alg);
           const token = await new jose.SignJWT({ scope: 'read' }).setProtectedHeader({ alg }).setSubject('ada').setIssuer('annex')
             .setIssuedAt().setExpirationTime('2h').sign(pair.privateKey ?? pair);
           const { payload } = await jose.jwtVerify(token, pair.publicKey ?? pair, { issuer: 'annex' });
           return { token, subject: payload.sub, jwk: pair.publicKey && (await jose.exportJWK(pair.publicKey)) };
         },
         async verify({ token, jwk, alg }) {
           const { payload, protectedHeader } = await jose.jwtVerify(token, await jose.importJWK(jwk, alg), { audience: 'annex' });
           return { payload, alg: protectedHeader.alg };
         },
         async verifyByPem({ token, pem, alg }) {
           return (await jose.jwtVerify(token, await jose.importSPKI(pem, alg))).payload;
         },
         async verifyBySet({ token, set }) {
           return (await jose.jwtVerify(token, jose.createLocalJWKSet(set))).payload;
         },
         async verifyByRemoteSet({ token, url }) {
           return (await jose.jwtVerify(token, jose.createRemoteJWKSet(new URL(url)))).payload;
         },
         async encrypt({ alg, enc, jwk, text }) {
           return new jose.CompactEncrypt(new TextEncoder().encode(text)).setProtectedHeader({ alg, enc }).encrypt(await jose.importJWK(jwk, alg));
         },
         async decrypt({ token, jwk, alg }) {
           const { plaintext } = await jose.compactDecrypt(token, await jose.importJWK(jwk, alg));
           return new TextDecoder().decode(plaintext);
         },
         async thumbprint({ jwk }) { return jose.calculateJwkThumbprint(jwk); },
       };
       export default createIntegration({ async fetch(request) {
         try {
           return Response.json(await routes[new URL(request.url).pathname.split('/').at(-1)](await request.json()));
         } catch (error) {
           return Response.json({ code: error.code ?? error.name, message: error.message }, { status: 400 });
         }
       } });`,
    );
  });

  const ask = async (what: string, question: object) =>
    (await (await fetch(`${signer.endpoint}/${what}`, postJson(question))).json()) as never;

  const symmetric = { kty: 'oct', k: jose.base64url.encode(SECRET) };
  const generated = async (alg: string) => {
    const { privateKey, publicKey } = await jose.generateKeyPair(alg, { extractable: true });
    return {
      privateKey,
      publicKey,
      jwk: await jose.exportJWK(publicKey),
      secret: await jose.exportJWK(privateKey),
    };
  };

  test.each(KINDS)('%s: a token signed inside is verified inside and outside', async (alg) => {
    const {
      token,
      subject,
      jwk = symmetric,
    } = (await ask('sign', { alg })) as { token: string; subject: string; jwk?: jose.JWK };
    expect(subject).toBe('ada');
    const { payload } = await jose.jwtVerify(token, await jose.importJWK(jwk, alg), {
      issuer: 'annex',
      subject: 'ada',
    });
    expect(payload['scope']).toBe('read');
    const forged = token.replace(
      /\.[^.]+\./,
      (claims) => `${claims.slice(0, -2)}${claims.at(-2) === 'A' ? 'B' : 'A'}.`,
    );
    await expect(jose.jwtVerify(forged, await jose.importJWK(jwk, alg))).rejects.toMatchObject({
      code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
    });
  });

  test.each(KINDS)('%s: a token signed outside is verified inside, and a forgery is refused', async (alg) => {
    const pair = alg === 'HS256' ? undefined : await generated(alg);
    const key = pair?.privateKey ?? new TextEncoder().encode(SECRET);
    const token = await new jose.SignJWT({ n: 1 }).setProtectedHeader({ alg }).setAudience('annex').sign(key);
    const jwk = pair?.jwk ?? symmetric;
    expect(await ask('verify', { token, jwk, alg })).toEqual({ payload: { n: 1, aud: 'annex' }, alg });
    const [head = '', , signature = ''] = token.split('.');
    const forged = `${head}.${jose.base64url.encode('{"n":2,"aud":"annex"}')}.${signature}`;
    expect(await ask('verify', { token: forged, jwk, alg })).toMatchObject({
      code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
    });
  });

  test('a token that has expired, or has another audience, is refused inside with the reason', async () => {
    const key = new TextEncoder().encode(SECRET);
    const signed = (token: jose.SignJWT) => token.setProtectedHeader({ alg: 'HS256' }).sign(key);
    const old = await signed(new jose.SignJWT({}).setAudience('annex').setExpirationTime(1));
    const others = await signed(new jose.SignJWT({}).setAudience('others'));
    const verify = (token: string) => ask('verify', { token, jwk: symmetric, alg: 'HS256' });
    expect(await verify(old)).toMatchObject({ code: 'ERR_JWT_EXPIRED' });
    expect(await verify(others)).toMatchObject({ code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' });
  });

  test('keys come as PEM and as sets, also over the network', async () => {
    const { privateKey, publicKey, jwk } = await generated('RS256');
    const sign = (header: object) =>
      new jose.SignJWT({ n: 1 }).setProtectedHeader({ alg: 'RS256', ...header }).sign(privateKey);
    const pem = await jose.exportSPKI(publicKey);
    expect(await ask('verifyByPem', { token: await sign({}), pem, alg: 'RS256' })).toEqual({ n: 1 });
    const set = {
      keys: [
        { ...(await generated('RS256')).jwk, kid: 'other' },
        { ...jwk, kid: 'mine' },
      ],
    };
    const token = await sign({ kid: 'mine' });
    expect(await ask('verifyBySet', { token, set })).toEqual({ n: 1 });
    expect(await ask('verifyBySet', { token: await sign({ kid: 'third' }), set })).toMatchObject({
      code: 'ERR_JWKS_NO_MATCHING_KEY',
    });
    const server = await serve((_request, response) => void response.end(JSON.stringify(set)));
    expect(await ask('verifyByRemoteSet', { token, url: `${originOf(server)}/keys` })).toEqual({ n: 1 });
    server.close();
  });

  test.each([
    ['dir', 'A256GCM'],
    ['A256KW', 'A128CBC-HS256'],
    ['RSA-OAEP-256', 'A256GCM'],
    ['ECDH-ES+A128KW', 'A128GCM'],
  ])('%s with %s: data encrypted on one side is decrypted on the other', async (alg, enc) => {
    const pair = alg === 'dir' || alg === 'A256KW' ? undefined : await generated(alg);
    const jwk = pair?.jwk ?? symmetric;
    const secret = pair?.secret ?? symmetric;
    const text = 'größer als gedacht';
    const made = await ask('encrypt', { alg, enc, jwk, text });
    const { plaintext } = await jose.compactDecrypt(made, await jose.importJWK(secret, alg));
    expect(new TextDecoder().decode(plaintext)).toBe(text);
    const sent = await new jose.CompactEncrypt(new TextEncoder().encode(text))
      .setProtectedHeader({ alg, enc })
      .encrypt(await jose.importJWK(jwk, alg));
    expect(await ask('decrypt', { token: sent, jwk: secret, alg })).toBe(text);
    const tampered = sent.replace(/[^.]+$/, (tag) => `${tag.startsWith('A') ? 'B' : 'A'}${tag.slice(1)}`);
    expect(await ask('decrypt', { token: tampered, jwk: secret, alg })).toMatchObject({
      code: 'ERR_JWE_DECRYPTION_FAILED',
    });
  });

  test('a thumbprint is the same on both sides', async () => {
    const { jwk } = await generated('ES256');
    expect(await ask('thumbprint', { jwk })).toBe(await jose.calculateJwkThumbprint(jwk));
  });

  test('a token signed inside satisfies Node’s own Web Crypto', async () => {
    const { token, jwk } = (await ask('sign', { alg: 'ES256' })) as {
      token: string;
      jwk: webcrypto.JsonWebKey;
    };
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const key = await webcrypto.subtle.importKey('jwk', jwk, algorithm, false, ['verify']);
    const [head, claims, signature = ''] = token.split('.');
    const signed = Buffer.from(`${head}.${claims}`);
    expect(await webcrypto.subtle.verify(algorithm, key, Buffer.from(signature, 'base64url'), signed)).toBe(
      true,
    );
  });
});
