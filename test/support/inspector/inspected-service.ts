/** A service that lets debuggers in, with one integration in TypeScript, and a debugger on it. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { generatedPositionFor, originalPositionFor, TraceMap } from '@jridgewell/trace-mapping';
import { expect, onTestFinished } from 'vitest';
import type { Limits } from '../../../src/limits.ts';
import { type Installed, PATIENT, startTestService, type TestService } from '../service.ts';
import { listedTargets, TestDebugger } from './test-debugger.ts';

export const NAME = 'greeter';
export const ENTRY = 'src/index.ts';

/** The author's file. Tests find its lines by their text. */
export const SOURCE = `import { createIntegration } from '@annex/sdk';

interface Greeting {
  readonly text: string;
}

function greet(name: string): Greeting {
  const greeting = \`hello \${name}\`;
  return { text: greeting };
}

export default createIntegration({
  async fetch(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url);
    if (searchParams.has('throw')) throw new TypeError('boom');
    if (searchParams.has('wait')) await new Promise(() => undefined);
    return Response.json(greet(searchParams.get('name') ?? 'world'));
  },
});
`;

export interface InspectedService {
  readonly annex: TestService;
  readonly installed: Installed;
  /** Host and port of the inspector. */
  readonly address: string;
  readonly folder: string;
}

/** Starts it, with one call behind it, so that there is an isolate. */
export async function startInspected(limits: Partial<Limits> = {}): Promise<InspectedService> {
  const folder = await mkdtemp(join(tmpdir(), 'annex-inspected-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(dirname(join(folder, ENTRY)));
  await writeFile(join(folder, ENTRY), SOURCE);
  const annex = await startTestService({
    limits: { ...PATIENT, ...limits },
    inspect: { port: 0, sourceFolder: (name) => (name === NAME ? folder : undefined) },
  });
  await annex.publish(NAME, { [ENTRY]: SOURCE });
  const installed = await annex.install(NAME);
  await fetch(installed.endpoint);
  return { annex, installed, address: annex.service.inspector ?? '', folder };
}

/** Connects a debugger to the newest isolate, as an editor does. */
export async function attach(address: string): Promise<TestDebugger> {
  const [target] = await listedTargets(address);
  return TestDebugger.connect(target?.webSocketDebuggerUrl ?? '');
}

/** The script of the author, with its source map, as a debugger learns of both. */
export class DebuggedScript {
  readonly url: string;
  readonly scriptId: string;
  readonly map: { readonly sources: string[]; readonly sourcesContent: (string | null)[] };
  readonly #trace: TraceMap;
  readonly #source: string;

  private constructor(notice: { url: string; scriptId: string; sourceMapURL: string }, folder: string) {
    this.url = notice.url;
    this.scriptId = notice.scriptId;
    const json = Buffer.from(notice.sourceMapURL.split('base64,')[1] ?? '', 'base64').toString();
    this.map = JSON.parse(json);
    this.#trace = new TraceMap(json);
    this.#source = pathToFileURL(join(folder, ENTRY)).href;
  }

  /** Has the debugger report the scripts, and waits for the author's. */
  static async of(
    inspector: TestDebugger,
    { folder }: Pick<InspectedService, 'folder'>,
  ): Promise<DebuggedScript> {
    await inspector.send('Debugger.enable');
    const notice = await inspector.next('Debugger.scriptParsed', ({ url }) =>
      url.startsWith(`annex:/${NAME}@`),
    );
    return new DebuggedScript(notice, folder);
  }

  /** Sets a breakpoint at the line of the source that has this text. */
  async breakAt(inspector: TestDebugger, text: string): Promise<void> {
    const line = SOURCE.split('\n').findIndex((one) => one.includes(text)) + 1;
    const column = (SOURCE.split('\n')[line - 1] ?? '').search(/\S/);
    const at = generatedPositionFor(this.#trace, { source: this.#source, line, column });
    const set = await inspector.send('Debugger.setBreakpointByUrl', {
      url: this.url,
      lineNumber: (at.line ?? 0) - 1,
      columnNumber: at.column ?? 0,
    });
    expect(set.locations).toHaveLength(1);
  }

  /** The line of the author's source that a frame is at. */
  lineOf(frame: { location: { lineNumber: number; columnNumber: number } }): string | undefined {
    const { lineNumber, columnNumber } = frame.location;
    const at = originalPositionFor(this.#trace, { line: lineNumber + 1, column: columnNumber });
    expect(at.source).toBe(this.#source);
    return SOURCE.split('\n')[(at.line ?? 0) - 1]?.trim();
  }
}
