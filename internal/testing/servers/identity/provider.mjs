// An identity provider on loopback, for tests: node provider.mjs PORT FILE. The file holds
// {keys, seconds, redirects} in JSON: the private keys (JWK), of which the first one signs, how
// long an access token is valid, and where people are sent back to who sign in by the client
// console. The client robot has a secret; people log in by toolstream.
import { readFileSync } from 'node:fs';
import Provider from 'oidc-provider';

const [port, file] = process.argv.slice(2);
const { keys, seconds, redirects } = JSON.parse(readFileSync(file));
const provider = new Provider(`http://127.0.0.1:${port}`, {
  jwks: { keys },
  cookies: { keys: ['loopback'] },
  scopes: ['openid', 'offline_access', 'tools'],
  clients: [
    {
      client_id: 'toolstream', token_endpoint_auth_method: 'none', redirect_uris: [], response_types: [],
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
    },
    {
      client_id: 'robot', client_secret: 'robot-secret', redirect_uris: [], response_types: [],
      grant_types: ['client_credentials'],
    },
    {
      client_id: 'console', token_endpoint_auth_method: 'none', redirect_uris: redirects, response_types: ['code'],
      grant_types: ['authorization_code', 'refresh_token'],
    },
  ],
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  extraTokenClaims: (_ctx, token) => ({
    org: 'acme', realm_access: { roles: [token.clientId === 'robot' ? 'robots' : 'people'] },
  }),
  issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'), // as Keycloak does, whatever the scopes
  rotateRefreshToken: true,
  features: {
    deviceFlow: { enabled: true },
    clientCredentials: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_ctx, resource) => ({
        scope: 'tools', audience: resource, accessTokenTTL: seconds, accessTokenFormat: 'jwt', jwt: { sign: { alg: keys[0].alg } },
      }),
    },
  },
});
provider.listen(Number(port), '127.0.0.1');
