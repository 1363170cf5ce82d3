/**
 * The words of the portal: one table for each language, with the words of the tags in it. Texts of
 * integrations, and refusals of the service, are as they are.
 */

import { CONFIGURATION_WORDS } from '../../components/src/configuration/words.ts';
import type { ConfigurationWords } from '../../components/src/configuration.ts';
import { WEBHOOK_WORDS, type WebhookWords } from '../../components/src/webhooks/words.ts';
import { GERMAN_FORM, GERMAN_WEBHOOKS } from './german-tags.ts';

const ENGLISH = {
  integrations: 'Integrations',
  webhooks: 'Webhooks',
  activity: 'Activity',
  back: 'Back',
  backTo: 'Back to',
  signOut: 'Sign out',
  over: 'This page is opened by a link',
  overText: 'The link was used, or its time is over. Go back to where you came from, and open it again.',
  loading: 'Loading…',
  unreachable: 'There was no answer. Check the connection.',
  request: 'Request',
  retry: 'Try again',
  nowhere: 'There is nothing here.',
  installed: 'Installed',
  available: 'Available',
  noneAvailable: 'Nothing else can be installed.',
  noneInstalled: 'Nothing is installed yet.',
  category: 'Category',
  allCategories: 'All categories',
  analytics: 'Analytics',
  'authenticated-access': 'Authenticated access',
  collaboration: 'Collaboration',
  content: 'Content',
  marketing: 'Marketing',
  other: 'Other',
  install: 'Install',
  mayDo: 'What it may do',
  mayNothing: 'It needs no access to your content.',
  mayReach: 'It talks to:',
  links: 'Links',
  settings: 'Settings',
  places: 'Where it works',
  add: 'Add',
  addPlace: '(its id)',
  active: 'Active',
  pending: 'Not set up',
  paused: 'Paused',
  pause: 'Pause',
  resume: 'Resume',
  remove: 'Remove…',
  removeTitle: 'Remove?',
  removeText:
    'Its settings and all that it keeps are deleted, and it does nothing any longer. This cannot be undone.',
  removeYes: 'Remove',
  cancel: 'Cancel',
  space: 'Space',
  site: 'Site',
  whole: 'The whole organization',
  noWebhooks: 'Webhooks send what happens to a server of yours. Install an integration that has them first.',
  noActivity: 'Nothing has happened yet. Events that reach your integrations are listed here.',
  all: 'All',
  state: 'State',
  integration: 'Integration',
  delivered: 'Done',
  failed: 'Failed',
  waiting: 'Waiting',
  unhandled: 'Not handled',
  canceled: 'Canceled',
  held: 'Held',
  more: 'Show more',
  again: 'Do it again',
  attempts: 'Attempts',
  noAttempts: 'It was not attempted yet.',
  'space:content:read': 'Read the content of spaces',
  'space:content:write': 'Change the content of spaces',
  'space:metadata:read': 'Read titles and settings of spaces',
  'space:metadata:write': 'Change titles and settings of spaces',
  'space:git:sync': 'Synchronize spaces with Git',
  'site:metadata:read': 'Read titles and settings of sites',
  'site:views:read': 'See which pages are visited',
  'site:script:inject': 'Run scripts on sites',
  'site:script:cookies': 'Use cookies on sites',
  'site:visitor:auth': 'Sign visitors in',
  'site:visitor:claims': 'See what is known of visitors',
  'site:adaptive:read': 'Read what content adapts to',
  'site:adaptive:write': 'Change what content adapts to',
  'page:feedback:read': 'Read the feedback on pages',
  'openapi:read': 'Read API specifications',
  'openapi:write': 'Change API specifications',
  'conversations:ingest': 'Take in conversations',
} as const;

export type WordName = keyof typeof ENGLISH;

export interface Words extends Readonly<Record<WordName, string>> {
  readonly locale: string;
  readonly form: ConfigurationWords;
  readonly tag: WebhookWords;
}

