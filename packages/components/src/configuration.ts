/** `@annex/components/configuration`: makes the tag `<annex-configuration>` known to the page. */
import { defineAnnexConfiguration } from './configuration/annex-configuration.ts';

export { AnnexConfiguration, defineAnnexConfiguration } from './configuration/annex-configuration.ts';
export {
  type FormAnswer,
  type FormRequest,
  type FormTransport,
  tokenTransport,
} from './configuration/form-transport.ts';
export { CONFIGURATION_WORDS, type ConfigurationWords } from './configuration/words.ts';

defineAnnexConfiguration();
