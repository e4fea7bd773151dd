/** @module-tag no-retry */
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { manualClock } from '../../../../support/manual-clock.ts'
import { callbackOf, goodToken, NO_END, SECRETS } from '../../../../support/oidc/sign-in.ts'
import {
  type IdpA,
  idpA,
  OF_COMPANY,
  signInAtA,
  startIdpA,
  withDirectory,
} from '../../../../support/providers/idp-a.ts'
import type { ApiAnswer, ApiRequest } from '../../../../support/providers/json-api.ts'
import { outcomeOf } from '../../../../support/providers/sign-in.ts'

const asked = ({ directory }: IdpA, wanted: string) =>
  directory.requests.filter(({ path }) => path === wanted)

const GROUPS = '/admin/directory/v1/groups'
const isOfGroups = ({ path }: ApiRequest): boolean => path === GROUPS

const namesOf = (found: { readonly groups: readonly { readonly name: string }[] }) =>
  found.groups.map(({ name }) => name)

describe('the groups of a person of Google', () => {
  test('are those of the directory, on every page (25.6)', async () => {
    const google = await startIdpA()
    google.pages = [['sre@example.com'], ['staff@example.com'], []]
    const { groups } = await signInAtA(google, withDirectory(google))
    expect(groups).toEqual([
      { name: 'sre@example.com', displayName: 'The sre@example.com' },
      { name: 'staff@example.com', displayName: 'The staff@example.com' },
    ])
    const queries = asked(google, GROUPS).map(({ query }) => Object.fromEntries(query))
    const usual = { userKey: 'ada@example.com', maxResults: '200' }
    expect(queries).toEqual([usual, { ...usual, pageToken: '1' }, { ...usual, pageToken: '2' }])
  })

  test('are none where the directory has none (25.6)', async () => {
    const google = await startIdpA()
    google.pages = []
    expect(namesOf(await signInAtA(google, withDirectory(google)))).toEqual([])
  })

  test.each<{ name: string; claims: Readonly<Record<string, unknown>>; isAsked: boolean }>([
    { name: 'of the company', claims: {}, isAsked: true },
    { name: 'of Gmail', claims: { hd: undefined, email: 'ada@gmail.com' }, isAsked: true },
    { name: 'that Google does not host', claims: { hd: undefined }, isAsked: false },
    {
      name: 'that looks like one of Gmail',
      claims: { hd: undefined, email: 'ada@gmail.com.evil.com' },
      isAsked: false,
    },
  ])('of an address $name are looked up or none (25.6, SC)', async ({ claims, isAsked }) => {
    const google = await startIdpA()
    const settings = withDirectory(google)
    const found = await signInAtA(google, settings, claims)
    expect(found.groups).toHaveLength(isAsked ? 2 : 0)
    const groups = ['sre@example.com']
    const required = signInAtA(google, { ...settings, groups }, claims)
    expect(await outcomeOf(required)).toMatchObject(
      isAsked ? { groups: found.groups } : { reason: 'groups_required' },
    )
  })

  test.each<{ groups: readonly string[]; isIn: boolean }>([
    { groups: ['x@example.com', 'sre@example.com'], isIn: true },
    { groups: ['x@example.com'], isIn: false },
    { groups: ['sre'], isIn: false },
    { groups: ['of-the-token'], isIn: false },
  ])('contain one of $groups, or the person is refused (25.6, SD)', async ({ groups, isIn }) => {
    const google = await startIdpA()
    const found = signInAtA(google, { ...withDirectory(google), groups })
    expect(await outcomeOf(found)).toMatchObject(
      isIn
        ? { groups: [{ name: 'sre@example.com' }, { name: 'staff@example.com' }] }
        : { reason: 'groups_required', detail: 'groups' },
    )
  })
})

/** A list of so many addresses. */
const addresses = (count: number, at = 0): readonly string[] =>
  Array.from({ length: count }, (_, index) => `g${at}-${index}@example.com`)

const ERROR_200 = { error: { code: 500, message: 'a secret' } }
const RATE_LIMITED = {
  error: { code: 403, errors: [{ domain: 'usageLimits', reason: 'quotaExceeded' }] },
}
const OF_KIND = { kind: 'admin#directory#groups' }

