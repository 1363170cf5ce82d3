/**
 * The page at the end of an OAuth flow (docs/contract/oauth.md#outcomes): a few words, no script.
 *
 * Attack: leaking the provider's code and the state, which are in the page's URL. The page sends no
 * referrer, loads nothing and is not stored.
 * Attack: markup in the provider's error text, which anyone can put into the URL. It is escaped.
 */

/** Content and status of a page. */
export interface PageText {
  readonly status: number;
  readonly title: string;
  readonly words: string;
  /** Value of `Set-Cookie`. */
  readonly cookie?: string | undefined;
}

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

const STYLE =
  'body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1.5rem;color-scheme:light dark}';

export const page = ({ status, title, words, cookie }: PageText): Response =>
  new Response(
    `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
<h1>${escaped(title)}</h1>
<p>${escaped(words)}</p>
</html>
`,
    { status, headers: { ...HEADERS, ...(cookie !== undefined && { 'set-cookie': cookie }) } },
  );

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
