// OwnedAccessKey: accepted and rejected manifests (contract 1.2 to 1.4).

import {
  type Accepted,
  KEY,
  LOGIN,
  NUMBER_KEY,
  type Refused,
  SECRETS,
  times,
} from './case-runner.ts'

const HEX = '0123456789abcdef'.repeat(4)

const reserved = /begin with system: or platform: are reserved.*without the prefix/
const ascii = /only visible ASCII characters without spaces/
const format =
  /key must be 32 to 256 characters of .* or sha256: and 64 lower-case hex digits.*leave key out/

// biome-ignore format: a table
export const acceptedKeys: readonly Accepted[] = [
  { name: 'an empty spec', spec: {} },
  { name: 'a user', spec: { user: 'jane.doe@example.com', ttl: 3600, type: 'User' } },
  { name: 'a team', spec: { team: 'web' } },
  { name: 'a subject with groups', spec: { subject: 'ci', groups: ['deployers', 'oidc:auditors'] } },
  { name: 'system: inside a name', spec: { user: 'the-system:admin', groups: ['systems'] } },
  { name: 'the longest names', spec: { user: 'u'.repeat(253), groups: ['g'.repeat(253)] } },
  { name: 'the shortest key', spec: { key: 'Az09_-'.padEnd(32, 'x') } },
  { name: 'the longest key', spec: { key: 'k'.repeat(256) } },
  { name: 'a digest', spec: { key: `sha256:${HEX}` } },
  { name: 'every secret', spec: SECRETS },
  { name: 'ttl 0', spec: { ttl: 0 } },
  { name: 'the longest ttl', spec: { ttl: 2_147_483_647, ttlAfterLastActivity: true } },
  { name: 'ttl 1e3', spec: '{"ttl":1e3}', stored: { ttl: 1000 } },
  { name: 'ttl 60.0', spec: '{"ttl":60.0}', stored: { ttl: 60 } },
  { name: 'null values, which are dropped', spec: { ttl: null, scope: null, user: 'jane' }, stored: { user: 'jane' } },
  {
    name: 'empty strings and false, which mean absent',
    spec: {
      displayName: '', description: '', user: '', team: '', subject: '', key: '', type: '', parent: '',
      disabled: false, ttlAfterLastActivity: false, groups: [], identityRefresh: '',
      identity: { userId: '', username: '', preferredUsername: '', email: '', emailVerified: false, connector: '' },
      oidcProvider: { clientId: '', nonce: '', redirectUri: '', scopes: '' },
      oidcLogin: { idToken: '', lastRefresh: '' },
    },
  },
  { name: 'a user beside an empty team', spec: { user: 'jane', team: '', subject: '' } },
  ...['Login', 'User', 'Other', 'Reset', 'OIDCRefreshToken', 'NetworkPeer', 'Workspace'].map((type) => ({
    name: `type ${type}`,
    spec: { type },
  })),
  {
    name: 'every field but scope',
    spec: {
      displayName: 'CI', description: 'Deploys the web shop.', user: 'jane', groups: ['dev'], key: KEY.secret,
      disabled: true, ttl: 60, ttlAfterLastActivity: true, type: 'OIDCRefreshToken', parent: 'another-key',
      identityRefresh: '2026-11-21T10:00:00+01:00',
      identity: {
        userId: '0a1b', username: 'jane', preferredUsername: 'Jane', email: 'jane@example.com', emailVerified: true,
        extraClaims: { department: { floor: 3, names: ['a', 'b'] } }, groups: ['dev'], connector: 'corp',
        connectorData: LOGIN.secret,
      },
      oidcProvider: { clientId: 'c', nonce: 'n', redirectUri: 'https://example.com/cb', scopes: 'openid email' },
      oidcLogin: {
        idToken: LOGIN.secret, accessToken: LOGIN.secret, refreshToken: LOGIN.secret,
        lastRefresh: '2026-11-21T10:00:00Z',
      },
    },
  },
]

