/**
 * DOMException inside an isolate, as in Web IDL, and the functions that throw it: `atob` and
 * `btoa`.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

test('a DOMException is a genuine error with its attributes on the prototype', async () => {
  expect(
    await isolate.run(`
      const exception = new DOMException('m', 'InvalidCharacterError');
      Object.defineProperty(exception, 'name', { value: 'WrongDocumentError' });
      const shadowed = [exception.code, String(exception)];
      const plain = new DOMException();
      const accessors = ['name', 'message', 'code'].map((key) => {
        const { get, set, enumerable, configurable } = Object.getOwnPropertyDescriptor(DOMException.prototype, key);
        let unbranded; try { get.call(DOMException.prototype); } catch (error) { unbranded = error.name; }
        return [typeof get, set === undefined, enumerable, configurable, unbranded, Object.hasOwn(plain, key)];
      });
      let called; try { DOMException(); } catch (error) { called = error.name; }
      return [shadowed, [plain.name, plain.message, plain.code, plain.cause === undefined], accessors, called, Error.isError(plain), plain instanceof Error,
        Object.getPrototypeOf(DOMException.prototype) === Error.prototype, Object.getPrototypeOf(DOMException) === Function.prototype,
        Object.prototype.toString.call(plain), Object.getOwnPropertyNames(plain), DOMException.length, Object.hasOwn(DOMException.prototype, 'toString')];`),
  ).toEqual([
    [5, 'WrongDocumentError: m'],
    ['Error', '', 0, true],
    Array(3).fill(['function', true, true, true, 'TypeError', false]),
    'TypeError',
    true,
    true,
    true,
    true,
    '[object DOMException]',
    ['stack'],
    0,
    false,
  ]);
});

test('its constants and its codes agree, on the interface and on the prototype', async () => {
  expect(
    await isolate.run(`
      const codes = Object.keys(DOMException).map((key) => [key, DOMException[key], DOMException.prototype[key]]);
      return [codes.length, codes.every(([, one, other], i) => one === i + 1 && other === one), DOMException.DATA_CLONE_ERR,
        Object.getOwnPropertyDescriptor(DOMException, 'ABORT_ERR'),
        ['IndexSizeError', 'NotFoundError', 'AbortError', 'QuotaExceededError', 'DataCloneError', 'ValidationError', 'OperationError', 'DOMStringSizeError'].map((name) => new DOMException('', name).code)];`),
  ).toEqual([
    25,
    true,
    25,
    { value: 20, writable: false, enumerable: true, configurable: false },
    [1, 8, 20, 22, 25, 0, 0, 0],
  ]);
});

test('its arguments are texts, or options with a name and a cause', async () => {
  expect(
    await isolate.run(`
      const shown = (...parameters) => { const { name, message, cause } = new DOMException(...parameters); return [name, message, cause ?? null]; };
      let refused; try { new DOMException(Symbol()); } catch (error) { refused = error.name; }
      return [shown(null), shown(undefined, undefined), shown(1, null), shown('m', { name: 'N', cause: 'c' }), shown('m', {}), refused];`),
  ).toEqual([
    ['Error', 'null', null],
    ['Error', '', null],
    ['null', '1', null],
    ['N', 'm', 'c'],
    ['Error', 'm', null],
    'TypeError',
  ]);
});

test('it can be extended, and its stack begins where it was made', async () => {
  expect(
    await isolate.run(`
      class Mine extends DOMException { constructor() { super('m', 'MineError'); } }
      const here = function here() { return new DOMException('text', 'AbortError'); };
      const mine = new Mine();
      return [mine instanceof Mine, mine instanceof DOMException, mine.name, mine.stack.split('\\n')[0], here().stack.split('\\n').slice(0, 2).map((line) => line.trim().split(' (')[0])];`),
  ).toEqual([true, true, 'MineError', 'MineError: m', ['AbortError: text', 'at here']]);
});

test('atob accepts exactly the input of a forgiving decoder', async () => {
  expect(
    await isolate.run(`
      const attempt = (data) => { try { return atob(data); } catch (error) { return error instanceof DOMException ? error.code : error.name; } };
      return ['', 'YQ==', 'YQ', 'YWI=', 'YWJj', ' Y W\\tJ\\nj\\f\\r', 'YQ= =', 'YR==', 'Y', 'YQ=', 'YWJj=', '====', '=', 'YQ==YQ==', 'Y-_=', 'Yé==', 'YQ\\u00a0==', 'YQ==\\0', undefined, null, 12, NaN, {}]
        .map(attempt).map((value) => typeof value === 'string' ? [...value].map((char) => char.charCodeAt(0)).join() : value)
        .concat([attempt(Symbol()), (() => { try { atob(); } catch (error) { return error.name; } })(), (() => { try { atob({ toString() { throw new SyntaxError('own'); } }); } catch (error) { return error.message; } })(), atob.length]);`),
  ).toEqual([
    ...['', '97', '97', '97,98', '97,98,99', '97,98,99', '97', '97'],
    ...Array(10).fill(5),
    5, // "undefined" has a length that no encoder makes
    '158,233,101', // "null"
    '215',
    '53,163',
    5,
    ...['TypeError', 'TypeError', 'own', 1],
  ]);
});

test('btoa takes characters up to U+00FF', async () => {
  expect(
    await isolate.run(`
      const every = String.fromCharCode(...Array(256).keys());
      const attempt = (data) => { try { return btoa(data); } catch (error) { return error instanceof DOMException ? error.name : 'other'; } };
      return [['', 'a', 'ab', 'abc', '\\xff', undefined, null, 7, true, '\\u0100', '😀'].map(attempt), atob(btoa(every)) === every, btoa.length];`),
  ).toEqual([
    [
      ...['', 'YQ==', 'YWI=', 'YWJj', '/w==', 'dW5kZWZpbmVk', 'bnVsbA==', 'Nw==', 'dHJ1ZQ=='],
      ...['InvalidCharacterError', 'InvalidCharacterError'],
    ],
    true,
    1,
  ]);
});
