/** What `annex demo` prints: a screen for a newcomer, and every request with `--verbose`. */
import { expect, test } from 'vitest';
import { annex } from '../../support/cli/annex-run.ts';

const LINES_MAX = 60;

test('the demo shows publish, install, call, event, signed webhook and retry on one screen', async () => {
  const { code, stdout } = await annex({ words: ['demo', '--once'] });
  expect({ code, stdout }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(
    /published and installed +hello +http.*200 .*Hello.*posted +the event.*attempt 1, signature verified: it answers 500.*attempt 2, signature verified: it answers 200.*Every step succeeded/s,
  );
  expect(stdout.split('\n').length).toBeLessThanOrEqual(LINES_MAX);
});

test('without --once it keeps serving, and names a URL to open that answers', async () => {
  let opened: Promise<string> | undefined;
  const stop = new AbortController();
  const { stdout } = await annex({
    words: ['demo'],
    signal: stop.signal,
    onOutput(text) {
      const [, url] = /Open (http\S+) in a browser.*versions\n$/s.exec(text) ?? [];
      if (url === undefined || opened !== undefined) return;
      opened = fetch(url).then((answer) => answer.text());
      void opened.finally(() => stop.abort('SIGINT'));
    },
  });
  await expect(opened).resolves.toContain('Hello');
  expect(stdout.split('\n').length).toBeLessThanOrEqual(LINES_MAX);
});

test('--verbose shows each request of the tour with its answer', async () => {
  const { code, stdout } = await annex({ words: ['demo', '--once', '--verbose'] });
  expect({ code, stdout }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/── 1\. A token for the platform.*→ POST .*\/v1\/tokens.*← 201 /s);
  expect(stdout).toContain(
    '── 36. What the receiver got: the same bytes twice, each time with a new signature',
  );
  expect(stdout).toMatch(/X-Platform-Attempt: 1.*X-Platform-Attempt: 2.*\nEvery step succeeded\.\n$/s);
});
