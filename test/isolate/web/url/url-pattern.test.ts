/** URLPattern inside an isolate, against the data of web-platform-tests. */
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

const WPT = new URL('../../../../../shared/wpt/', import.meta.url);
const available = existsSync(WPT);
if (!available) console.warn(`SKIPPED: the data of web-platform-tests is not at ${WPT.pathname}`);

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate({ memoryMib: 128 });
});
afterAll(() => isolate.dispose());

/** Inputs of the data whose result is not that of the standard, each with the reason. */
const KNOWN_WRONG: Readonly<Record<string, string>> = {};

/** Checks one entry of the data, inside the isolate. @returns the fault, or undefined */
const JUDGE = `
  const COMPONENTS = ['protocol', 'username', 'password', 'hostname', 'port', 'pathname', 'search', 'hash'];
  const LESS_SPECIFIC = { protocol: [], hostname: ['protocol'], port: ['protocol', 'hostname'], username: [], password: [],
    pathname: ['protocol', 'hostname', 'port'], search: ['protocol', 'hostname', 'port', 'pathname'],
    hash: ['protocol', 'hostname', 'port', 'pathname', 'search'] };
  const attempt = (run) => { try { return { value: run() }; } catch (error) { return { error: error.name }; } };

  function expectedPattern(entry, component) {
    const [input, second] = entry.pattern;
    const given = entry.expected_obj?.[component];
    if (given !== undefined) return given;
    if (entry.exactly_empty_components?.includes(component)) return '';
    const isInit = typeof input === 'object';
    if (isInit && input[component]) return input[component];
    if (isInit && LESS_SPECIFIC[component].some((other) => other in input)) return '*';
    const base = input?.baseURL || (typeof second === 'string' ? second : undefined);
    if (base === undefined || component === 'username' || component === 'password') return '*';
    const value = new URL(base)[component];
    if (component === 'protocol') return value.slice(0, -1);
    return component === 'search' || component === 'hash' ? value.slice(1) : value;
  }

  function judge(entry) {
    const made = attempt(() => new URLPattern(...entry.pattern));
    if (entry.expected_obj === 'error') return made.error === 'TypeError' ? undefined : 'made';
    if (made.error) return 'constructor: ' + made.error;
    const pattern = made.value;
    for (const component of COMPONENTS) {
      const expected = expectedPattern(entry, component);
      if (pattern[component] !== expected) return component + ': ' + pattern[component] + ', not ' + expected;
    }
    const inputs = entry.inputs ?? [];
    const tested = attempt(() => pattern.test(...inputs));
    const executed = attempt(() => pattern.exec(...inputs));
    const match = entry.expected_match;
    if (match === 'error') return tested.error === 'TypeError' && executed.error === 'TypeError' ? undefined : 'no error';
    if (tested.value !== Boolean(match)) return 'test: ' + JSON.stringify(tested);
    if (!match) return executed.value === null ? undefined : 'exec: ' + JSON.stringify(executed);
    const result = executed.value;
    const expectedInputs = match.inputs ?? inputs;
    if (result.inputs.length !== expectedInputs.length) return 'inputs';
    for (let i = 0; i < expectedInputs.length; i++) {
      const [actual, expected] = [result.inputs[i], expectedInputs[i]];
      const same = typeof expected === 'string' ? actual === expected : COMPONENTS.every((name) => actual[name] === expected[name]);
      if (!same) return 'inputs[' + i + ']';
    }
    for (const component of COMPONENTS) {
      const wildcard = !entry.exactly_empty_components?.includes(component);
      const expected = match[component] ?? { input: '', groups: wildcard ? { 0: '' } : {} };
      const { input, groups } = result[component];
      const names = Object.keys(expected.groups);
      const same = input === expected.input && names.length === Object.keys(groups).length
        && names.every((name) => name in groups && groups[name] === (expected.groups[name] ?? undefined));
      if (!same) return component + ': ' + JSON.stringify(result[component]) + ', not ' + JSON.stringify(expected);
    }
  }`;

