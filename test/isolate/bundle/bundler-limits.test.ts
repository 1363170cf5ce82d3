/**
 * A hostile upload harms only itself: both sides of every limit, and each known way to crash a
 * bundler.
 */
import { expect, onTestFinished, test, vi } from 'vitest';
import { UploadJob } from '../../../src/host/bundle/bundler.ts';
import { BundlerSlots } from '../../../src/host/bundle/bundler-slots.ts';
import { pathProblem, UploadedFiles } from '../../../src/host/bundle/upload.ts';
import { publisherOf } from '../../../src/host/publish/publish.ts';
import { DEFAULT_LIMITS } from '../../../src/limits.ts';
import { aliveIn, SLOW_SOURCE, startedSession } from '../../support/bundle/bundler-processes.ts';
import { bundle, bundled, scriptOf, uploaded } from '../../support/bundle/uploaded.ts';

/** Each member is twice the one before: some thirty of them use all memory of esbuild. */
const DOUBLING_ENUM = `enum E { A0 = 'aaaaaaaaaaaaaaaa', ${Array.from(
  { length: 40 },
  (_, index) => `A${index + 1} = A${index} + A${index}`,
).join(', ')} } export default E.A1;`;

test.each([
  'index.ts',
  'src/deep/er/a.b-c_d.ts',
  'späße/日本.ts',
  '__proto__',
  '.hidden/.file',
  'a..b/...c',
  'x'.repeat(512),
])('the file name %j is accepted', (path) => {
  expect(pathProblem(path)).toBeUndefined();
});

test.each([
  ['', /is empty/],
  ['/etc/passwd', /is absolute/],
  ['../a', /contains "\.\."/],
  ['a/../b', /contains "\.\."/],
  ['a/..', /contains "\.\."/],
  ['./a', /is not normalised/],
  ['a//b', /is not normalised/],
  ['a/', /is not normalised/],
  ['.', /is not normalised/],
  ['a\\b', /backslash/],
  ['..\\..\\a', /backslash/],
  ['C:/a', /drive letter/],
  ['c:a', /drive letter/],
  ['a\0.ts', /control character/],
  ['a\nb', /control character/],
  ['a\u001b[2J', /control character/],
  ['a\u2028b', /control character/],
  ['a\ud800', /well-formed/],
  ['x'.repeat(513), /longer than 512/],
])('the file name %j is refused', async (path, message) => {
  expect(pathProblem(path)?.message).toMatch(message);
  expect(await bundled(new Map([[path, new Uint8Array()]]), path)).toMatchObject({
    ok: false,
    problems: [{}],
  });
});

test('a file sent twice is a problem, and the first stays', () => {
  const upload = new UploadedFiles({ uploadFiles: 9, uploadBytes: 9 });
  upload.add('a', new Uint8Array([1]));
  expect(upload.add('a', new Uint8Array([2]))).toBe(true);
  expect(upload.problems).toMatchObject([{ file: 'a', message: 'The upload has this file more than once.' }]);
  expect(upload.files.get('a')).toEqual(new Uint8Array([1]));
});

test('reading stops after a hundred problems', () => {
  const upload = new UploadedFiles({ uploadFiles: 9, uploadBytes: 9 });
  let read = 0;
  while (upload.add('/', new Uint8Array())) read += 1;
  expect(read).toBe(99);
  expect(upload.problems).toHaveLength(101);
});

test('as many files as allowed are bundled, one more is refused', async () => {
  const files = uploaded({ 'a.ts': 'export default 1', 'b.ts': '' });
  expect(await bundled(files, 'a.ts', { uploadFiles: 2 })).toMatchObject({ ok: true });
  expect(await bundled(files, 'a.ts', { uploadFiles: 1 })).toMatchObject({
    ok: false,
    problems: [{ message: 'The upload has too many files; the limit is 1 (uploadFiles).' }],
  });
});

test('as many bytes as allowed are bundled, one more is refused', async () => {
  const files = uploaded({ 'a.ts': 'export default 1', 'b.ts': '1234' });
  expect(await bundled(files, 'a.ts', { uploadBytes: 20 })).toMatchObject({ ok: true });
  expect(await bundled(files, 'a.ts', { uploadBytes: 19 })).toMatchObject({
    ok: false,
    problems: [{ message: 'The upload is too large; the limit is 19 bytes (uploadBytes).' }],
  });
});

