/**
 * Hostile content for the renderer: texts that become code, markup, styles or other addresses where
 * they are not taken as text, and a drawing that has one of them in every field of the catalogue.
 */

const CODE = 'canary++';
const ADDRESS = 'https://attacker.example/';

/** Attempts at script, by markup, by URL, by template and by name. */
export const HOSTILE_TEXTS: readonly string[] = [
  `<script>${CODE}</script>`,
  `<img src=x onerror=${CODE}>`,
  `<svg onload=${CODE}>`,
  `<svg><script>${CODE}</script></svg>`,
  `<iframe srcdoc="<script>parent.${CODE}</script>">`,
  `<iframe src="javascript:parent.${CODE}">`,
  `<object data="javascript:${CODE}">`,
  `<embed src="javascript:${CODE}">`,
  `<body onload=${CODE}>`,
  `<input autofocus onfocus=${CODE}>`,
  `<details open ontoggle=${CODE}>`,
  `<video><source onerror=${CODE}></video>`,
  `<math href="javascript:${CODE}">x</math>`,
  `<a href="javascript:${CODE}">x</a>`,
  `<form action="javascript:${CODE}"><button>x</button></form>`,
  `<meta http-equiv=refresh content="0;url=javascript:${CODE}">`,
  `<base href="${ADDRESS}">`,
  `<link rel=stylesheet href="${ADDRESS}">`,
  `<style>*{background:url(${ADDRESS})}</style>`,
  `<template><img src=x onerror=${CODE}></template>`,
  `<noscript><p title="</noscript><img src=x onerror=${CODE}>">`,
  `<!--><img src=x onerror=${CODE}>-->`,
  `<![CDATA[<img src=x onerror=${CODE}>]]>`,
  `</textarea><script>${CODE}</script>`,
  `</style><script>${CODE}</script>`,
  `</title><script>${CODE}</script>`,
  `"><img src=x onerror=${CODE}>`,
  `' onmouseover='${CODE}`,
  `" autofocus onfocus="${CODE}`,
  `\` onclick=\`${CODE}`,
  `javascript:${CODE}`,
  `JaVaScRiPt:${CODE}`,
  ` javascript:${CODE}`,
  `java\tscript:${CODE}`,
  `java\nscript:${CODE}`,
  `\u0001javascript:${CODE}`,
  `javascript&colon;${CODE}`,
  `javascript:/*https://example.com/*/${CODE}`,
  `data:text/html,<script>${CODE}</script>`,
  `data:image/svg+xml,<svg onload="${CODE}"/>`,
  `vbscript:${CODE}`,
  'blob:https://example.com/1',
  'file:///etc/passwd',
  'view-source:https://example.com/',
  `about:blank#${CODE}`,
  'http://user:password@127.0.0.1:1/',
  '//attacker.example/x',
  `[x](javascript:${CODE})`,
  `![x](javascript:${CODE})`,
  `[x](<javascript:${CODE}>)`,
  `[x]: javascript:${CODE}\n[x]`,
  `<javascript:${CODE}>`,
  `[x](data:text/html;base64,PHNjcmlwdD4=)`,
  `[x](${ADDRESS} "\\"onmouseover=${CODE}")`,
  `\`\`\`"><img src=x onerror=${CODE}>\nx\n\`\`\``,
  `{{constructor.constructor('${CODE}')()}}`,
  `\${${CODE}}`,
  `#{${CODE}}`,
  `<%= ${CODE} %>`,
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toString',
  'onclick',
  'dangerouslySetInnerHTML',
  'innerHTML',
  'script',
  'iframe',
  `expression(${CODE})`,
  'position:fixed;inset:0;z-index:2147483647',
  `url(${ADDRESS})`,
  '\u202etxt.exe\u202d\u2066',
  `${'\u0301\u0489'.repeat(400)}a`,
  '\u0000\u0008\u001b[31m',
  '\ud800',
  'x'.repeat(20_000),
  '" autofocus onfocus="canary += 1',
  '</option></select><img src=x onerror="canary += 1">',
  '<svg><use href="data:image/svg+xml;base64,PHN2Zy8+#x"></use></svg>',
  '<a href="java&#115;cript:canary += 1" id="submit">',
  'https://example.com/"onclick="canary += 1',
];

/** A drawing with a text in every place that a tenant fills. */
export function drawingOf(text: string): object {
  const press = { action: text.startsWith('@') ? 'own' : text || 'own', more: text, [text]: text };
  const url = { url: text };
  const confirm = { title: text, text, confirm: text, style: text };
  const button = { type: 'button', label: text, onPress: press, icon: text, tooltip: text, style: text };
  const words = {
    type: 'text',
    style: text,
    children: [text, { type: 'link', target: url, children: [text] }],
  };
  const field = (element: object) => ({ type: 'input', label: text, hint: [text, words], element });
  return {
    type: 'block',
    [text]: text,
    onclick: text,
    dangerouslySetInnerHTML: { __html: text },
    style: text,
    class: text,
    controls: [{ label: text, icon: text, onPress: press, confirm }],
    children: [
      text,
      words,
      { type: text, children: [text] },
      { type: 'hint', children: [text] },
      { type: 'markdown', content: text },
      { type: 'image', source: url, aspectRatio: text },
      { type: 'image', source: { url: `https://example.com/${text}` }, aspectRatio: 1e-9 },
      { type: 'divider', size: text },
      { type: 'box', grow: 1e308, children: [words] },
      { type: 'hstack', align: text, children: [button, { ...button, confirm }] },
      { type: 'button', label: text, onPress: { action: '@ui.url.open', url: text } },
      { type: 'button', label: text, onPress: { action: '@ui.url.open', url: { $state: 'typed' } } },
      { type: 'button', label: text, onPress: { action: '@link.unfurl', url: text } },
      { type: 'button', label: text, onPress: { action: `@${text}` } },
      {
        type: 'card',
        title: text,
        hint: text,
        icon: { type: 'image', source: url },
        onPress: press,
        buttons: [button],
      },
      field({ type: 'textinput', state: 'typed', initialValue: text, placeholder: text, inputType: text }),
      field({ type: 'textinput', state: text, initialValue: text, multiline: true }),
      field({
        type: 'select',
        state: `s${text}`,
        placeholder: text,
        options: [{ id: text, label: text, icon: text }],
      }),
      field({
        type: 'select',
        state: `m${text}`,
        multiple: true,
        initialValue: [text],
        options: { url: text },
      }),
      {
        type: 'select',
        state: `h${text}`,
        acceptInput: true,
        options: { url: { host: text, pathname: text, query: { [text]: text } } },
      },
      field({ type: 'switch', state: `w${text}` }),
      field({ type: 'radio', state: `r${text}`, value: text }),
      field({ type: 'checkbox', state: `c${text}`, value: text }),
      {
        type: 'codeblock',
        content: text,
        syntax: text,
        lineNumbers: 1e300,
        header: [words],
        footer: [words],
      },
      { type: 'codeblock', content: text, state: `k${text}`, syntax: text },
      { type: 'webframe', source: url, aspectRatio: -1, data: { [text]: text }, buttons: [button] },
    ],
  };
}

