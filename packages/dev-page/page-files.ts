/**
 * The files of the page: its document, script and style. A clone bundles the script when a page is
 * first opened; the npm package carries it.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { pageScript, prebuilt } from '../../src/own-files.ts';
import { TOKENS } from '../ui/src/tokens.ts';

const SOURCE = fileURLToPath(new URL('./src/', import.meta.url));

export interface PageFiles {
  readonly script: string;
  readonly style: string;
}

export const DOCUMENT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>annex dev</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="page.css">
<script type="module" src="page.js"></script>
</head>
<body></body>
</html>
`;

let files: Promise<PageFiles> | undefined;

/** @throws where the build fails */
export function pageFiles(): Promise<PageFiles> {
  const carried = prebuilt('devPage');
  files ??= carried === undefined ? buildPage() : Promise.resolve(JSON.parse(carried) as PageFiles);
  return files;
}

/** Also called when the npm package is built. */
export async function buildPage(): Promise<PageFiles> {
  return {
    script: await pageScript(`${SOURCE}page.tsx`),
    style: `:root {\n  ${TOKENS}\n}\n${await readFile(`${SOURCE}page.css`, 'utf8')}`,
  };
}
