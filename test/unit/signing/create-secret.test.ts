import { describe, expect, test } from 'vitest'
import { SIGNING_KEY_TYPE } from '../../../src/api/names.ts'
import type { Secret } from '../../../src/api/objects.ts'
import {
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
} from '../../../src/domain/token/token-claims.ts'
import { createSigningKey, examineSigningKey } from '../../../src/signing/signing-key-secret.ts'
import { type Line, memoryApi } from '../../support/fake-kube-client.ts'
import { newPem, signingKeySecret } from './signing-key-builder.ts'

function creatorOnApi() {
  const api = memoryApi()
  const line: Line = {}
  const create = (algorithm: SigningAlgorithm) =>
    createSigningKey({
      client: api.client(line),
      namespace: 'platform-system',
      generation: 3,
      algorithm,
    })
  return { api, line, create }
}

describe('a new signing key (7.3)', () => {
  test.each(SIGNING_ALGORITHMS)(
    '%s: is stored in an immutable, valid Secret',
    async (algorithm) => {
      const { api, create } = creatorOnApi()
      expect(await create(algorithm)).toBe('created')
      const object = api.objects.get('platform-signing-key-3') as Secret
      expect(object).toMatchObject({
        kind: 'Secret',
        type: SIGNING_KEY_TYPE,
        immutable: true,
        metadata: { namespace: 'platform-system' },
      })
      expect(Object.keys(object.data ?? {})).toEqual(['private-key.pem', 'kid'])
      const { secret } = examineSigningKey(object)
      expect(secret).toMatchObject({ generation: 3, fault: null, jwk: { alg: algorithm } })
      const { jwk } = secret
      expect(jwk?.kty === 'RSA' ? Buffer.from(jwk.n, 'base64url').length * 8 : 256).toBe(
        algorithm === 'RS256' ? 3072 : 256,
      )
    },
  )

  test('is different each time', async () => {
    const kids = new Set<string | null>()
    for (let count = 0; count < 5; count += 1) {
      const { api, create } = creatorOnApi()
      await create('ES256')
      kids.add(examineSigningKey(api.objects.get('platform-signing-key-3') as Secret).secret.kid)
    }
    expect(kids.size).toBe(5)
  })

  test('leaves an existing signing key of its generation alone', async () => {
    const { api, create } = creatorOnApi()
    const theirs = signingKeySecret(newPem(), 3)
    api.objects.set('platform-signing-key-3', theirs)
    expect(await create('ES256')).toBe('raced')
    expect(api.objects.get('platform-signing-key-3')).toBe(theirs)
  })

  test('leaves another Secret of its name alone', async () => {
    const { api, create } = creatorOnApi()
    api.objects.set('platform-signing-key-3', {
      ...signingKeySecret(newPem(), 3),
      type: 'Opaque',
    } as Secret)
    expect(await create('ES256')).toBe('taken')
  })

  test('fails when the API server gives no answer', async () => {
    const { line, create } = creatorOnApi()
    line.there = () => Promise.reject(new Error('no answer'))
    await expect(create('ES256')).rejects.toThrow('no answer')
  })
})
