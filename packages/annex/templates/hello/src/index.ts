import { createIntegration } from '@annex/sdk';

export default createIntegration({
  /** Answers requests to the public endpoint of an installation: any method, any path. */
  async fetch(request, { environment }) {
    const name = new URL(request.url).searchParams.get('name') ?? 'world';
    console.log('greeting', { name });
    return Response.json({ hello: name, from: environment.integration.name });
  },
});
