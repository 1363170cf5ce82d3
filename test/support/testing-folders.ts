/** Folders of integrations for the tests of `@annex/testing`. */
import { folderWith } from './cli/author-folder.ts';

/** A folder with one script and a manifest. @param manifest more lines of the manifest */
export const folderOf = (source: string, manifest = '', visibility = 'public'): Promise<string> =>
  folderWith({
    'platform-manifest.yaml': `name: tested\ntitle: Tested\ndescription: For a test.\norganization: acme\nvisibility: ${visibility}\nscript: index.js\n${manifest}`,
    'index.js': source,
  });
