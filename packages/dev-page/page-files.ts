/**
 * The files of the page: its document and its script. A clone bundles the script when a page is
 * first opened; the npm package carries it.
 */
import { fileURLToPath } from 'node:url';
import { pageScript, prebuilt } from '../../src/own-files.ts';

const ENTRY = fileURLToPath(new URL('./src/page.tsx', import.meta.url));

export const DOCUMENT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>annex dev</title>
<link rel="icon" href="data:,">
<script type="module" src="page.js"></script>
</head>
<body></body>
</html>
`;

let script: Promise<string> | undefined;

/** The script of the page. @throws where the build fails */
export function devPageScript(): Promise<string> {
  script ??= Promise.resolve(prebuilt('devPage') ?? pageScript(ENTRY));
  return script;
}