describe.skipIf(!available)('web-platform-tests', () => {
  test('every pattern of urlpatterntestdata.json is parsed and matched as in the standard', async () => {
    const data = readFileSync(new URL('urlpatterntestdata.json', WPT), 'utf8');
    const wrong = (await isolate.run(`${JUDGE}
      const wrong = [];
      for (const entry of ${data}) {
        const why = judge(entry);
        if (why !== undefined) wrong.push([JSON.stringify([entry.pattern, entry.inputs]), why]);
      }
      return wrong;`)) as [input: string, why: string][];
    expect(wrong.filter(([input]) => KNOWN_WRONG[input] === undefined)).toEqual([]);
    expect(wrong.length).toBe(Object.keys(KNOWN_WRONG).length);
    expect((JSON.parse(data) as unknown[]).length).toBeGreaterThan(350);
  });
});

test('the constructor takes a string with a base URL, or components, and options with either', async () => {
  expect(
    await isolate.run(`
      const attempt = (...parameters) => {
        try { const { hostname, pathname } = new URLPattern(...parameters); return [hostname, pathname]; } catch (error) { return error.name; }
      };
      return [
        attempt(), attempt(undefined), attempt(null), attempt({}, undefined), attempt({ pathname: '/a' }, null), attempt({ pathname: '/a' }, {}),
        attempt('/a', 'https://b.example'), attempt('/a', 'https://b.example', { ignoreCase: true }), attempt('/a', 'https://b.example', undefined),
        attempt('/a'), attempt('/a', {}), attempt('/a', 'no URL'), attempt({}, 'https://b.example'), attempt({}, undefined, {}),
        attempt({}, 'https://b.example', {}), attempt('/a', 'https://b.example', 1), attempt(1, 'https://b.example/c/'), attempt(Symbol()),
        attempt({ pathname: Symbol() }), attempt(new URL('https://b.example/a')),
      ];`),
  ).toEqual([
    ['*', '*'],
    ['*', '*'],
    ['*', '*'],
    ['*', '*'],
    ['*', '/a'],
    ['*', '/a'],
    ['b.example', '/a'],
    ['b.example', '/a'],
    ['b.example', '/a'],
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    'TypeError',
    ['b.example', '/c/1'],
    'TypeError',
    'TypeError',
    ['b.example', '/a'],
  ]);
});

test('the members of an init are read once each, in the order of Web IDL', async () => {
  expect(
    await isolate.run(`
      const read = [];
      const init = new Proxy({ pathname: '/a' }, { get: (target, name) => { read.push(name); return target[name]; } });
      new URLPattern(init);
      return read;`),
  ).toEqual([
    'baseURL',
    'hash',
    'hostname',
    'password',
    'pathname',
    'port',
    'protocol',
    'search',
    'username',
  ]);
});

test('components that are less specific are inherited from a base URL, credentials only by a URL', async () => {
  expect(
    await isolate.run(`
      const COMPONENTS = ['protocol', 'username', 'password', 'hostname', 'port', 'pathname', 'search', 'hash'];
      const baseURL = 'https://u:p@b.example:8080/a/b?c#d';
      const inits = [{}, { protocol: 'http' }, { hostname: 'h' }, { port: '1' }, { pathname: 'x' }, { search: 'x' }, { hash: 'x' }, { username: 'x' }, { password: 'x' }, { pathname: '/x' }];
      const any = new URLPattern();
      return inits.map((init) => {
        const pattern = new URLPattern({ ...init, baseURL });
        const result = any.exec({ ...init, baseURL });
        return [COMPONENTS.map((name) => pattern[name]).join(' '), COMPONENTS.map((name) => result[name].input).join(' ')];
      });`),
  ).toEqual([
    ['https * * b.example 8080 /a/b c d', 'https u p b.example 8080 /a/b c d'],
    ['http * * * * * * *', 'http       '],
    ['https * * h * * * *', 'https   h    '],
    ['https * * b.example 1 * * *', 'https   b.example 1   '],
    ['https * * b.example 8080 /a/x * *', 'https u p b.example 8080 /a/x  '],
    ['https * * b.example 8080 /a/b x *', 'https u p b.example 8080 /a/b x '],
    ['https * * b.example 8080 /a/b c x', 'https u p b.example 8080 /a/b c x'],
    ['https x * b.example 8080 /a/b c d', 'https x  b.example 8080 /a/b c d'],
    ['https * x b.example 8080 /a/b c d', 'https u x b.example 8080 /a/b c d'],
    ['https * * b.example 8080 /x * *', 'https u p b.example 8080 /x  '],
  ]);
});

