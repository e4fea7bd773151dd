import { describe, expect, onTestFinished, test } from 'vitest'
import { GATEWAY_CA_SECRET, GATEWAY_TLS_SECRET, SECRETS } from '../../../../src/api/names.ts'
import type { Secret } from '../../../../src/api/objects.ts'
import type { NewObject } from '../../../../src/kube/client/client.ts'
import type { ValidCertificatePair } from '../../../../src/serving/tls/key-pair.ts'
import {
  parseAuthoritySecret,
  authoritySecret,
  parseServingSecret,
  serverSecret,
} from '../../../../src/serving/tls/secret.ts'
import { maintainCertificate } from '../../../../src/serving/tls/serving-certificate.ts'
import { oneKeySecret, serverPair } from '../../../support/certificate-builder.ts'
import { type Line, memoryApi } from '../../../support/fake-kube-client.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { memoryLog } from '../../../support/memory-log.ts'

const DAY_MS = 86_400_000
const NOW_MS = Date.parse('2026-11-21T10:00:00Z')

/** An API server in memory with a clock, and replicas that maintain the certificate there. */
function cluster() {
  const api = memoryApi()
  const clock = manualClock(NOW_MS)
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const replica = (hosts: string[] = ['localhost'], line: Line = {}) => {
    const client = api.client(line)
    const { log, lines } = memoryLog()
    const taken: ValidCertificatePair[] = []
    const writes: string[] = []
    const maintainer = maintainCertificate({
      client: {
        get: (resource, ref) => client.get(resource, ref),
        // Like a server-side apply with a resourceVersion, which conflicts after other writes.
        apply: async (resource, object, reason) => {
          writes.push(reason)
          const { creationTimestamp = '', resourceVersion = '', ...metadata } = object.metadata
          const whole = { ...metadata, creationTimestamp, resourceVersion }
          return client.replace(resource, { ...object, metadata: whole }, reason)
        },
      },
      create: async (secret, reason) => {
        writes.push(reason)
        return client.create(SECRETS, secret, reason)
      },
      namespace: 'n',
      hosts: () => hosts,
      clock,
      log,
      signal: abort.signal,
      take: (pair) => taken.push(pair),
    })
    return { maintainer, taken, writes, lines, hosts }
  }
  const read = <Found>(name: string, found: (secret: Secret) => Found | string): Found => {
    const secret = api.objects.get(name) as Secret | undefined
    const data = secret ? found(secret) : 'there is no Secret'
    if (typeof data === 'string') throw new Error(data)
    return data
  }
  const held = () => ({
    ...read(GATEWAY_TLS_SECRET, parseServingSecret),
    authority: read(GATEWAY_CA_SECRET, parseAuthoritySecret),
  })
  /** Stores both generated Secrets as issued at a time; the data of the certificate may differ. */
  const put = async (issuedMs: number, texts: Readonly<Record<string, string>> = {}) => {
    const { objects } = api
    const create = (secret: NewObject) => api.client().create<Secret>(SECRETS, secret, 'test')
    const stored =
      (objects.get(GATEWAY_CA_SECRET) as Secret | undefined) ??
      (await create(await authoritySecret('n', null, issuedMs)))
    const authority = parseAuthoritySecret(stored)
    if (typeof authority === 'string') throw new Error(authority)
    const secret = await serverSecret('n', { hosts: ['localhost'], authority }, issuedMs)
    const data = Object.entries(texts).map(([key, text]) => [key, btoa(text)])
    await create({ ...secret, data: { ...secret.data, ...Object.fromEntries(data) } })
  }
  return { api, clock, abort, replica, held, put }
}

