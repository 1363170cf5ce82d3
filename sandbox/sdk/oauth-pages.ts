/**
 * What a person reads at the end of an OAuth flow: a page of a few words, without a script.
 *
 * The URL of such a page holds the provider's code and the state, so nothing on it may tell another server where it stands,
 * and nothing keeps it. Its words are ours, but for those of the provider, which a stranger may have put into the URL: they
 * are text, never markup.
 */

/** A page and its status. */
export interface PageText {
  readonly status: number;
  readonly title: string;
  readonly words: string;
  /** Whole values of `Set-Cookie`. */
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
