import { describe, expect, it } from 'vitest'
import { allowsRedirect, redirectUriFault } from '../../../../src/signin/apps/redirect-uri.ts'

const LISTED = 'https://app.example/cb?a=b'

describe('an address that a client lists (26.2)', () => {
  it.each([
    LISTED,
    'https://app.example',
    'https://app.example:8443/cb',
    'http://localhost:3000/cb',
    'http://127.0.0.1/cb',
    'http://[::1]:8000/',
    'com.example.app:/cb',
    'com.example.app://cb/x',
  ])('may be %s', (uri) => {
    expect(redirectUriFault(uri)).toBeNull()
  })

  it.each([
    '',
    '/cb',
    'app.example/cb',
    'http://app.example/cb',
    'http://localhost.example/cb',
    'http://127.0.0.2/cb',
    'http://127.1/cb',
    'http://2130706433/cb',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'vscode://cb',
    'urn:ietf:wg:oauth:2.0:oob',
    'https://app.example/cb#x',
    'https://app.example/cb#',
    'https://*.example/cb',
    'https://app.example/*',
    'https://me:secret@app.example/cb',
    'https://app.example@evil.example/cb',
    'https://app.example\\@evil.example/cb',
    'https://APP.example/cb',
    'HTTPS://app.example/cb',
    'https://app.example:443/cb',
    'https://app.example/a/../cb',
    'https://app.example/a/%2e%2e/cb',
    'https://app.example/c b',
    'https://app.example/cb\n',
    'https://äpp.example/cb',
    'https:app.example/cb',
    `https://app.example/${'a'.repeat(1024)}`,
  ])('may not be %s', (uri) => {
    expect(redirectUriFault(uri)).not.toBeNull()
  })
})

describe('an address that a client sends (26.2)', () => {
  const confidential = { redirectUris: [LISTED], isPublic: false }
  const app = { redirectUris: ['com.example.app:/cb'], isPublic: true }
  const any = { redirectUris: ['*'], isPublic: false }

  it.each([
    ['as it is listed', confidential, LISTED],
    ['of a scheme of its own', app, 'com.example.app:/cb'],
    ['at a loopback port of a public client', app, 'http://127.0.0.1:51004/cb'],
    ['at localhost', app, 'http://localhost:51004/other'],
    ['at [::1]', app, 'http://[::1]:51004/'],
    ['of any host by *', any, 'https://any.example/cb'],
    ['of loopback by *', any, 'http://localhost:1/cb'],
  ])('is allowed: %s', (_, client, uri) => {
    expect(allowsRedirect(client, uri)).toBe(true)
  })

  it.each([
    ['without its query', confidential, 'https://app.example/cb'],
    ['with more query', confidential, `${LISTED}&c=d`],
    ['below', confidential, 'https://app.example/cb/x?a=b'],
    ['with another encoding', confidential, 'https://app.example/c%62?a=b'],
    ['with a port', confidential, 'https://app.example:443/cb?a=b'],
    ['in capitals', confidential, 'https://APP.example/cb?a=b'],
    ['with user information', confidential, 'https://app.example@evil.example/cb?a=b'],
    ['with a fragment', confidential, `${LISTED}#x`],
    ['with a dot', confidential, 'https://app.example./cb?a=b'],
    ['over http', confidential, 'http://app.example/cb?a=b'],
    ['at a loopback port of a client with a secret', confidential, 'http://127.0.0.1:1/cb'],
    ['at a port of another host', app, 'http://127.0.0.1.example:1/cb'],
    ['at loopback over https', app, 'https://127.0.0.1:1/cb'],
    ['at loopback with user information', app, 'http://a@127.0.0.1:1/cb'],
    ['at loopback with a fragment', app, 'http://127.0.0.1:1/cb#x'],
    ['at a loopback address with another spelling', app, 'http://127.1:1/cb'],
    ['of another scheme', app, 'com.example.app:/other'],
    ['a scheme by *', any, 'com.example.app:/cb'],
    ['http by *', any, 'http://any.example/cb'],
    ['a script by *', any, 'javascript:alert(1)'],
    ['user information by *', any, 'https://a@any.example/cb'],
    ['the entry itself', any, '*'],
    ['nothing', app, ''],
  ])('is refused: %s', (_, client, uri) => {
    expect(allowsRedirect(client, uri)).toBe(false)
  })
})
