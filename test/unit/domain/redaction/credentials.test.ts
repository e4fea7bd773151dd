import { describe, expect, test } from 'vitest'
import {
  hideCredentials,
  hideCredentialsInUri,
} from '../../../../src/domain/redaction/credentials.ts'
import { generateKey } from '../../../../src/issuance/new-object.ts'
import { cpuRatio } from '../../../support/cpu-ratio.ts'
import { tokenText } from '../../../support/token-builder.ts'

const KEY = generateKey()
const TOKEN = tokenText({ sub: 'ada', exp: 1_900_000_000 })

const encoded = (text: string): string =>
  text.replaceAll(/./g, (one) => `%${one.charCodeAt(0).toString(16)}`)

describe('text of a client', () => {
  test.each([
    { name: 'a key', text: KEY, hidden: '<hidden>' },
    { name: 'a token', text: TOKEN, hidden: '<hidden>' },
    {
      name: 'both in a sentence',
      text: `curl ${KEY}, then ${TOKEN}.`,
      hidden: 'curl <hidden>, then <hidden>',
    },
    { name: 'a key in a word', text: `x${KEY}y`, hidden: 'x<hidden>y' },
    { name: 'an unsigned JWT', text: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.', hidden: '<hidden>' },
    { name: 'an encrypted JWT', text: 'eyJlbmMi.a.b.c.d', hidden: '<hidden>' },
    { name: 'a digest', text: `sha256:${'0a'.repeat(32)}`, hidden: `sha256:${'0a'.repeat(32)}` },
    { name: 'a name', text: 'pak_of_ada', hidden: 'pak_of_ada' },
    {
      name: 'a version',
      text: 'kubectl/v1.36.2 (linux/amd64)',
      hidden: 'kubectl/v1.36.2 (linux/amd64)',
    },
  ])('$name becomes $hidden (21.4)', ({ text, hidden }) => {
    expect(hideCredentials(text)).toBe(hidden)
  })
})

describe('a URI as it was sent', () => {
  test.each([
    {
      name: 'a key in the path',
      uri: `/api/v1/pods/${KEY}?x=1`,
      hidden: '/api/v1/pods/<hidden>?x=1',
    },
    {
      name: 'a token in the query',
      uri: `/api?token=${TOKEN}&a=b`,
      hidden: '/api?token=<hidden>&a=b',
    },
    { name: 'an encoded key', uri: `/api/${encoded(KEY)}/x`, hidden: '/api/<hidden>/x' },
    { name: 'an encoded token', uri: `/api?t=${encoded(TOKEN)}`, hidden: '/api?t=<hidden>' },
    {
      name: 'a key with one encoded character',
      uri: `/${KEY.replace('_', '%5F')}`,
      hidden: '/<hidden>',
    },
    {
      name: 'a selector',
      uri: '/api/v1/pods?labelSelector=a%3Db%2Cc',
      hidden: '/api/v1/pods?labelSelector=a%3Db%2Cc',
    },
    { name: 'a malformed escape', uri: '/api/%zz%4', hidden: '/api/%zz%4' },
    {
      name: 'an encoded name',
      uri: '/api/v1/namespaces/%61da',
      hidden: '/api/v1/namespaces/%61da',
    },
  ])('$name becomes $hidden (21.4)', ({ uri, hidden }) => {
    expect(hideCredentialsInUri(uri)).toBe(hidden)
  })

  test('the time for long text grows no faster than its length', async () => {
    const parts = ['eyJ', 'eyJ.', 'a.', 'pak_', '%65', 'eyJ%2e', '/eyJ.a']
    for (const part of parts) {
      const [short, long] = [part.repeat(20_000), part.repeat(160_000)]
      const hide = (text: string) => () => hideCredentialsInUri(text)
      // Eight times as long: a square would take 64 times as long.
      expect(await cpuRatio(hide(long), hide(short), 24)).toBeLessThan(24)
    }
  })
})