describe('a look-up of groups at Google', () => {
  test.each<{ name: string; answer: ApiAnswer; isLater?: true }>([
    { name: 'of 500', answer: { status: 500, body: 'a secret' } },
    { name: 'of 503 on the second page', answer: { status: 503, body: '' }, isLater: true },
    { name: 'of 429', answer: { status: 429, headers: { 'retry-after': '1' }, body: '' } },
    { name: 'of 403 by rate limits', answer: { status: 403, body: RATE_LIMITED } },
    {
      name: 'of 403 that has a list',
      answer: { status: 403, body: { ...OF_KIND, groups: [{ email: 'a@b.c' }] } },
    },
    { name: 'of 404, as for strangers', answer: { status: 404, body: {} } },
    { name: 'with an error in 200', answer: { body: ERROR_200 } },
    { name: 'of another kind', answer: { body: { groups: [{ email: 'a@b.c' }] } } },
    { name: 'that redirects', answer: { status: 302, headers: { location: '/' }, body: '' } },
    { name: 'that stops half way', answer: { body: OF_KIND, cutAfterBytes: 5 }, isLater: true },
    { name: 'in HTML', answer: { body: '<html>a secret' } },
    { name: 'that is a list', answer: { body: [] } },
    { name: 'with groups that are a map', answer: { body: { ...OF_KIND, groups: {} } } },
    { name: 'with a group that is a text', answer: { body: { ...OF_KIND, groups: ['a@b.c'] } } },
    { name: 'with a group of no address', answer: { body: { ...OF_KIND, groups: [{}] } } },
    { name: 'with more than 1 MiB', answer: { body: `{"x":"${'x'.repeat(1_048_576)}"}` } },
    { name: 'with 20,001 values', answer: { body: { ...OF_KIND, x: Array(20_001).fill(0) } } },
  ])('$name is groups_unreadable, and not quoted (25.6, SD)', async ({ answer, isLater }) => {
    const google = await startIdpA()
    google.pages = [['a@example.com'], ['b@example.com']]
    google.answer = (request) =>
      isOfGroups(request) && (!isLater || request.query.has('pageToken')) ? answer : undefined
    const refused = signInAtA(google, withDirectory(google))
    await expect(refused).rejects.toMatchObject({ reason: 'groups_unreadable' })
    await expect(refused).rejects.not.toThrow(/secret/)
  })

  test('that pages for ever ends after 20 pages (25.6, SD)', async () => {
    const google = await startIdpA()
    const body = { ...OF_KIND, groups: [{ email: 'a@b.c' }], nextPageToken: 'again' }
    google.answer = (request) => (isOfGroups(request) ? { body } : undefined)
    await expect(signInAtA(google, withDirectory(google))).rejects.toMatchObject({
      reason: 'groups_unreadable',
      because: 'the list has more than 20 pages',
    })
    expect(asked(google, GROUPS)).toHaveLength(20)
  })

  test.each([
    { entries: 5000, isRead: true },
    { entries: 5001, isRead: false },
  ])('of $entries entries is read or refused (25.6, SD)', async ({ entries, isRead }) => {
    const google = await startIdpA()
    google.pages = [addresses(2500), addresses(2500, 1), addresses(entries - 5000, 2)]
    const found = signInAtA(google, withDirectory(google))
    expect(await outcomeOf(found)).toMatchObject(
      isRead
        ? { groups: { length: 5000 } }
        : { reason: 'groups_unreadable', because: 'the list has more than 5000 entries' },
    )
  })

  test('without an answer ends after ten seconds (25.6, SD)', async () => {
    const google = await startIdpA()
    const clock = manualClock(Date.now())
    const provider = idpA(google, withDirectory(google), { clock })
    let isAsked: () => void = () => undefined
    const reached = new Promise<void>((resolve) => (isAsked = resolve))
    google.answer = (request) => {
      if (!isOfGroups(request)) return undefined
      isAsked()
      return null
    }
    google.forger.token = { id_token: await goodToken(google.forger, OF_COMPANY) }
    const finished = provider.finish(callbackOf(), SECRETS, NO_END)
    const seen: string[] = []
    finished.catch((error) => seen.push(String(error)))
    await reached
    await clock.advance(9_999)
    expect(seen).toEqual([])
    await clock.advance(1)
    await expect(finished).rejects.toMatchObject({ reason: 'groups_unreadable' })
  })
})

