/**
 * What each runtime does with the packed client: a list, a page, an error, a post that is retried,
 * a stream, a webhook. Plain JavaScript, as a browser gets it. Throws where something is wrong.
 */

/**
 * @param {typeof import('../../packages/client/src/index.ts')} client the package
 * @param {string} url of the control listener, or of a proxy on the page's origin
 * @param {string | undefined} token undefined where the proxy adds it
 * @param {{ webhook: { header: string, body: string, secret: string }, name: string }} given
 * @returns {Promise<string>} what was done
 */
export async function exercise(client, url, token, { webhook, name }) {
  const { Annex, AnnexError, recentIds, verifyWebhook } = client;
  let lost = 0;
  const annex = new Annex({
    url,
    token,
    // The first post of an event gets no answer.
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      const isPost = init?.method === 'POST' && String(input).endsWith('/v1/events');
      if (!isPost || lost > 0) return response;
      lost += 1;
      throw new TypeError('The answer is lost.');
    },
  });
  const organization = `org-${name}`;
  const { id } = await annex.installations.create('greeter', { organization });
  await annex.spaces.create('greeter', id, { space: 'sp-1' });
  const { headers } = await annex.installations.get('greeter', id).answer();
  const ifNoneMatch = headers.get('etag') ?? '';
  const unchanged = await annex.installations.get('greeter', id, { ifNoneMatch });
  expect(unchanged === undefined, 'an unchanged installation has no body');

  const missing = await annex.installations.get('greeter', 'nobody').catch((error) => error);
  expect(missing instanceof AnnexError && missing.code === 'INSTALLATION_UNKNOWN', 'an error has its code');

  const opened = Promise.withResolvers ? Promise.withResolvers() : withResolvers();
  const lines = annex.logs.follow({ installation: id }, { onOpen: () => opened.resolve(undefined) });
  const first = (async () => {
    for await (const line of lines) return line.text;
    return 'nothing';
  })();
  await opened.promise;
  /** @type {import('../../packages/client/src/index.ts').SpaceContentUpdated} */
  const event = { type: 'space_content_updated', organization, spaceId: 'sp-1', revisionId: 'r-1' };
  const posted = await annex.events.post(event);
  expect(lost === 1 && 'eventId' in posted && posted.deliveries === 1, 'a retried post has one effect');
  const text = await first;
  expect(text === 'updated r-1', `the stream has the line, and not ${text}`);

  const events = [];
  for await (const each of annex.events.all({ organization, limit: 1 })) events.push(each.id);
  expect(events.length === 1, `there is one event, and not ${events.length}`);

  const { header, body, secret } = webhook;
  expect(await verifyWebhook(header, body, secret), 'a signed webhook is valid');
  expect(!(await verifyWebhook(header, `${body} `, secret)), 'a changed webhook is not');
  const recent = recentIds();
  expect(recent.add('e-1') && !recent.add('e-1'), 'a repeated webhook is found');
  return `installed, paged, posted after a lost answer, followed, verified; the service is ${annex.serverVersion}`;
}

/**
 * @param {unknown} holds
 * @param {string} what
 */
function expect(holds, what) {
  if (!holds) throw new Error(`It does not hold that ${what}.`);
}

function withResolvers() {
  let resolve = (/** @type {unknown} */ _value) => {};
  const promise = new Promise((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve };
}
