// The files that say who may ask the webhook, and their rotation (contract 9.6).
import type { ConnectionOptions } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { createAuthority, issueCertificate } from '../../../../src/serving/tls/issue.ts'
import type { CertificatePair } from '../../../../src/serving/tls/key-pair.ts'
import { TOKEN, bearer, listeningWebhook } from './listening-webhook.ts'

const HOUR_MS = 3_600_000
const nowMs = Date.now()

const authorityOf = (): CertificatePair =>
  createAuthority({ commonName: 'clients', nowMs, untilMs: nowMs + 10 * HOUR_MS })

/** The certificate of an API server, which ends in an hour, as options of its connections. */
function clientOf(authority: CertificatePair): ConnectionOptions {
  const subject = { commonName: 'api-server', nowMs, untilMs: nowMs + HOUR_MS }
  const pair = issueCertificate(subject, { hosts: [], purposes: ['client'] }, authority)
  return { cert: pair.certificatePem, key: pair.keyPem }
}

const [OLD, NEW] = [authorityOf(), authorityOf()]
const WITHOUT_BEARER = { headers: [] }

describe('the file of the token', () => {
  test('is read again when it changes: the token before is refused then', async () => {
    const { ask, putToken, logged } = await listeningWebhook()
    expect(await ask()).toMatchObject({ code: 200 })
    await putToken('the-next-token\n')
    expect(await ask()).toMatchObject({ code: 401 })
    expect(await ask({ headers: bearer('the-next-token') })).toMatchObject({ code: 200 })
    await putToken('the-next-token\n')
    expect(logged()).toEqual(['webhook token in use', 'webhook token in use'])
  })

  test.each([
    { name: 'ends in a line break', text: `${TOKEN}\n` },
    { name: 'ends in a line break of Windows', text: `${TOKEN}\r\n` },
    { name: 'ends without one', text: TOKEN },
  ])('may be one that $name', async ({ text }) => {
    const { ask } = await listeningWebhook({ token: text, authority: null })
    expect(await ask()).toMatchObject({ code: 200 })
  })

  const more = 'the file has more than a token: spaces, several lines or characters beyond ASCII'
  test.each([
    { name: 'empty', text: '', because: 'the file is empty' },
    { name: 'an empty line', text: '\n', because: 'the file is empty' },
    { name: 'two lines', text: `${TOKEN}\n${TOKEN}\n`, because: more },
    { name: 'two empty lines', text: '\n\n', because: more },
    { name: 'a space', text: ' ', because: more },
    { name: 'a token and a space', text: `${TOKEN} \n`, because: more },
    { name: 'bytes', text: '\u0000\u00ff', because: more },
    {
      name: 'missing',
      text: undefined,
      because: expect.stringMatching(/token cannot be read \(ENOENT\)$/) as string,
    },
  ])('admits no caller while it is $name, and that is logged once', async ({ text, because }) => {
    const it = await listeningWebhook({ token: text, authority: null })
    const tries = [bearer(TOKEN), bearer(''), ['Authorization: Bearer'], ['Authorization: '], []]
    for (const headers of tries) expect(await it.ask({ headers })).toMatchObject({ code: 401 })
    await it.putToken(text)
    await it.putToken(text)
    expect(it.lines.map(({ level, fields }) => ({ level, because: fields['because'] }))).toEqual([
      { level: 'warn', because },
    ])
    await it.putToken(TOKEN)
    expect(await it.ask()).toMatchObject({ code: 200 })
    await it.putToken(text)
    expect(await it.ask()).toMatchObject({ code: 401 })
    expect(it.lines.map(({ level }) => level)).toEqual(['warn', 'info', 'warn'])
    expect(JSON.stringify(it.lines)).not.toContain(TOKEN)
  })
})