test('special characters of a base URL are escaped in a pattern', async () => {
  expect(
    await isolate.run(`
      const pattern = new URLPattern({ search: 'x', baseURL: 'data:a*b:c/(d)' });
      const relative = new URLPattern('d', 'https://b.example/a+(b)/c');
      return [pattern.pathname, pattern.test('data:a*b:c/(d)?x'), new URLPattern({ pathname: 'e', baseURL: 'data:a/b' }).pathname, relative.pathname, relative.test('https://b.example/a+(b)/d')];`),
  ).toEqual(['a\\*b\\:c/\\(d\\)', true, 'e', '/a\\+\\(b\\)/d', true]);
});

test('ignoreCase matches path, search and hash in any case', async () => {
  expect(
    await isolate.run(`
      const init = { protocol: 'https', pathname: '/Foo/:rest', search: 'A=b', hash: 'H' };
      return [undefined, { ignoreCase: false }, { ignoreCase: 1 }].map((options) =>
        new URLPattern(init, options).test('https://a.example/fOO/x?a=B#h'));`),
  ).toEqual([false, false, true]);
});

test('hasRegExpGroups is true if a component has a regular expression', async () => {
  expect(
    await isolate.run(`
      const patterns = [{}, { pathname: '/:a/*' }, { pathname: '/:a([^\\\\/]+?)' }, { pathname: '/(.*)' }, { pathname: '/:a(x|y)' },
        { hash: '(a)' }, { search: ':a(b)?' }, { port: '(80|81)' }, { hostname: '(a|b).example' }];
      return patterns.map((init) => new URLPattern(init).hasRegExpGroups);`),
  ).toEqual([false, false, false, false, true, true, true, true, true]);
});

test('exec returns ordinary objects with the members in order, whatever the names of groups', async () => {
  expect(
    await isolate.run(`
      const pattern = new URLPattern({ pathname: '/:__proto__/:constructor?' });
      const result = pattern.exec('/a?q', 'https://b.example');
      const { groups } = result.pathname;
      const input = { pathname: '/x', hostname: 'h', other: 1 };
      const copied = pattern.exec(input).inputs[0];
      return [Object.keys(result), Object.keys(result.pathname), Object.entries(groups), 'constructor' in groups && groups.constructor === undefined,
        Object.getPrototypeOf(groups) === Object.prototype, result.inputs, Object.entries(copied), copied !== input];`),
  ).toEqual([
    ['hash', 'hostname', 'inputs', 'password', 'pathname', 'port', 'protocol', 'search', 'username'],
    ['groups', 'input'],
    [
      ['__proto__', 'a'],
      ['constructor', null],
    ],
    true,
    true,
    ['/a?q', 'https://b.example'],
    [
      ['hostname', 'h'],
      ['pathname', '/x'],
    ],
    true,
  ]);
});

