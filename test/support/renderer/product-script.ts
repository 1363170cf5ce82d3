/**
 * The script of the page of a host product, for the browser: shows one component, and records what
 * it asks for and what it tells the page.
 */
export const PRODUCT_SCRIPT = `
import { fetchTransport } from '/index.js';
import { tokenTransport } from '/configuration.js';
import '/webhooks.js';

const forward = fetchTransport('/render');
const EVENTS = ['render', 'complete', 'error', 'navigate', 'page', 'unfurl', 'props'];

globalThis.canary = 0;
globalThis.product = {
  events: [],
  requests: [],
  opened: [],
  /** Answers instead of the service; the last one stays. */
  answers: [],
  /** A promise that each request waits for. */
  gate: undefined,
  transport: async (request, signal) => {
    const { product } = globalThis;
    product.requests.push(structuredClone(request));
    await product.gate;
    const { answers } = product;
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer === 'lost') throw new Error('lost');
    return answer ?? forward(request, signal);
  },
  close() {
    product.gate = new Promise((resolve) => { product.open = () => { product.gate = undefined; resolve(); }; });
  },
  /** A tag that is in no page yet. */
  another(properties) {
    return Object.assign(document.createElement('annex-component'), { transport: product.transport, ...properties });
  },
  mount({ componentId, props = {}, context, theme = 'light', dir = 'ltr', answers = [] }) {
    document.documentElement.dir = dir;
    Object.assign(product, { events: [], requests: [], opened: [], answers, gate: undefined });
    const element = product.another({ componentId, props, theme, ...(context && { context }) });
    const drawn = new Promise((resolve) => {
      for (const name of ['render', 'complete', 'error'])
        element.addEventListener('annex-' + name, (event) => resolve({ event: name, ...event.detail }));
    });
    document.querySelector('main').replaceChildren(element);
    return drawn;
  },
};
product.formTransport = ({ target, token }) => tokenTransport(target, async () => token);
/** Shows the configuration of the installation, or of a place of it, by a token of the backend. */
product.configure = async ({ place = '', theme, dir = 'ltr', answers, words } = {}) => {
  document.documentElement.dir = dir;
  Object.assign(product, { requests: [], events: [], answers: answers ?? [], gate: undefined });
  const made = async () => (await fetch('/ui-token?place=' + place)).json();
  const send = tokenTransport((await made()).target, async () => (await made()).token);
  const element = document.createElement('annex-configuration');
  if (theme) element.setAttribute('theme', theme);
  element.transport = async (request, signal) => {
    product.requests.push(structuredClone(request));
    await product.gate;
    const answer = product.answers.length > 1 ? product.answers.shift() : product.answers[0];
    if (answer === 'lost') throw new Error('lost');
    return answer ?? send(request, signal);
  };
  if (words) element.words = words;
  element.addEventListener('annex-saved', ({ detail }) => product.events.push(['saved', detail]));
  document.querySelector('main').replaceChildren(element);
};
/** Shows the webhook of the installation, or of a place of it, by a token of the backend. */
product.webhooks = async ({ place = '', theme, dir = 'ltr', answers } = {}) => {
  document.documentElement.dir = dir;
  const made = async () => (await fetch('/ui-token?webhook&place=' + place)).json();
  const { target } = await made();
  const element = document.createElement('annex-webhooks');
  if (theme) element.setAttribute('theme', theme);
  const send = tokenTransport(target, async () => (await made()).token);
  element.transport = async (request, signal) => answers?.[request.path.split('?')[0]] ?? send(request, signal);
  document.querySelector('main').replaceChildren(element);
};
for (const name of EVENTS)
  document.addEventListener('annex-' + name, (event) => {
    product.events.push([name, structuredClone(event.detail)]);
    // A page of a test opens nothing outside of this machine.
    if (name === 'navigate') event.preventDefault();
  });
globalThis.open = (...words) => { product.opened.push(words); return null; };
globalThis.alert = () => { canary += 1; };

/**
 * Measures the longest time that the page is held: a message goes round without end, and each round
 * is as long as the tasks and the painting between.
 */
product.watch = () => {
  const { port1, port2 } = new MessageChannel();
  let longest = 0;
  const began = performance.now();
  let before = began;
  let isOver = false;
  port1.onmessage = () => {
    const now = performance.now();
    longest = Math.max(longest, now - before);
    before = now;
    if (!isOver) port2.postMessage(0);
  };
  port2.postMessage(0);
  // After one more turn, so that the last round counts.
  product.longestHold = () =>
    new Promise((resolve) => setTimeout(() => { isOver = true; port1.close(); resolve({ longest, total: performance.now() - began }); }));
};
document.documentElement.dataset.ready = 'yes';
`;
