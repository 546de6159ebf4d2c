// A certified OpenID Connect provider (npm: oidc-provider) with a login page that asks for a name only.
// Arguments: the package's folder, the port, a JSON file with the accounts, which is read at every login and refresh.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [packageFolder, port, accountsFile] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(`${packageFolder}/lib/index.js`));

const client = (id) => ({
  client_id: id,
  application_type: 'native', // any port of the loopback address may be the redirect (RFC 8252)
  token_endpoint_auth_method: 'none',
  redirect_uris: ['http://127.0.0.1/callback', 'http://127.0.0.1/login/callback'],
  response_types: ['code'],
  grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
});

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [client('hivemind'), client('another')],
  features: { devInteractions: { enabled: true }, deviceFlow: { enabled: true }, revocation: { enabled: true } },
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups', 'hd'] },
  scopes: ['openid', 'offline_access'],
  conformIdTokenClaims: false, // groups are in the ID token and not only at the userinfo endpoint
  rotateRefreshToken: true,
  pkce: { required: () => true },
  cookies: { keys: ['for tests'] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, ...JSON.parse(readFileSync(accountsFile, 'utf-8'))[id] }),
  }),
});
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