test('for test and exec, an invalid URL is no match, and a base URL with components is an error', async () => {
  expect(
    await isolate.run(`
      const pattern = new URLPattern({});
      const attempt = (run) => { try { return run(); } catch (error) { return error.name; } };
      return [pattern.test(), pattern.test('no URL'), pattern.test('/a', 'no URL'), pattern.test('/a', 'https://b.example'), pattern.exec('no URL'),
        pattern.test({ port: 'x' }), pattern.test({ baseURL: 'x' }), pattern.test({ protocol: '1' }), pattern.test({ hostname: 'a b' }),
        attempt(() => pattern.test({}, 'https://b.example')), attempt(() => pattern.exec(undefined, '')), attempt(() => pattern.test(Symbol())),
        attempt(() => pattern.test({ get port() { throw new RangeError(); } }))];`),
  ).toEqual([
    true,
    false,
    false,
    true,
    null,
    false,
    false,
    false,
    false,
    'TypeError',
    'TypeError',
    'TypeError',
    'RangeError',
  ]);
});

test('a group twice, braces left open or a bad expression is a TypeError', async () => {
  expect(
    await isolate.run(`
      const inputs = [{ pathname: '/:a/:a' }, { pathname: '/{a' }, { pathname: '/a}' }, { pathname: '(' }, { pathname: '/(a' }, { pathname: '()' },
        { pathname: '(?a)' }, { pathname: '(a(b))' }, { pathname: '([)' }, { pathname: '(é)' }, { pathname: ':' }, { pathname: '\\\\' }, { pathname: '/{a:b}{c' },
        { protocol: '1' }, { port: 'x' }, { port: '65536' }, { hostname: 'a b' }, { hostname: '[::g]' }, { pathname: '{{a}}' }, { pathname: '?' }];
      return inputs.filter((input) => { try { new URLPattern(input); return true; } catch (error) { return !(error instanceof TypeError); } });`),
  ).toEqual([]);
});

test('URLPattern has the shape of an interface', async () => {
  expect(
    await isolate.run(`
      const { prototype } = URLPattern;
      const names = Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
      const refused = names.filter((name) => {
        const { get, value } = Object.getOwnPropertyDescriptor(prototype, name);
        try { Reflect.apply(get ?? value, Object.create(prototype), []); return false; } catch (error) { return error instanceof TypeError; }
      });
      const closed = names.filter((name) => Object.getOwnPropertyDescriptor(prototype, name).set === undefined && Object.getOwnPropertyDescriptor(prototype, name).enumerable);
      let called; try { URLPattern(); } catch (error) { called = error.name; }
      return [names.sort(), refused.length, closed.length, called, String(new URLPattern()), URLPattern.name, URLPattern.length, prototype.test.length, prototype.exec.length];`),
  ).toEqual([
    [
      'exec',
      'hasRegExpGroups',
      'hash',
      'hostname',
      'password',
      'pathname',
      'port',
      'protocol',
      'search',
      'test',
      'username',
    ],
    11,
    11,
    'TypeError',
    '[object URLPattern]',
    'URLPattern',
    0,
    0,
    0,
  ]);
});

test('a pattern still matches after the script has replaced the URL class', async () => {
  const own = await createWebIsolate();
  expect(
    await own.run(`
      new URLPattern();
      globalThis.URL = undefined;
      return new URLPattern({ hostname: 'é.example' }).test({ hostname: 'É.example' });`),
  ).toBe(true);
  own.dispose();
});

test('the bound on domain look-ups is an error, and not a result', async () => {
  const own = await createWebIsolate();
  try {
    expect(
      await own.run(`
        const pattern = new URLPattern({ hostname: '*.example' });
        const attempt = (run) => { try { return run(); } catch (error) { return error.name + ': ' + error.message; } };
        const before = pattern.test({ hostname: '\u00fc.example' });
        prelude.setDomainToAscii(() => { throw new RangeError('too many'); });
        const input = { hostname: '\u00fc.example' };
        return [before, ...[() => pattern.test(input), () => pattern.exec(input), () => pattern.test('http://\u00fc.example/'), () => URL.canParse('http://\u00fc.example/'),
          () => URL.parse('http://\u00fc.example/'), () => pattern.test({ hostname: 'a b' })].map(attempt)];`),
    ).toEqual([true, ...Array(5).fill('RangeError: too many'), false]);
  } finally {
    own.dispose();
  }
});
