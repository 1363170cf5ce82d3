/** What an attacker does through the front door: publishing and installing, with the tokens that attackers have. */

/** Attackers have an address of their own: what the service allows an address is no concern of the bystanders. */
export const ATTACKER = '127.0.0.2';

export interface Place {
  readonly id: string;
  readonly endpoint: string;
}

/** The service under attack, as a child process is handed it. */
export interface Victim {
  readonly control: string;
  readonly open: string;
  readonly adminToken: string;
  /** Endpoint of a bystander: strangers attack what they find. */
  readonly bystander: string;
}

export class Api {
  readonly #victim: Victim;

  constructor(victim: Victim) {
    this.#victim = victim;
  }

  /** @returns status and body; it throws for nothing that the service answers */
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

  /** @throws where it is not published */
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

  /** @throws where it is not installed */
  async install(name: string, organization: string): Promise<Place> {
    const { status, text } = await this.post(`/integrations/${name}/installations`, { organization });
    if (status !== 201) throw new Error(`${name} was not installed: ${status} ${text}`);
    const { id, urls } = JSON.parse(text) as { id: string; urls: { publicEndpoint: string } };
    return { id, endpoint: urls.publicEndpoint };
  }
}