export const answerOf = (element: unknown): object => ({
  status: 200,
  body: { type: 'element', state: {}, props: {}, element },
});

/** Code for the page: an answer with a tree that is too large to be sent as text. */
export const LARGE_TREES: Readonly<Record<string, string>> = {
  'a hundred thousand elements beside one another':
    "block(Array.from({ length: 100_000 }, (_, i) => ({ type: 'text', children: ['line ' + i] })))",
  'a hundred thousand buttons':
    "block(Array.from({ length: 100_000 }, () => ({ type: 'button', label: 'b', onPress: { action: 'a' } })))",
  'a hundred thousand nested elements':
    "block([Array.from({ length: 100_000 }).reduce((inner) => ({ type: 'vstack', children: [inner] }), 'x')])",
  'nested lists': "block([Array.from({ length: 100_000 }).reduce((inner) => [inner], 'x')])",
  'a tree that doubles with each level':
    "block([Array.from({ length: 60 }).reduce((inner) => ({ type: 'hstack', children: [inner, inner] }), { type: 'text', children: ['x'] })])",
  'a text of five million characters': "block([{ type: 'text', children: ['x'.repeat(5_000_000)] }])",
  'a thousand long texts':
    "block(Array.from({ length: 1000 }, () => ({ type: 'text', children: ['word '.repeat(4000)] })))",
  'Markdown of a million brackets': "block([{ type: 'markdown', content: '['.repeat(1_000_000) }])",
  'Markdown that nests, thirty times':
    "block(Array.from({ length: 30 }, () => ({ type: 'markdown', content: '> '.repeat(5000) + '**a '.repeat(5000) })))",
  'Markdown of tables whose rows are filled up':
    "block([{ type: 'markdown', content: '|a'.repeat(100) + '\\n' + '|-'.repeat(100) + '\\n' + '|\\n'.repeat(9000) }])",
  'Markdown of tables in quotes':
    "block(Array.from({ length: 60 }, () => ({ type: 'markdown', content: '> ' + '|a'.repeat(100) + '\\n> ' + '|-'.repeat(100) + '\\n' + '> |\\n'.repeat(4800) })))",
  'Markdown of empty list items':
    "block(Array.from({ length: 60 }, () => ({ type: 'markdown', content: '-\\n'.repeat(10_000) })))",
  'Markdown of rich texts up to the bound':
    "block(Array.from({ length: 60 }, () => ({ type: 'markdown', content: '-\\n'.repeat(1900) })))",
  'combining marks without end':
    "block(Array.from({ length: 50 }, () => ({ type: 'text', children: ['a' + '\\u0301'.repeat(20_000)] })))",
  'thousands of Markdown texts of one field':
    "block([{ type: 'textinput', state: 's', initialValue: '-\\n'.repeat(10_000) }, ...Array.from({ length: 5000 }, () => ({ type: 'markdown', content: { $state: 's' } }))])",
  'thousands of frames':
    "block(Array.from({ length: 5000 }, () => ({ type: 'webframe', source: { url: 'http://127.0.0.1:1/' } })))",
  'many lists of choices':
    "block(Array.from({ length: 500 }, (_, i) => ({ type: 'select', state: 's' + i, options: Array.from({ length: 1000 }, () => ({ id: 'a', label: 'b' })) })))",
  'Markdown of paragraphs that are slow to read':
    "block([{ type: 'markdown', content: ('['.repeat(2900) + '\\n\\n').repeat(7) }])",
  'code of a million lines':
    "block([{ type: 'codeblock', content: 'a\\n'.repeat(1_000_000), lineNumbers: true }])",
  'a field with five million characters':
    "block([{ type: 'textinput', state: 's', multiline: true, initialValue: 'x'.repeat(5_000_000) }])",
  'a hundred thousand choices':
    "block([{ type: 'select', state: 's', options: Array.from({ length: 100_000 }, (_, i) => ({ id: 'i' + i, label: 'c' + i })) }])",
  'a hundred thousand entries of a menu':
    "({ ...block([]), controls: Array.from({ length: 100_000 }, () => ({ label: 'c', onPress: { action: 'a' } })) })",
  'a hundred thousand names of client state':
    "block(Array.from({ length: 100_000 }, (_, i) => ({ type: 'textinput', state: 's' + i })))",
};