test('a script of the largest size is accepted, one byte more is refused', async () => {
  const files = uploaded({ 'a.ts': 'const local = "ä"; export default [local, local];' });
  const written = Buffer.byteLength(await scriptOf(files, 'a.ts'));
  expect(await bundled(files, 'a.ts', { scriptBytes: written })).toMatchObject({ ok: true, warnings: [] });
  // Too large as it is written: its local names are shortened.
  const short = await bundled(files, 'a.ts', { scriptBytes: written - 1 });
  if (!short.ok) throw new Error('was refused');
  expect(short.warnings).toMatchObject([{ message: expect.stringContaining('names were shortened') }]);
  const scriptBytes = Buffer.byteLength(short.script);
  expect(scriptBytes).toBeLessThan(written);
  expect(await bundled(files, 'a.ts', { scriptBytes })).toMatchObject({ ok: true });
  expect(await bundled(files, 'a.ts', { scriptBytes: scriptBytes - 1 })).toMatchObject({
    ok: false,
    problems: [{ limit: { name: 'scriptBytes', max: scriptBytes - 1, used: scriptBytes } }],
  });
});

test('a build that takes too much CPU time is stopped, with all its child processes', async () => {
  const bundleMs = 1_500;
  const running = bundled(uploaded({ 'a.ts': SLOW_SOURCE }), 'a.ts', { bundleMs });
  const session = await startedSession();
  expect(await running).toMatchObject({
    ok: false,
    problems: [
      {
        file: 'a.ts',
        message: 'Bundling used up its CPU time and was stopped; the limit is 1,500 ms (bundleMs).',
      },
    ],
  });
  await expect.poll(() => aliveIn(session)).toBe(0);
});

// As on a machine whose cores all do other work: the process is stopped for longer than its time.
test('a build that gets no core is no problem of the upload', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const running = bundled(uploaded({ 'a.ts': SLOW_SOURCE }), 'a.ts', { bundleMs: 10_000 });
  const refused = expect(running).rejects.toMatchObject({
    ...{ code: 'PUBLISH_BUSY', status: 503, retryAfterS: 5 },
    message: expect.stringContaining('The upload is not the reason'),
  });
  const session = await startedSession();
  process.kill(-session, 'SIGSTOP');
  vi.advanceTimersByTime(60_500);
  await refused;
  await expect.poll(() => aliveIn(session)).toBe(0);
});

test('a build that is killed from outside is no problem of the upload', async () => {
  const running = bundled(uploaded({ 'a.ts': SLOW_SOURCE }), 'a.ts');
  const refused = expect(running).rejects.toMatchObject({ code: 'PUBLISH_BUSY' });
  process.kill(-(await startedSession()), 'SIGKILL');
  await refused;
});

test('constants that double each other reach the memory limit of the bundler, and do not affect the host', async () => {
  const result = await bundled(uploaded({ 'a.ts': DOUBLING_ENUM }), 'a.ts', { bundleMs: 60_000 });
  expect(result).toMatchObject({
    ok: false,
    problems: [{ message: expect.stringContaining('ran out of memory') }],
  });
});

test('a megabyte of brackets crashes its own bundler and no other', async () => {
  const neighbour = uploaded({ 'a.ts': 'export default 1' });
  const [hostile, ...others] = await Promise.all([
    bundled(uploaded({ 'a.ts': '['.repeat(1_000_000) }), 'a.ts'),
    bundled(neighbour, 'a.ts'),
    bundled(neighbour, 'a.ts'),
  ]);
  expect(hostile).toMatchObject({ ok: false, problems: [{ message: expect.stringContaining('stack') }] });
  for (const result of others) expect(result).toMatchObject({ ok: true });
});

test('a publisher that disconnects stops the build', async () => {
  const abort = new AbortController();
  const running = bundle(uploaded({ 'a.ts': SLOW_SOURCE }), 'a.ts', {
    limits: DEFAULT_LIMITS,
    signal: abort.signal,
  });
  const session = await startedSession();
  abort.abort(new Error('gone'));
  await expect(running).rejects.toThrow('gone');
  await expect.poll(() => aliveIn(session)).toBe(0);
  const late = bundle(uploaded({ 'a.ts': '' }), 'a.ts', { limits: DEFAULT_LIMITS, signal: abort.signal });
  await expect(late).rejects.toThrow('gone');
});