describe('the file of the client CA', () => {
  const only = (authority: string | undefined) => listeningWebhook({ token: null, authority })

  test('lets in API servers with its certificates, and none with a token', async () => {
    const { ask, outcomes, logged } = await only(OLD.certificatePem)
    expect(await ask(WITHOUT_BEARER, clientOf(OLD))).toMatchObject({ code: 200 })
    expect(await ask(WITHOUT_BEARER, clientOf(NEW))).toMatchObject({ code: 401 })
    expect(await ask(WITHOUT_BEARER)).toMatchObject({ code: 401 })
    expect(await ask()).toMatchObject({ code: 401 })
    expect(await ask({ headers: ['Authorization: Bearer '] })).toMatchObject({ code: 401 })
    expect(outcomes).toEqual(['noOpinion', 'refused', 'refused', 'refused', 'refused'])
    expect(logged()).toEqual(['webhook client CA in use'])
  })

  test('is read again when it changes, and counts for open connections', async () => {
    const { ask, askOn, connect, putAuthority } = await only(OLD.certificatePem)
    const open = await connect(clientOf(OLD))
    expect(await askOn(open, WITHOUT_BEARER)).toMatchObject({ code: 200 })
    await putAuthority(OLD.certificatePem + NEW.certificatePem)
    expect(await askOn(open, WITHOUT_BEARER)).toMatchObject({ code: 200 })
    expect(await ask(WITHOUT_BEARER, clientOf(NEW))).toMatchObject({ code: 200 })
    await putAuthority(NEW.certificatePem)
    expect(await askOn(open, WITHOUT_BEARER)).toMatchObject({ code: 401 })
    expect(await ask(WITHOUT_BEARER, clientOf(OLD))).toMatchObject({ code: 401 })
    expect(await ask(WITHOUT_BEARER, clientOf(NEW))).toMatchObject({ code: 200 })
  })

  test.each([
    { name: 'missing', pem: undefined, because: expect.stringMatching(/ENOENT/) as string },
    { name: 'empty', pem: '', because: 'it has no PEM certificate' },
    { name: 'cut off', pem: OLD.certificatePem.slice(0, 99), because: 'it has no PEM certificate' },
  ])('admits no caller while it is $name, and that is logged once', async ({ pem, because }) => {
    const it = await only(OLD.certificatePem)
    await it.putAuthority(pem)
    await it.putAuthority(pem)
    expect(await it.ask(WITHOUT_BEARER, clientOf(OLD))).toMatchObject({ code: 401 })
    expect(it.lines.map(({ fields }) => fields['because'])).toEqual([undefined, because])
    await it.putAuthority(OLD.certificatePem)
    expect(await it.ask(WITHOUT_BEARER, clientOf(OLD))).toMatchObject({ code: 200 })
  })

  test('admits no caller by a connection that outlives its certificate', async () => {
    const { clock, connect, askOn } = await only(OLD.certificatePem)
    const open = await connect(clientOf(OLD))
    const endMs = Math.floor((nowMs + HOUR_MS) / 1000) * 1000
    clock.setNow(endMs - 1)
    expect(await askOn(open, WITHOUT_BEARER)).toMatchObject({ code: 200 })
    clock.setNow(endMs)
    expect(await askOn(open, WITHOUT_BEARER)).toMatchObject({ code: 401 })
  })
})

test('either file lets a caller in where both are given, but a certificate mends no wrong token, nor two', async () => {
  const { ask } = await listeningWebhook({ token: TOKEN, authority: OLD.certificatePem })
  expect(await ask()).toMatchObject({ code: 200 })
  expect(await ask(WITHOUT_BEARER, clientOf(OLD))).toMatchObject({ code: 200 })
  expect(await ask({}, clientOf(NEW))).toMatchObject({ code: 200 })
  expect(await ask({ headers: bearer('wrong') }, clientOf(OLD))).toMatchObject({ code: 401 })
  const twice = [...bearer(TOKEN), ...bearer(TOKEN)]
  expect(await ask({ headers: twice }, clientOf(OLD))).toMatchObject({ code: 401 })
})

test('the files are no longer read after the process stops', async () => {
  const { stop, clock, putToken, logged } = await listeningWebhook()
  expect(clock.pending()).toBe(1)
  stop()
  await putToken('the-next-token')
  expect(logged()).toEqual(['webhook token in use'])
  expect(clock.pending()).toBe(0)
})