describe('the generated certificate (contract 9.7)', () => {
  test('is created once, and then only read', async () => {
    const { clock, replica, held } = cluster()
    const { maintainer, taken, writes, lines } = replica()
    expect(maintainer.fault()).toBe('Secret platform-gateway-tls has not been read or written yet')
    await clock.advance(10 * 60_000)
    expect(writes).toEqual(['create', 'create'])
    expect(taken).toEqual([held().pair])
    expect(maintainer.fault()).toBeNull()
    expect(lines.map(({ sentence, fields }) => [sentence, fields['object']])).toEqual([
      ['certificate stored', { name: 'platform-gateway-ca', namespace: 'n' }],
      ['certificate stored', { name: 'platform-gateway-tls', namespace: 'n' }],
    ])
  })

  test('is the same for two replicas that start on an empty cluster at the same time', async () => {
    const { clock, replica, held } = cluster()
    const [a, b] = [replica(), replica()]
    await clock.advance(60_000)
    expect(a.taken).toEqual([held().pair])
    expect(b.taken).toEqual(a.taken)
    expect(held().authorityPem).toBe(held().authority.certificatePem)
    const stored = [...a.lines, ...b.lines].map(({ sentence }) => sentence)
    expect(stored).toEqual(['certificate stored', 'certificate stored'])
  })

  test('is replaced by one replica with a third of its life left, and every replica takes it', async () => {
    const { clock, replica, put, held } = cluster()
    // It is valid for a year, from an hour before its issue.
    const thirdMs = (365 * DAY_MS + 3_600_000) / 3
    await put(NOW_MS - 365 * DAY_MS + thirdMs + 90_000)
    const { authority } = held()
    const [a, b] = [replica(), replica()]
    await clock.advance(60_000)
    const first = held().pair
    expect([a.taken, b.taken]).toEqual([[first], [first]])
    await clock.advance(180_000)
    const second = held().pair
    expect(second).not.toEqual(first)
    expect(held().authority).toEqual(authority)
    expect([a.taken, b.taken]).toEqual([
      [first, second],
      [first, second],
    ])
    expect(new Set([...a.writes, ...b.writes])).toEqual(new Set(['renew']))
    expect([...a.lines, ...b.lines].map(({ sentence }) => sentence)).toEqual(['certificate stored'])
  })

  test('gets a new host at once on refresh, and keeps the hosts of other replicas', async () => {
    const { clock, replica, held } = cluster()
    const [a, b] = [
      replica(['localhost', 'a.example.com']),
      replica(['localhost', 'b.example.com']),
    ]
    await clock.advance(120_000)
    expect(held().pair.hosts.toSorted()).toEqual(['a.example.com', 'b.example.com', 'localhost'])
    a.hosts.push('c.example.com')
    expect(a.maintainer.fault()).toBe('the certificate lacks c.example.com')
    a.maintainer.refresh()
    await clock.advance(0)
    expect(a.maintainer.fault()).toBeNull()
    await clock.advance(60_000)
    expect(b.taken.at(-1)).toEqual(a.taken.at(-1))
    const writes = a.writes.length + b.writes.length
    await clock.advance(10 * 60_000)
    expect(a.writes.length + b.writes.length).toBe(writes)
  })

  test('does not replace a certificate of an administrator', async () => {
    const { clock, replica, put } = cluster()
    const { certificatePem, keyPem } = serverPair('www', { nowMs: NOW_MS, validMs: 600_000 })
    await put(NOW_MS, { 'tls.crt': certificatePem, 'tls.key': keyPem })
    const { taken, writes, maintainer } = replica()
    await clock.advance(1_200_000)
    expect(writes).toEqual([])
    expect(taken.map(({ commonName }) => commonName)).toEqual(['www'])
    expect(maintainer.fault()).toBeNull()
  })

  test('does not replace a Secret that can’t be served; the log says what to do', async () => {
    const { api, clock, replica, put } = cluster()
    await put(NOW_MS, { 'tls.crt': 'HUNTER2' })
    const { taken, writes, lines } = replica()
    await clock.advance(1000)
    expect({ taken, writes }).toEqual({ taken: [], writes: [] })
    expect(lines[0]?.fields['err']).toMatchObject({
      message:
        'Secret platform-gateway-tls: the certificate is not a PEM certificate; mend it, or delete it to get a new one',
    })
    api.objects.delete(GATEWAY_TLS_SECRET)
    await clock.advance(10_000)
    expect(taken).toHaveLength(1)
  })

  test('stays in use while the Secret is missing or damaged, until a new one is stored', async () => {
    const { api, clock, replica, put } = cluster()
    const { taken, maintainer } = replica()
    await clock.advance(1000)
    api.objects.delete(GATEWAY_TLS_SECRET)
    await put(NOW_MS, { 'tls.crt': '' })
    await clock.advance(60_000)
    expect(taken).toHaveLength(1)
    expect(maintainer.fault()).toBeNull()
    api.objects.delete(GATEWAY_TLS_SECRET)
    await clock.advance(60_000)
    expect(taken).toHaveLength(2)
  })

  test('is issued again by its authority when its Secret is deleted, and by a new authority when that Secret is deleted (9.7)', async () => {
    const { api, clock, replica, held } = cluster()
    const { taken } = replica()
    await clock.advance(1000)
    const { authority } = held()
    api.objects.delete(GATEWAY_TLS_SECRET)
    await clock.advance(60_000)
    expect(taken).toHaveLength(2)
    expect(held().authority).toEqual(authority)
    api.objects.delete(GATEWAY_CA_SECRET)
    await clock.advance(60_000)
    expect(taken).toHaveLength(3)
    expect(held().authority).not.toEqual(authority)
    expect(held().authorityPem).toBe(held().authority.certificatePem)
  })

  test('with one key for authority and certificate is replaced by one with its own key, of the same authority', async () => {
    const { api, clock, replica, put, held } = cluster()
    const texts = oneKeySecret(['localhost', 'a.example.com'], NOW_MS)
    await put(NOW_MS, texts)
    api.objects.delete(GATEWAY_CA_SECRET)
    const [a, b] = [replica(['a.example.com']), replica(['a.example.com'])]
    await clock.advance(60_000)
    const { authority, authorityPem, pair } = held()
    expect([authority.certificatePem, authorityPem]).toEqual([texts['ca.crt'], texts['ca.crt']])
    expect(authority.keyPem).toBe(texts['tls.key'])
    expect(pair.keyPem).not.toBe(texts['tls.key'])
    expect([a.taken, b.taken]).toEqual([[pair], [pair]])
  })

  test('is retried with growing back-off until the API server answers', async () => {
    const { clock, replica } = cluster()
    let tries = 0
    const there = async (): Promise<void> => {
      tries += 1
      if (tries <= 5) throw new Error('connection refused')
    }
    const { taken } = replica(['localhost'], { there })
    await clock.advance(200 + 400 + 800 + 1600)
    expect({ tries, taken }).toEqual({ tries: 5, taken: [] })
    await clock.advance(3200)
    expect(taken).toHaveLength(1)
  })

  test('is no longer read after the process stops', async () => {
    const { clock, abort, replica } = cluster()
    replica()
    await clock.advance(1000)
    abort.abort()
    await clock.advance(0)
    expect(clock.pending()).toBe(0)
  })
})
