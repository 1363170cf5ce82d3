/** A page of React that shows components by the wrapper of `@annex/components`, as one module. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { reactModule } from '../../../packages/components/build.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** `product.showWithReact(props)` draws into the page; again, it draws with other props. */
const PAGE = `
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { AnnexComponent, AnnexConfiguration, AnnexInsertMenu, AnnexWebhooks } from 'wrapper';
let root;
product.showWithReact = (props) => {
  root ??= createRoot(document.querySelector('main'));
  root.render(createElement(AnnexComponent, {
    transport: product.transport,
    onComplete: ({ detail }) => { product.completed = detail; },
    ...props,
  }));
};
product.configureWithReact = async () => {
  const transport = product.formTransport(await (await fetch('/ui-token')).json());
  root ??= createRoot(document.querySelector('main'));
  root.render(createElement(AnnexConfiguration, {
    transport,
    onSaved: ({ detail }) => { product.completed = detail; },
  }));
};
product.webhooksWithReact = async () => {
  const transport = product.formTransport(await (await fetch('/ui-token?webhook&place=/spaces/garden')).json());
  root ??= createRoot(document.querySelector('main'));
  root.render(createElement(AnnexWebhooks, { transport }));
};
product.insertWithReact = (blocks) => {
  root ??= createRoot(document.querySelector('main'));
  root.render(createElement(AnnexInsertMenu, {
    read: async () => blocks,
    transport: () => product.transport,
    onInsert: ({ detail }) => document.querySelector('main').append(detail.component),
  }));
};
`;

export async function reactPage(): Promise<string> {
  const wrapper = await reactModule('');
  const { outputFiles } = await build({
    stdin: { contents: PAGE, resolveDir: ROOT },
    bundle: true,
    write: false,
    format: 'esm',
    define: { 'process.env.NODE_ENV': '"production"' },
    external: ['/index.js', '/configuration.js', '/webhooks.js', '/insert-menu.js'],
    plugins: [
      {
        name: 'wrapper',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /^wrapper$/ }, () => ({ path: 'wrapper', namespace: 'wrapper' }));
          onLoad({ filter: /./, namespace: 'wrapper' }, () => ({ contents: wrapper, resolveDir: ROOT }));
        },
      },
    ],
  });
  return outputFiles[0]?.text ?? '';
}
