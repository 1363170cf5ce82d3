/**
 * A real Chromium, of the machine's packages. It resolves no name and reaches this machine alone.
 */
import { accessSync, constants } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PROGRAM = '/usr/bin/chromium';

function isInstalled(): boolean {
  try {
    accessSync(PROGRAM, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** On a machine without Chromium, its tests are left out; where `CI` is set, they fail. */
export const HAS_CHROMIUM = isInstalled() || process.env['CI'] === 'true';

export function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: PROGRAM,
    // Its sandbox needs namespaces, which a container may forbid. Its pages are those of the tests.
    args: ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
}
