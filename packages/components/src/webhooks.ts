/** `@annex/components/webhooks`: makes the tag `<annex-webhooks>` known to the page. */
import './configuration.ts';
import { defineAnnexWebhooks } from './webhooks/annex-webhooks.ts';

export { tokenTransport } from './configuration/form-transport.ts';
export { AnnexWebhooks, defineAnnexWebhooks } from './webhooks/annex-webhooks.ts';
export { WEBHOOK_WORDS, type WebhookWords } from './webhooks/words.ts';

defineAnnexWebhooks();