describe('the token of the service account', () => {
  test('is kept until a minute before its end (25.6)', async () => {
    const google = await startIdpA()
    const clock = manualClock(Date.now())
    const provider = idpA(google, withDirectory(google), { clock })
    await provider.check(NO_END)
    await clock.advance(3_538_999)
    await provider.check(NO_END)
    expect(asked(google, '/token')).toHaveLength(1)
    await clock.advance(1)
    expect(await provider.check(NO_END)).toMatchObject({ fault: null })
    expect(asked(google, '/token')).toHaveLength(2)
  })

  test('is obtained anew for another file, and after a look-up that failed (25.6)', async () => {
    const google = await startIdpA()
    const provider = idpA(google, withDirectory(google))
    await provider.check(NO_END)
    await google.writeKey({ project_id: 'other' })
    await provider.check(NO_END)
    expect(asked(google, '/token')).toHaveLength(2)
    google.answer = (request) => (isOfGroups(request) ? { status: 401, body: {} } : undefined)
    google.forger.token = { id_token: await goodToken(google.forger, OF_COMPANY) }
    const failing = provider.finish(callbackOf(), SECRETS, NO_END)
    await expect(failing).rejects.toMatchObject({ reason: 'groups_unreadable' })
    await provider.check(NO_END)
    expect(asked(google, '/token')).toHaveLength(3)
  })

  test.each<{ name: string; answer: ApiAnswer; reason: string; says: string }>([
    {
      name: 'that the domain does not grant',
      answer: { status: 401, body: { error: 'unauthorized_client', error_description: 'secret' } },
      reason: 'provider_unusable',
      says: 'the service account gets no token: unauthorized_client',
    },
    {
      name: 'of an unknown administrator',
      answer: { status: 400, body: { error: 'invalid_grant' } },
      reason: 'provider_unusable',
      says: 'the service account gets no token: invalid_grant',
    },
    {
      name: 'with an error of another form',
      answer: { status: 400, body: { error: 'a secret' } },
      reason: 'provider_unusable',
      says: 'the service account gets no token',
    },
    {
      name: 'that the endpoint has no time for',
      answer: { status: 503, body: '' },
      reason: 'groups_unreadable',
      says: 'the provider answered 503',
    },
    {
      name: 'with an error in 200',
      answer: { body: { error: 'invalid_grant' } },
      reason: 'groups_unreadable',
      says: 'the token of the service account has another form',
    },
    {
      name: 'without a lifetime',
      answer: { body: { access_token: 'secret' } },
      reason: 'groups_unreadable',
      says: 'the token of the service account has another form',
    },
  ])('$name is none (25.5, 25.6)', async ({ answer, reason, says }) => {
    const google = await startIdpA()
    google.answer = ({ path }) => (path === '/token' ? answer : undefined)
    const settings = withDirectory(google)
    await expect(signInAtA(google, settings)).rejects.toMatchObject({ reason, because: says })
    expect(await idpA(google, settings).check(NO_END)).toMatchObject({ fault: says })
  })
})

const EC_PEM = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
}).privateKey

describe('setting serviceAccountFilePath', () => {
  test.each<{ name: string; change: (google: IdpA) => unknown; says: string }>([
    {
      name: 'a file in another folder',
      change: (google) => Object.assign(google, { keyFile: '/etc/hostname' }),
      says: 'is not in the directory of --files-dir',
    },
    {
      name: 'a file that is not there',
      change: (google) => Object.assign(google, { keyFile: `${google.filesDir}/other` }),
      says: 'cannot be read',
    },
    {
      name: 'a text',
      change: ({ keyFile }) => writeFile(keyFile, 'PLANTED'),
      says: 'must be the JSON file of a service account',
    },
    {
      name: 'a file of a person',
      change: ({ writeKey }) => writeKey({ type: 'authorized_user' }),
      says: 'must be the JSON file of a service account',
    },
    {
      name: 'a file without token_uri',
      change: ({ writeKey }) => writeKey({ token_uri: undefined }),
      says: 'has no token_uri',
    },
    {
      name: 'a key that is none',
      change: ({ writeKey }) => writeKey({ private_key: 'PLANTED' }),
      says: 'has a private_key that must be an RSA key in PEM',
    },
    {
      name: 'a key of another kind',
      change: ({ writeKey }) => writeKey({ private_key: EC_PEM }),
      says: 'has a private_key that must be an RSA key in PEM',
    },
  ])('refuses $name, and quotes nothing (25.5, 25.6, SJ)', async ({ change, says }) => {
    const google = await startIdpA()
    await change(google)
    const settings = withDirectory(google)
    const refused = signInAtA(google, settings)
    await expect(refused).rejects.toMatchObject({
      reason: 'provider_unusable',
      because: `serviceAccountFilePath ${google.keyFile} ${says}`,
      detail: 'serviceAccountFilePath',
    })
    await expect(refused).rejects.not.toThrow(/PLANTED|PRIVATE/)
    expect((await idpA(google, settings).check(NO_END)).fault).toContain(says)
  })

  test.each([
    'http://metadata.google.internal/token',
    'https://169.254.169.254/token',
    'file:///x',
  ])('asks no token at %s (25.6, SJ)', async (token_uri) => {
    const google = await startIdpA()
    await google.writeKey({ token_uri })
    await expect(signInAtA(google, withDirectory(google))).rejects.toMatchObject({
      reason: 'provider_unusable',
    })
  })
})
