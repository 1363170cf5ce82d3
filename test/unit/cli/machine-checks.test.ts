/** What `annex doctor` finds on this machine: ports in use, and files of tokens. */

import { once } from 'node:events';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../../src/host/config.ts';
import { checkDataFolder, checkPorts } from '../../../src/local/doctor.ts';

const configOf = (...flags: string[]) => readConfig(flags, {});

describe('a port', () => {
  async function portInUse(): Promise<number> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return (server.address() as AddressInfo).port;
  }
  const flags = (port: number) => ['--control-port', String(port), '--public-port', '0'];

  test('of another program is named, with the option that chooses another', async () => {
    const port = await portInUse();
    const [control, open] = await checkPorts(configOf(...flags(port)), false);
    expect(control).toEqual({
      check: `port ${port}`,
      state: 'warning',
      detail: 'in use by another program',
      fix: 'Choose another: annex serve --control-port <port>.',
    });
    expect(open?.state).toBe('ok');
  });

  test('of the service that answers is fine', async () => {
    const [control] = await checkPorts(configOf(...flags(await portInUse())), true);
    expect(control).toMatchObject({ state: 'ok', detail: 'in use; a service answers' });
  });
});

describe('the token of a data folder', () => {
  async function folderWithToken(mode: number) {
    const data = await mkdtemp(join(tmpdir(), 'annex-doctor-'));
    onTestFinished(() => rm(data, { recursive: true }));
    const file = join(data, 'admin-token');
    await writeFile(file, 'token');
    await chmod(file, mode);
    return { file, config: configOf('--data', data) };
  }

  test('is fine for its owner alone, and a failure where others can read it', async () => {
    expect(await checkDataFolder((await folderWithToken(0o600)).config)).toMatchObject({ state: 'ok' });
    const { file, config } = await folderWithToken(0o644);
    expect(await checkDataFolder(config)).toMatchObject({
      state: 'failed',
      detail: `other users can read ${file}`,
      fix: `Close it: chmod 600 ${file}`,
    });
  });

  test.skipIf(process.getuid?.() !== 0)('of another user is a warning: commands do not use it', async () => {
    const { file, config } = await folderWithToken(0o600);
    await chown(file, 65_534, 65_534);
    expect(await checkDataFolder(config)).toMatchObject({
      state: 'warning',
      detail: `${file} belongs to another user, so commands do not use it`,
      fix: expect.stringContaining('annex login'),
    });
  });
});
