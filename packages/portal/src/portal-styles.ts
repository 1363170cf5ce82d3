/** The style of the portal around the widgets, and what a product's theme replaces. */
import { accentFrom, ROLES } from '../../ui/src/tokens.ts';
import type { Session } from './portal-api.ts';

export const PORTAL_STYLES = `
:host { margin: 0; min-block-size: 100vh; background: var(--canvas); color-scheme: light dark; font-size: var(--text-l); contain: none; }
main:focus { outline: none; }
ul, ol { padding: 0; list-style: none; }
h1 { margin: 0; font-size: var(--head-m); line-height: 1.25; }
main > h1 { margin-block-end: var(--space-16); }
main > h1:has(+ .hint) { margin-block-end: 0; }
.rows > li > .callout { margin: var(--space-8); }
h2 { font-size: var(--head-s); line-height: 1.25; margin-block: var(--space-32) var(--space-12); }
header { border-block-end: 1px solid var(--line); background: var(--surface); }
.top { display: flex; flex-wrap: wrap; align-items: center; gap: 0 var(--space-24); max-inline-size: 1000px; margin-inline: auto; padding-inline: var(--space-24); }
.logo { max-block-size: 28px; max-inline-size: 160px; }
nav { display: flex; gap: var(--space-16); }
nav a { padding-block: var(--space-16); color: var(--quiet-text); text-decoration: none; }
nav a:hover { color: var(--text); }
nav a[aria-current] { color: var(--text); font-weight: 600; box-shadow: inset 0 -2px var(--accent); }
.end { margin-inline-start: auto; align-self: center; color: var(--quiet-text); }
main { max-inline-size: 1000px; margin-inline: auto; padding: var(--space-32) var(--space-24) var(--space-48); overflow-x: clip; }
.over { text-align: center; padding-block-start: 20vh; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(300px, 100%), 1fr)); gap: var(--space-12); }
.card { display: flex; gap: var(--space-12); align-items: flex-start; block-size: 100%; padding: var(--space-16); color: var(--text); text-decoration: none; background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius-surface); }
.card:hover { border-color: var(--field-line); }
.card-text { display: grid; gap: 4px; flex: 1; min-inline-size: 0; }
.card > .card-text { grid-template-rows: auto 1fr auto; block-size: 100%; }
.up { display: inline-block; margin-block-end: var(--space-8); font-size: var(--text-m); }
.crumb { margin-block-end: var(--space-12); font-size: var(--text-m); }
.title { display: flex; gap: var(--space-16); align-items: center; margin-block-end: var(--space-16); }
.bar { gap: var(--space-12); }
.about { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 0 var(--space-48); margin-block-start: var(--space-24); }
.about h2:first-child { margin-block-start: 0; }
.about > .markdown:empty { display: none; }
.markdown { display: grid; gap: var(--space-12); align-content: start; }
.may { display: grid; gap: var(--space-8); }
.may li { display: flex; gap: var(--space-8); align-items: flex-start; }
.may .icon { margin-block-start: 3px; color: var(--quiet-text); }
.may + .hint { margin-block-start: var(--space-12); }
.rows { border: 1px solid var(--line); border-radius: var(--radius-surface); background: var(--surface); overflow: hidden; margin-block-end: var(--space-12); }
.rows:empty { display: none; }
.rows > li + li { border-block-start: 1px solid var(--line); }
.row { display: flex; justify-content: space-between; align-items: center; gap: var(--space-12); inline-size: 100%; min-block-size: 44px; padding: var(--space-8) var(--space-16); color: var(--text); font: inherit; text-align: start; text-decoration: none; background: none; border: none; cursor: pointer; }
.row:hover { background: var(--raised); }
.row:focus-visible { outline-offset: -2px; }
.event { display: grid; grid-template-columns: 16px 130px minmax(0, 1fr) minmax(0, 1fr) 96px; min-block-size: 36px; font-size: var(--text-m); }
.event > .icon { transform: rotate(-90deg); color: var(--quiet-text); }
.event[aria-expanded="true"] > .icon { transform: none; }
.event > time { text-align: end; }
.opened { display: grid; gap: var(--space-12); padding: var(--space-8) var(--space-16) var(--space-16) 44px; }
.attempts { display: grid; gap: var(--space-12); }
.attempts > li { display: flex; flex-wrap: wrap; gap: 0 var(--space-12); font-size: var(--text-m); }
.attempts .payload { inline-size: 100%; }
.head { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: var(--space-12); margin-block-end: var(--space-16); }
.head > h2 { margin-block-end: 0; }
.head:has(> h2) { align-items: end; }
.filter { inline-size: 200px; }
.add { display: flex; flex-wrap: wrap; align-items: end; gap: var(--space-8); margin-block-end: var(--space-24); }
.add label { display: grid; gap: 4px; flex: 1 1 180px; max-inline-size: 280px; }
.add .button { align-self: end; }
.empty { display: grid; justify-items: center; gap: var(--space-12); padding: var(--space-32) var(--space-16); color: var(--quiet-text); text-align: center; border: 1px dashed var(--line); border-radius: var(--radius-surface); }
.empty .button { align-self: center; }
.rows:not(:empty) + .only { display: none; }
annex-webhooks { margin: var(--space-16) -4px 0; }
annex-configuration { margin: -4px; }
@media (max-width: 720px) {
  .top { padding-inline: var(--space-16); }
  nav { order: 1; inline-size: 100%; overflow-x: auto; }
  nav a { padding-block: var(--space-12); }
  .logo, .brand { margin-block: var(--space-8); }
  main { padding: var(--space-24) var(--space-16); }
  .about { grid-template-columns: minmax(0, 1fr); row-gap: var(--space-24); }
  .event { grid-template-columns: 16px minmax(0, 1fr) auto; row-gap: 0; }
  .event > strong { grid-area: 1 / 2; }
  .event > time { grid-area: 1 / 3; }
  .event > .hint { grid-area: 2 / 2; }
  .event > .state { grid-area: 2 / 3; }
  .opened { padding-inline-start: var(--space-16); }
}
`;

const COLOUR = /^#[0-9a-fA-F]{6}$/;

/** Only what is a colour becomes style, whatever the service says. */
export function themeStyles({ scheme, accent, darkAccent }: NonNullable<Session['theme']> = {}): string {
  const light = COLOUR.test(accent ?? '') ? accent : undefined;
  const dark = COLOUR.test(darkAccent ?? '') ? darkAccent : undefined;
  const pairs = [
    accentFrom(light ?? ROLES.accent[0], 'light'),
    accentFrom(dark ?? ROLES.accent[1], 'dark'),
  ] as const;
  const colours =
    light === undefined && dark === undefined
      ? ''
      : ['accent', 'on-accent']
          .map((role, at) => `--annex-${role}: light-dark(${pairs[0][at]}, ${pairs[1][at]});`)
          .join(' ');
  return `:host { ${colours} ${scheme === 'light' || scheme === 'dark' ? `color-scheme: ${scheme};` : ''} }`;
}