// biome-ignore format: a table
export const refusedKeys: readonly Refused[] = [
  { name: 'no spec', field: 'spec', says: /Required value/ },
  { name: 'spec null', spec: 'null', field: 'spec', says: /Required value/ },
  { name: 'spec a string', spec: `"${KEY.secret}"`, field: 'spec', says: /must be of type object/ },
  { name: 'spec a list', spec: `["${KEY.secret}"]`, field: 'spec', says: /must be of type object/ },
  {
    name: 'a user and a team', spec: { user: 'a', team: 'b' },
    field: 'spec', says: /at most one of user, team and subject.*leave the others out/,
  },
  { name: 'a user and a subject', spec: { user: 'a', subject: 'c' }, field: 'spec', says: /keep one/ },
  { name: 'a user, a team and a subject', spec: { user: 'a', team: 'b', subject: 'c' }, field: 'spec', says: /keep one/ },
  { name: 'a space in a user', spec: { user: 'jane doe' }, field: 'spec.user', says: ascii },
  { name: 'a tab in a team', spec: { team: 'we\tb' }, field: 'spec.team', says: ascii },
  { name: 'a line break after a subject', spec: { subject: 'ci\n' }, field: 'spec.subject', says: ascii },
  { name: 'a letter beyond ASCII', spec: { user: 'jané' }, field: 'spec.user', says: ascii },
  { name: 'an invisible character', spec: { user: 'jane\u200b' }, field: 'spec.user', says: ascii },
  { name: 'a user too long', spec: { user: 'u'.repeat(254) }, field: 'spec.user', says: /may not be more than 253/ },
  { name: 'a user with the prefix system:', spec: { user: 'system:admin' }, field: 'spec.user', says: reserved },
  { name: 'a user with the prefix SyStEm:', spec: { user: 'SyStEm:admin' }, field: 'spec.user', says: reserved },
  { name: 'a team with the prefix platform:', spec: { team: 'platform:web' }, field: 'spec.team', says: reserved },
  { name: 'a subject with the prefix PLATFORM:', spec: { subject: 'PLATFORM:x' }, field: 'spec.subject', says: reserved },
  {
    name: 'a group with the prefix system:', spec: { groups: ['dev', 'system:masters'] },
    field: 'spec.groups[1]', says: reserved,
  },
  {
    name: 'an empty group', spec: { groups: [''] },
    field: 'spec.groups[0]', says: /write the group's name, or leave the entry out/,
  },
  { name: 'a null for a group', spec: { groups: [null] }, field: 'spec.groups[0]', says: /must be of type string/ },
  { name: 'a space in a group', spec: { groups: ['a b'] }, field: 'spec.groups[0]', says: ascii },
  {
    name: 'too many groups', spec: { groups: times(129, (n) => `g${n}`) },
    field: 'spec.groups', says: /at most 128/,
  },
  {
    name: 'an empty group in identity', spec: { identity: { groups: [''] } },
    field: 'spec.identity.groups[0]', says: /leave the entry out/,
  },
  {
    name: 'an unknown type', spec: { type: 'Robot' },
    field: 'spec.type', says: /supported values: "", "Login", "User"/,
  },
  {
    name: 'a type in lower case', spec: { type: 'user' },
    field: 'spec.type', says: /supported values: "", "Login", "User"/,
  },
  { name: 'a key too short', spec: { key: KEY.secret.slice(0, 31) }, field: 'spec.key', says: format },
  { name: 'a key with a dot', spec: { key: `${KEY.secret}.` }, field: 'spec.key', says: format },
  { name: 'a key with a space', spec: { key: `${KEY.secret} ` }, field: 'spec.key', says: format },
  { name: 'a key with a line break', spec: { key: `${KEY.secret}\n` }, field: 'spec.key', says: format },
  {
    name: 'a key too long', spec: { key: KEY.secret.repeat(6) },
    field: 'spec.key', says: /may not be more than 256/,
  },
  {
    name: 'a number for a key', spec: `{"key":${NUMBER_KEY.secret}}`,
    field: 'spec.key', says: /must be of type string/,
  },
  { name: 'a list for a key', spec: { key: [KEY.secret] }, field: 'spec.key', says: /must be of type string/ },
  {
    name: 'an object for a key',
    spec: { key: { value: KEY.secret } }, code: 400, says: /unknown field "spec.key.value"/,
  },
  { name: 'a digest in upper case', spec: { key: `sha256:${HEX.toUpperCase()}` }, field: 'spec.key', says: format },
  { name: 'a digest too short', spec: { key: `sha256:${HEX.slice(1)}` }, field: 'spec.key', says: format },
  { name: 'a digest of another algorithm', spec: { key: `sha512:${HEX}${HEX}` }, field: 'spec.key', says: format },
  {
    name: 'connector data too long', spec: { identity: { connectorData: LOGIN.secret.repeat(1600) } },
    field: 'spec.identity.connectorData', says: /may not be more than 65536/,
  },
  {
    name: 'a list for a refresh token', spec: { oidcLogin: { refreshToken: [LOGIN.secret] } },
    field: 'spec.oidcLogin.refreshToken', says: /must be of type string/,
  },
  { name: 'ttl -1', spec: { ttl: -1 }, field: 'spec.ttl', says: /greater than or equal to 0/ },
  {
    name: 'ttl 2147483648', spec: { ttl: 2_147_483_648 },
    field: 'spec.ttl', says: /less than or equal to 2147483647/,
  },
  { name: 'ttl 2^63', spec: '{"ttl":9223372036854775808}', field: 'spec.ttl', says: /must be of type int64/ },
  { name: 'ttl "60"', spec: { ttl: '60' }, field: 'spec.ttl', says: /must be of type integer/ },
  { name: 'ttl 1.5', spec: { ttl: 1.5 }, field: 'spec.ttl', says: /must be of type int64/ },
  { name: 'ttl true', spec: { ttl: true }, field: 'spec.ttl', says: /must be of type int64/ },
  { name: 'disabled "false"', spec: { disabled: 'false' }, field: 'spec.disabled', says: /must be of type boolean/ },
  {
    name: 'a timestamp in words', spec: { identityRefresh: 'yesterday' },
    field: 'spec.identityRefresh', says: /must be of type date-time/,
  },
  { name: 'an unknown field', spec: { ttll: 60 }, code: 400, says: /unknown field "spec.ttll"/ },
  {
    name: 'an unknown field in a scope',
    spec: { scope: { project: ['a'] } }, code: 400, says: /unknown field "spec.scope.project"/,
  },
  {
    name: 'a duplicate field',
    spec: `{"key":"${KEY.secret}","key":"${KEY.secret}"}`, code: 400, says: /duplicate field "spec.key"/,
  },
]
