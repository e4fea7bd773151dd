import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  badSignatures,
  claimsIn,
  es256,
  forge,
  type Members,
  type SigningKey,
} from '../../../direct/forged-tokens.ts'
import { directWorld, START_MS, type TestDirect } from './direct-world.ts'
import { newTestKey, soundClaims } from './test-issuer.ts'

/** A sound token and its parts, the first two decoded. */
interface Sound {
  readonly key: SigningKey
  readonly token: string
  readonly head: string
  readonly body: string
}

let direct: TestDirect
let sound: Sound

beforeAll(async () => {
  const { start, key, token } = await directWorld(afterAll)
  direct = await start()
  const own = token().token
  const [head = '', body = ''] = own.split('.')
  const textOf = (part: string) => Buffer.from(part, 'base64url').toString()
  sound = { key, token: own, head: textOf(head), body: textOf(body) }
})

/** Why the token is refused. @throws Error when a sound one is too: then a refusal says nothing */
const refusalOf = async (token: string): Promise<string | null> => {
  const because = await direct.because(sound.token)
  if (because !== null) throw new Error(`the sound token is refused: ${because}`)
  return direct.because(token)
}

describe('forged signatures and headers (9.2; threats D1)', () => {
  const names = badSignatures(newTestKey(), soundClaims('https://127.0.0.1/oidc', START_MS))
  test.each(names.map(({ name }, at) => ({ name, at })))('$name', async ({ at }) => {
    const forged = badSignatures(sound.key, claimsIn(sound.token))[at]
    expect(['malformed', 'header', 'unknownKey', 'signature']).toContain(
      await refusalOf(forged?.token ?? ''),
    )
  })

  test.each<{ readonly name: string; readonly members: Members }>([
    { name: 'crit', members: { crit: [] } },
    { name: 'b64', members: { b64: true } },
    { name: 'jku', members: { jku: 'https://127.0.0.1:1/keys' } },
    { name: 'x5u', members: { x5u: 'https://127.0.0.1:1/keys' } },
    { name: 'x5c', members: { x5c: [] } },
    { name: 'jwk', members: { jwk: {} } },
    { name: 'zip', members: { zip: 'DEF' } },
    { name: 'any other member', members: { cty: 'JWT' } },
    { name: 'no typ', members: { typ: undefined } },
    { name: 'another typ', members: { typ: 'at+jwt' } },
    { name: 'no kid', members: { kid: undefined } },
    { name: 'kid a list', members: { kid: ['a'] } },
    { name: 'kid no thumbprint', members: { kid: "' or 1=1 --" } },
    { name: 'alg a list', members: { alg: ['ES256'] } },
  ])('a good signature, and a header with $name', async ({ members }) => {
    expect(await refusalOf(forge(sound.key, claimsIn(sound.token), { header: members }))).toBe(
      'header',
    )
  })
})

/** Base64url of a text that need not be JSON. */
const part = (text: string | Buffer): string => Buffer.from(text).toString('base64url')

/** A token with a good signature over any two texts. */
const signed = (head: string, body: string | Buffer): string => {
  const text = `${part(head)}.${part(body)}`
  return `${text}.${es256(sound.key)(text)}`
}

describe('texts that are not tokens (9.2; threats D1)', () => {
  test.each<{ readonly name: string; readonly text: (from: Sound) => string }>([
    { name: 'nothing', text: () => '' },
    { name: 'two dots', text: () => '..' },
    { name: 'two parts', text: ({ head, body }) => `${part(head)}.${part(body)}` },
    { name: 'a part too many', text: ({ token }) => `${token}.` },
    { name: 'padding', text: ({ token }) => `${token}==` },
    { name: 'a space behind it', text: ({ token }) => `${token} ` },
    { name: 'a line break in it', text: ({ token }) => token.replace('.', '\n.') },
    { name: 'base64 for base64url', text: ({ token }) => `${token.slice(0, -3)}+/A` },
    { name: 'other bits behind the last byte', text: ({ token }) => withOtherBits(token) },
    { name: 'too long', text: ({ head }) => signed(head, JSON.stringify({ x: 'x'.repeat(8192) })) },
    { name: 'a header that is not JSON', text: ({ body }) => signed('{', body) },
    { name: 'a header that is a list', text: ({ body }) => signed('[]', body) },
    { name: 'claims that are not JSON', text: ({ head }) => signed(head, '{') },
    { name: 'claims that are a list', text: ({ head }) => signed(head, '[]') },
    { name: 'claims that are null', text: ({ head }) => signed(head, 'null') },
    {
      name: 'a claim twice',
      text: ({ head, body }) => signed(head, body.replace('{', '{"sub":"user:eve",')),
    },
    {
      name: 'a claim twice, once escaped',
      text: ({ head, body }) => signed(head, body.replace('{', '{"\\u0073ub":"user:eve",')),
    },
    {
      name: 'a member of the header twice',
      text: ({ head, body }) => signed(head.replace('{', '{"alg":"none",'), body),
    },
    { name: 'a byte order mark', text: ({ head, body }) => signed(`\uFEFF${head}`, body) },
    {
      name: 'a byte that is not UTF-8',
      text: ({ head, body }) =>
        signed(head, Buffer.from(body.replace('user:ada', 'user:a\xff'), 'latin1')),
    },
    {
      name: 'a number that parsing changes',
      text: ({ head, body }) => signed(head, body.replace(/"exp":\d+/, '"exp":1e999')),
    },
  ])('$name', async ({ text }) => {
    expect(await refusalOf(text(sound))).toBe('malformed')
  })

  test('an unsound claim with a good signature is refused, and logged by its name only', async () => {
    const token = signed(sound.head, sound.body.replace('user:ada', 'root:ada'))
    expect(await refusalOf(token)).toBe('claims')
    expect(direct.lines.filter(({ level }) => level === 'debug')).toEqual([
      { level: 'debug', fields: { because: 'claims', claim: 'sub' }, sentence: 'token refused' },
    ])
  })
})

/** The token with other unused bits in the last character of its signature. */
function withOtherBits(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return `${token.slice(0, -1)}${alphabet[alphabet.indexOf(token.at(-1) ?? '') + 1]}`
}