test('places are given in the order of arrival, and the queue is bounded', async () => {
  const slots = new BundlerSlots(1, 8);
  const order: string[] = [];
  const leave = await slots.enter('acme');
  const abort = new AbortController();
  const second = slots.enter('acme', abort.signal);
  const third = slots.enter('acme').then((leaveThird) => {
    order.push('third');
    leaveThird();
  });
  await expect(slots.enter('acme')).rejects.toMatchObject({ code: 'PUBLISH_BUSY' });
  abort.abort(new Error('gone'));
  await expect(second).rejects.toThrow('gone');
  expect(order).toEqual([]);
  leave();
  await third;
  (await slots.enter('acme'))();
});

test('publishers take turns: one that uploads without pause does not delay the others', async () => {
  const slots = new BundlerSlots(1, 8);
  const order: string[] = [];
  const leave = await slots.enter('busy');
  const wait = (publisher: string, name: string) =>
    slots.enter(publisher).then((leaveNext) => {
      order.push(name);
      leaveNext();
    });
  const waiting = [wait('busy', 'busy 1'), wait('busy', 'busy 2'), wait('other', 'other 1')];
  await expect(slots.enter('busy')).rejects.toThrow('Too many uploads of this organization');
  for (const publisher of ['a', 'b', 'c', 'd', 'e']) waiting.push(wait(publisher, publisher));
  await expect(slots.enter('last')).rejects.toThrow('Too many uploads wait');
  leave();
  await Promise.all(waiting);
  expect(order).toEqual(['busy 1', 'other 1', 'a', 'b', 'c', 'd', 'e', 'busy 2']);
});

test('one publisher never holds all places: the upload of another begins at once, and its own continue one by one', async () => {
  const slots = new BundlerSlots(2, 8);
  const order: string[] = [];
  const enter = (publisher: string, name: string) =>
    slots.enter(publisher).then((leave) => {
      order.push(name);
      return leave;
    });
  const leaveFirst = await enter('busy', 'busy 1');
  const second = enter('busy', 'busy 2');
  const leaveOther = await enter('other', 'other 1');
  expect(order).toEqual(['busy 1', 'other 1']);
  // With both places taken, the next free place goes to a publisher that holds none.
  const third = enter('third', 'third 1');
  leaveOther();
  const leaveThird = await third;
  leaveFirst();
  const leaveSecond = await second;
  expect(order).toEqual(['busy 1', 'other 1', 'third 1', 'busy 2']);
  leaveSecond();
  leaveThird();
});

test('three publishers that upload without pause have turns of equal number', async () => {
  const slots = new BundlerSlots(2, 20);
  const turns: string[] = [];
  const upload = async (publisher: string): Promise<void> => {
    for (let i = 0; i < 20; i += 1) {
      const leave = await slots.enter(publisher);
      turns.push(publisher);
      await new Promise((later) => setImmediate(later));
      leave();
    }
  };
  // The first has four uploads at once, as far as the queue takes them; the others have one at a
  // time.
  await Promise.all([...Array.from({ length: 4 }, () => upload('a')), upload('b'), upload('c')]);
  const early = turns.slice(0, 30);
  for (const publisher of ['b', 'c'])
    expect(early.filter((turn) => turn === publisher).length).toBeGreaterThanOrEqual(9);
});

test('the builds of one publisher leave a process for those of another', async () => {
  const options = (publisher: string) => ({ limits: DEFAULT_LIMITS, publisher });
  const own = await UploadJob.begin(options('busy'));
  const gone = new AbortController();
  const more = UploadJob.begin({ ...options('busy'), signal: gone.signal });
  const another = await UploadJob.begin(options('other'));
  gone.abort(new Error('gone'));
  await expect(more).rejects.toThrow('gone');
  own.end();
  another.end();
});

test('each organization is a publisher, and so is each token of the operator', () => {
  const admin = (tokenId: string) => publisherOf({ kind: 'admin', tokenId });
  const member = (tokenId: string, organization: string) =>
    publisherOf({ kind: 'organization', tokenId, organization });
  expect(member('one', 'acme')).toBe(member('two', 'acme'));
  const publishers = [admin('one'), admin('two'), member('one', 'acme'), member('one', 'other')];
  expect(new Set(publishers).size).toBe(publishers.length);
});
