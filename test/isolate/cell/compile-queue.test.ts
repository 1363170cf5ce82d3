/**
 * Attack: many installations of one script of megabytes are called at once. Each load is allowed;
 * the parser's memory for all of them together is more than a cell may have.
 */
import ivm from 'isolated-vm';
import { expect, test } from 'vitest';
import { CompileQueue } from '../../../src/cell/isolates/compile-queue.ts';
import { CompiledScript, LONG_CHARS } from '../../../src/cell/isolates/compiled-script.ts';

/**
 * Compiles all scripts at once, each in its own isolate. @returns how many at the same time, and
 * how many from a cache
 */
async function compileAll(scripts: readonly CompiledScript[]): Promise<{ together: number; cached: number }> {
  let now = 0;
  let together = 0;
  let cached = 0;
  await Promise.all(
    scripts.map(async (script) => {
      const isolate = new ivm.Isolate({ memoryLimit: 128 });
      const endTurn = await script.turn();
      if (endTurn === undefined) cached += 1;
      else together = Math.max(together, ++now);
      await script.compile(isolate, 'file:///script.js').finally(() => {
        if (endTurn !== undefined) now -= 1;
        endTurn?.();
      });
      isolate.dispose();
    }),
  );
  return { together, cached };
}

const long = (mark: number) => `globalThis.x = [${'()=>{},'.repeat(LONG_CHARS / 7)} ${mark}];`;

test('long scripts are compiled one after the other', async () => {
  const queue = new CompileQueue();
  const scripts = Array.from({ length: 5 }, (_, mark) => new CompiledScript(long(mark), queue));
  expect(await compileAll(scripts)).toEqual({ together: 1, cached: 0 });
});

test('a load that waits for the same script finds it compiled', async () => {
  const script = new CompiledScript(long(0), new CompileQueue());
  expect(await compileAll(Array(5).fill(script))).toEqual({ together: 1, cached: 4 });
});

test('short scripts do not wait', async () => {
  const queue = new CompileQueue();
  const end = await queue.turn();
  expect(await new CompiledScript('1', queue).turn()).toBeUndefined();
  end();
});

test('a script that cannot be compiled ends its turn', async () => {
  const queue = new CompileQueue();
  const broken = new CompiledScript(`(${' '.repeat(LONG_CHARS)}`, queue);
  await expect(compileAll([broken])).rejects.toThrow(SyntaxError);
  expect(await compileAll([new CompiledScript(long(1), queue)])).toEqual({ together: 1, cached: 0 });
});
