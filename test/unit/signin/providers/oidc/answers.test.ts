import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type ServerPair, serverPair } from '../../../../support/certificate-builder.ts'
import { startForgedProvider } from '../../../../support/oidc/forged-provider.ts'
import { NO_END, providerFor, signIn } from '../../../../support/oidc/sign-in.ts'

describe('an answer of the token endpoint', () => {
  test.each<{ name: string; status?: number; body: string; refusal: object }>([
    {
      name: 'with an error',
      status: 400,
      body: '{"error":"invalid_grant","error_description":"a secret"}',
      refusal: { reason: 'provider_refused', detail: 'invalid_grant' },
    },
    {
      name: 'with an error in HTML',
      status: 400,
      body: '{"error":"<b>a secret"}',
      refusal: { reason: 'provider_refused', detail: null },
    },
    {
      name: 'that does not know the client',
      status: 401,
      body: '{"error":"invalid_client"}',
      refusal: { reason: 'provider_unusable' },
    },
    { name: 'of 500', status: 500, body: 'a secret', refusal: { reason: 'provider_unreachable' } },
    { name: 'in HTML', body: '<html>a secret', refusal: { reason: 'provider_answer' } },
    {
      name: 'without an ID token',
      body: '{"access_token":"a secret","token_type":"Bearer"}',
      refusal: { reason: 'provider_answer', because: 'the ID token is absent' },
    },
    {
      name: 'with an ID token that is a number',
      body: '{"access_token":"a secret","token_type":"Bearer","id_token":7}',
      refusal: { reason: 'provider_answer' },
    },
    { name: 'that is empty', body: '', refusal: { reason: 'provider_answer' } },
    {
      name: 'with 30,000 fields',
      body: JSON.stringify(Object.fromEntries(Array.from({ length: 30_000 }, (_, at) => [at, at]))),
      refusal: { reason: 'provider_answer' },
    },
  ])('$name is refused, and not quoted (25.5, SF)', async ({ status = 200, body, refusal }) => {
    const forger = await startForgedProvider()
    forger.answers.set('/token', { status, body })
    const refused = signIn(forger)
    await expect(refused).rejects.toMatchObject(refusal)
    await expect(refused).rejects.not.toThrow(/secret/)
  })
})

describe('the certificate of a provider', () => {
  /** A provider over TLS, and settings that name the CA of a pair. */
  async function served(other?: ServerPair) {
    const pair = serverPair('idp')
    const filesDir = await mkdtemp(join(tmpdir(), 'oidc-'))
    onTestFinished(() => rm(filesDir, { recursive: true }))
    const caFile = join(filesDir, 'ca.crt')
    await writeFile(caFile, (other ?? pair).caPem)
    return { forger: await startForgedProvider(pair), caFile, filesDir, pair }
  }

  test('is checked by caFile alone, which is read again (25.6)', async () => {
    const { forger, caFile, filesDir, pair } = await served(serverPair('other'))
    await expect(signIn(forger, { caFile }, {}, { filesDir })).rejects.toMatchObject({
      reason: 'provider_unreachable',
    })
    await writeFile(caFile, pair.caPem)
    expect(await signIn(forger, { caFile }, {}, { filesDir })).toMatchObject({ userId: 'ada-1' })
  })

  test('is checked by the roots of the system without caFile (25.6)', async () => {
    const { forger } = await served()
    await expect(signIn(forger)).rejects.toMatchObject({ reason: 'provider_unreachable' })
  })

  test('is not checked with insecureCa, which the health says (25.6, 27.1)', async () => {
    const { forger } = await served()
    expect(await signIn(forger, { insecureCa: true })).toMatchObject({ userId: 'ada-1' })
    const provider = providerFor(forger.issuer, { insecureCa: true })
    expect(await provider.check(NO_END)).toEqual({
      fault: null,
      warnings: ['its certificates are not validated (insecureCa)'],
    })
  })

  test('cannot be checked by a file without one (25.5)', async () => {
    const { forger, caFile, filesDir } = await served()
    await writeFile(caFile, 'a secret')
    const refused = signIn(forger, { caFile }, {}, { filesDir })
    await expect(refused).rejects.toMatchObject({ reason: 'provider_unusable', detail: 'caFile' })
    await expect(refused).rejects.not.toThrow(/secret/)
    await expect(signIn(forger, { caFile })).rejects.toMatchObject({ reason: 'provider_unusable' })
  })
})
