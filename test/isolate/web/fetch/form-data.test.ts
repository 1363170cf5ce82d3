/** FormData inside an isolate, and multipart both ways. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createWebIsolate, type WebIsolate } from '../../../support/web/web-isolate.ts';

let isolate: WebIsolate;
beforeAll(async () => {
  isolate = await createWebIsolate();
});
afterAll(() => isolate.dispose());

const tools = `const errorName = async (run) => { try { await run(); return 'none'; } catch (error) { return error?.name ?? error; } };
  const lines = (...lines) => lines.join('\\r\\n');
  const parse = (body, type = 'multipart/form-data; boundary=b') => new Response(body, { headers: { 'content-type': type } }).formData();
  const show = async (form) => Promise.all([...form].map(async ([name, value]) => typeof value === 'string' ? [name, value] : [name, value.name, value.type, await value.text()]));
  const part = (...head) => lines('--b', ...head, '', 'value', '--b--', '');`;

test('a blob becomes a file named "blob", a file keeps name and date unless it is given another name', async () => {
  expect(
    await isolate.run(`${tools}
      const form = new FormData();
      const file = new File(['f'], 'f.txt', { type: 'a/b', lastModified: 5 });
      form.append('blob', new Blob(['b'], { type: 'c/d' }));
      form.append('named', new Blob(['n']), 'n.txt');
      form.append('file', file);
      form.set('renamed', file, 'g.txt');
      return [await show(form), form.get('file') === file, form.get('renamed').lastModified, form.get('blob') instanceof File];`),
  ).toEqual([
    [
      ['blob', 'blob', 'c/d', 'b'],
      ['named', 'n.txt', '', 'n'],
      ['file', 'f.txt', 'a/b', 'f'],
      ['renamed', 'g.txt', 'a/b', 'f'],
    ],
    true,
    5,
    true,
  ]);
});

test('an iteration sees changes made meanwhile, and arguments are converted and counted', async () => {
  expect(
    await isolate.run(`${tools}
      const form = new FormData(undefined);
      form.append('a\\ud800', 1); form.append('b', null);
      const seen = [];
      for (const [name, value] of form) { seen.push([name, value]); if (name === 'b') form.append('c', ''); }
      const each = [];
      form.forEach(function (value, name, all) { each.push(name, all === form, this); }, 'this');
      return [seen, each.length, each[1], String(form), String(form.entries()), FormData.length, FormData.prototype.append.length,
        await Promise.all([() => new FormData(null), () => form.append('a', 'b', undefined), () => form.set('a', {}, 'c'), () => form.get(), () => form.forEach(1),
          () => form.append(Symbol(), ''), () => FormData.prototype.keys.call({})].map(errorName))];`),
  ).toEqual([
    [
      ['a\ufffd', '1'],
      ['b', 'null'],
      ['c', ''],
    ],
    9,
    true,
    '[object FormData]',
    '[object FormData Iterator]',
    0,
    2,
    Array(7).fill('TypeError'),
  ]);
});

test('a form is written with line breaks as CR LF, and with three characters of names escaped', async () => {
  expect(
    await isolate.run(`${tools}
      const form = new FormData();
      form.append('n\\na"m\\re%\\\\', 'v\\nv\\rv\\r\\nv"');
      form.append('f', new File(['\\n'], 'a\\nb"c\\rd\\r\\né'));
      const response = new Response(form);
      form.append('late', '');
      const boundary = response.headers.get('content-type').split('boundary=')[1];
      return [(await response.text()).replaceAll(boundary, 'BOUNDARY'), boundary.length > 26 && boundary.length < 71,
        boundary !== new Response(form).headers.get('content-type').split('boundary=')[1]];`),
  ).toEqual([
    [
      '--BOUNDARY',
      'Content-Disposition: form-data; name="n%0D%0Aa%22m%0D%0Ae%\\"',
      '',
      'v\r\nv\r\nv\r\nv"',
      '--BOUNDARY',
      'Content-Disposition: form-data; name="f"; filename="a%0Ab%22c%0Dd%0D%0Aé"',
      'Content-Type: application/octet-stream',
      '',
      '\n',
      '--BOUNDARY--',
      '',
    ].join('\r\n'),
    true,
    true,
  ]);
});

test('parts are understood with their headers in any spelling and order; escapes stay as they were sent', async () => {
  expect(
    await isolate.run(`${tools}
      const cd = 'Content-Disposition: form-data; name="a"';
      const bodies = [part(cd), part(cd + '; filename="f"'), part('CONTENT-TYPE:Text/HTML', cd + '; filename=""'), part(' ' + cd.replace(':', ' \\t:'), 'X-Other: 1'),
        part(cd + '; filename="f"', 'content-type: text'), part(cd + '; filename="f"', 'content-type: a/b', 'content-type: \\t c/d;;x="y" '),
        part('content-disposition: form-data; name="%0A%22\\u0001é"'), part('content-disposition: form-data;filename="; name=evil";name=n'),
        part(cd + '; filename="plain"; filename*=UTF-8\\'\\'%e2%82%ac%20x'), part(cd + '; filename="plain"; filename*=UTF-8\\'\\'%zz'),
        lines('--b \\t', cd, '', '', '--b-- '), lines('--b', cd, '', 'x--b', '--', '--b--', 'epilogue'), '--b--'];
      const dated = (await parse(bodies[1])).get('a').lastModified;
      return [await Promise.all(bodies.map(async (body) => show(await parse(body)))), dated, await show(await parse(part(cd).replaceAll('--b', '--é(x)'), 'multipart/form-data; boundary="é(x)"'))];`),
  ).toEqual([
    [
      [['a', 'value']],
      [['a', 'f', 'text/plain', 'value']],
      [['a', '', 'text/html', 'value']],
      [['a', 'value']],
      [['a', 'f', '', 'value']],
      [['a', 'f', 'c/d;x=y', 'value']],
      [['%0A%22\u0001é', 'value']],
      [['n', '; name=evil', 'text/plain', 'value']],
      [['a', '€ x', 'text/plain', 'value']],
      [['a', 'plain', 'text/plain', 'value']],
      [['a', '']],
      [['a', 'x--b\r\n--']],
      [],
    ],
    0,
    [['a', 'value']],
  ]);
});

test('an incomplete form, or one of another type, is a TypeError, and the body is used', async () => {
  expect(
    await isolate.run(`${tools}
      const cd = 'Content-Disposition: form-data; name="a"';
      const bodies = ['', 'preamble\\r\\n' + part(cd), part(), part('Content-Type: a/b'), part('no colon', cd), part('a b: c', cd), part(cd + '\\0'), part(cd, 'x: \\n'),
        part(cd, 'x: \\r'), part('Content-Disposition: attachment; name="a"'), part('Content-Disposition: form-data'), part(cd).replace('--b--', '--b--junk'),
        part(cd).slice(0, -8), lines('--b', cd, '', 'value--b--', ''), '--b', '--bjunk\\r\\n'];
      const types = ['multipart/form-data', 'multipart/form-data; boundary=""', 'text/plain', 'application/json', ''];
      const response = new Response('x');
      await errorName(() => response.formData());
      return [await Promise.all(bodies.map((body) => errorName(() => parse(body)))), await Promise.all(types.map((type) => errorName(() => parse(part(cd), type)))), response.bodyUsed,
        await errorName(() => new Response().formData()), [...await parse('', 'application/x-www-form-urlencoded')]];`),
  ).toEqual([Array(16).fill('TypeError'), Array(5).fill('TypeError'), true, 'TypeError', []]);
});

test('files and fields carry any bytes: bytes that are not UTF-8 are kept in a file and replaced in a field', async () => {
  expect(
    await isolate.run(`${tools}
      const bytes = [0, 128, 255, 13, 10, 45, 45, 239, 187, 191];
      const form = new FormData();
      form.append('f', new Blob([new Uint8Array(bytes)]));
      const file = (await new Response(form).formData()).get('f');
      const head = new TextEncoder().encode('--b\\r\\nContent-Disposition: form-data; name="a');
      const body = new Blob([head, new Uint8Array([255]), '"\\r\\n\\r\\n\\ufeffv', new Uint8Array([255]), '\\r\\n--b--']);
      const text = new Blob([new Uint8Array([0xef, 0xbb, 0xbf]), 'a=%EF%BB%BF%FF+%2']);
      return [[...await file.bytes()].join() === bytes.join(), [...await parse(body)], [...await parse(text, 'application/x-www-form-urlencoded;charset=latin1')]];`),
  ).toEqual([true, [['a\ufffd', '\ufeffv\ufffd']], [['\ufeffa', '\ufeff\ufffd %2']]]);
});
