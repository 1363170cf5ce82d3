/** The API for attackers: publishing and installing. */

/**
 * Attackers have an address of their own, so that limits per address do not refuse the bystanders.
 */
export const ATTACKER = '127.0.0.2';

export interface Place {
  readonly id: string;
  readonly endpoint: string;
}

/** The service under attack, as sent to a child process. */
export interface Victim {
  readonly control: string;
  readonly open: string;
  readonly adminToken: string;
  /** Endpoint of a bystander, which strangers attack. */
  readonly bystander: string;
}

export class Api {
  readonly #victim: Victim;

  constructor(victim: Victim) {
    this.#victim = victim;
  }

  /** Posts to the API. @returns status and body, whatever the status is */
  async post(path: string, body: FormData | object): Promise<{ status: number; text: string }> {
    const isForm = body instanceof FormData;
    const response = await fetch(`${this.#victim.control}/v1${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${this.#victim.adminToken}`,
        ...(!isForm && { 'content-type': 'application/json' }),
      },
      body: isForm ? body : JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  }

  /** @throws Error where the integration is not published */
  async publish(
    name: string,
    files: Readonly<Record<string, string>>,
    { manifest = '', secrets }: { manifest?: string; secrets?: Readonly<Record<string, string>> } = {},
  ): Promise<void> {
    const form = new FormData();
    const [script = ''] = Object.keys(files);
    form.append(
      'manifest',
      `name: ${name}\ntitle: ${name}\ndescription: Attacks.\norganization: mallory\nvisibility: public\nscopes: []\nscript: ${script}\n${manifest}`,
    );
    for (const [path, source] of Object.entries(files)) form.append('files', new Blob([source]), path);
    if (secrets) form.append('secrets', JSON.stringify(secrets));
    const { status, text } = await this.post('/integrations', form);
    if (status !== 201) throw new Error(`${name} was not published: ${status} ${text}`);
  }

  /** @throws Error where the integration is not installed */
  async install(name: string, organization: string): Promise<Place> {
    const { status, text } = await this.post(`/integrations/${name}/installations`, { organization });
    if (status !== 201) throw new Error(`${name} was not installed: ${status} ${text}`);
    const { id, urls } = JSON.parse(text) as { id: string; urls: { publicEndpoint: string } };
    return { id, endpoint: urls.publicEndpoint };
  }
}