const GERMAN: Readonly<Record<WordName, string>> = {
  integrations: 'Integrationen',
  webhooks: 'Webhooks',
  activity: 'Aktivität',
  back: 'Zurück',
  backTo: 'Zurück zu',
  signOut: 'Abmelden',
  over: 'Diese Seite wird mit einem Link geöffnet',
  overText:
    'Der Link wurde schon benutzt oder ist abgelaufen. Gehen Sie zurück und öffnen Sie ihn noch einmal.',
  loading: 'Wird geladen…',
  unreachable: 'Keine Antwort. Prüfen Sie die Verbindung.',
  request: 'Anfrage',
  retry: 'Noch einmal',
  nowhere: 'Hier ist nichts.',
  installed: 'Installiert',
  available: 'Verfügbar',
  noneAvailable: 'Weiter lässt sich nichts installieren.',
  noneInstalled: 'Noch ist nichts installiert.',
  category: 'Kategorie',
  allCategories: 'Alle Kategorien',
  analytics: 'Analyse',
  'authenticated-access': 'Anmeldung von Besuchern',
  collaboration: 'Zusammenarbeit',
  content: 'Inhalte',
  marketing: 'Marketing',
  other: 'Sonstiges',
  install: 'Installieren',
  mayDo: 'Was sie darf',
  mayNothing: 'Sie braucht keinen Zugriff auf Ihre Inhalte.',
  mayReach: 'Sie spricht mit:',
  links: 'Links',
  settings: 'Einstellungen',
  places: 'Wo sie arbeitet',
  add: 'Hinzufügen',
  addPlace: '(Kennung)',
  active: 'Aktiv',
  pending: 'Nicht eingerichtet',
  paused: 'Angehalten',
  pause: 'Anhalten',
  resume: 'Fortsetzen',
  remove: 'Entfernen…',
  removeTitle: 'Entfernen?',
  removeText:
    'Die Einstellungen und alles Gespeicherte werden gelöscht, und sie tut nichts mehr. Das lässt sich nicht rückgängig machen.',
  removeYes: 'Entfernen',
  cancel: 'Abbrechen',
  space: 'Bereich',
  site: 'Website',
  whole: 'Die ganze Organisation',
  noWebhooks:
    'Webhooks senden, was geschieht, an einen Server von Ihnen. Installieren Sie zuerst eine Integration, die welche hat.',
  noActivity: 'Noch ist nichts geschehen. Ereignisse, die Ihre Integrationen erreichen, stehen hier.',
  all: 'Alle',
  state: 'Zustand',
  integration: 'Integration',
  delivered: 'Erledigt',
  failed: 'Fehlgeschlagen',
  waiting: 'Wartet',
  unhandled: 'Nicht behandelt',
  canceled: 'Abgebrochen',
  held: 'Zurückgehalten',
  more: 'Mehr zeigen',
  again: 'Noch einmal ausführen',
  attempts: 'Versuche',
  noAttempts: 'Noch wurde nichts versucht.',
  'space:content:read': 'Inhalte von Bereichen lesen',
  'space:content:write': 'Inhalte von Bereichen ändern',
  'space:metadata:read': 'Titel und Einstellungen von Bereichen lesen',
  'space:metadata:write': 'Titel und Einstellungen von Bereichen ändern',
  'space:git:sync': 'Bereiche mit Git abgleichen',
  'site:metadata:read': 'Titel und Einstellungen von Websites lesen',
  'site:views:read': 'Sehen, welche Seiten besucht werden',
  'site:script:inject': 'Skripte auf Websites ausführen',
  'site:script:cookies': 'Cookies auf Websites benutzen',
  'site:visitor:auth': 'Besucher anmelden',
  'site:visitor:claims': 'Sehen, was über Besucher bekannt ist',
  'site:adaptive:read': 'Lesen, woran sich Inhalte anpassen',
  'site:adaptive:write': 'Ändern, woran sich Inhalte anpassen',
  'page:feedback:read': 'Rückmeldungen zu Seiten lesen',
  'openapi:read': 'API-Beschreibungen lesen',
  'openapi:write': 'API-Beschreibungen ändern',
  'conversations:ingest': 'Gespräche aufnehmen',
};

const TABLES: Readonly<Record<string, Words>> = {
  en: { ...ENGLISH, locale: 'en', form: CONFIGURATION_WORDS, tag: WEBHOOK_WORDS },
  de: { ...GERMAN, locale: 'de', form: GERMAN_FORM, tag: { ...GERMAN_WEBHOOKS, form: GERMAN_FORM } },
};

/**
 * The table of a language; that of the first language of the browser which has one, else English.
 *
 * @param levels the product's words for spaces and sites
 */
export function wordsOf(
  locale: string | undefined,
  levels: { readonly space?: string; readonly site?: string },
): Words {
  const asked = locale === undefined ? navigator.languages : [locale];
  const known = asked.map((one) => TABLES[one.split('-', 1)[0] ?? '']).find((one) => one !== undefined);
  return { ...(known ?? TABLES['en']), ...levels } as Words;
}
