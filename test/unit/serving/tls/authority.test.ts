// The authority of another process, which it keeps in a ConfigMap (contract 25.1).
import { describe, expect, test } from 'vitest'
import type { ConfigMap } from '../../../../src/api/objects.ts'
import { PublishedAuthority } from '../../../../src/serving/tls/authority.ts'
import { type ManualClock, manualClock } from '../../../support/manual-clock.ts'

/** A reader of the ConfigMap, whose answers a test sets. */
function configMap(clock: ManualClock) {
  const reads: string[] = []
  const warned: string[] = []
  let stored: () => Promise<unknown> = async () => ({ data: { 'ca.crt': 'one' } })
  const authority = new PublishedAuthority({
    client: {
      get: <Found>(
        resource: { plural: string },
        { name, namespace = '' }: { name: string; namespace?: string },
      ) => {
        reads.push(`${resource.plural} ${namespace}/${name}`)
        return stored() as Promise<Found>
      },
    },
    configMap: { namespace: 's', name: 'platform-sign-in-ca' },
    clock,
    warn: (cause) => void warned.push(cause),
  })
  const store = (data: ConfigMap['data'] | null): void => {
    stored = async () => (data === null ? null : { data })
  }
  const fail = (): void => {
    stored = async () => Promise.reject(new Error('away'))
  }
  const hang = (): void => {
    stored = () => new Promise(() => undefined)
  }
  return { authority, reads, warned, store, fail, hang }
}

describe('ConfigMap platform-sign-in-ca (25.1)', () => {
  test('is read by name once for many requests, and again after a minute', async () => {
    const clock = manualClock(0)
    const { authority, reads, store } = configMap(clock)
    const all = await Promise.all(Array.from({ length: 10 }, () => authority.current()))
    expect(new Set(all)).toEqual(new Set(['one']))
    store({ 'ca.crt': 'two' })
    await clock.advance(59_999)
    expect(await authority.current()).toBe('one')
    expect(reads).toEqual(['configmaps s/platform-sign-in-ca'])
    await clock.advance(1)
    await authority.current()
    await clock.advance(0)
    expect(await authority.current()).toBe('two')
    expect(reads).toHaveLength(2)
  })

  test('is read again after a connection that fails, once in a second', async () => {
    const clock = manualClock(0)
    const { authority, reads, store } = configMap(clock)
    await authority.current()
    store({ 'ca.crt': 'two' })
    expect(await authority.again()).toBe('one')
    await clock.advance(1000)
    expect(await Promise.all([authority.again(), authority.again()])).toEqual(['two', 'two'])
    expect(reads).toHaveLength(2)
  })

  test.each([
    { name: 'is gone', data: null },
    { name: 'has no such key', data: { other: 'x' } },
    { name: 'has no data', data: undefined },
  ])('trusts no certificate when it $name, and is asked for each second', async ({ data }) => {
    const clock = manualClock(0)
    const { authority, reads, store } = configMap(clock)
    await authority.current()
    store(data)
    await clock.advance(1000)
    expect(await authority.again()).toBeNull()
    expect(await authority.current()).toBeNull()
    store({ 'ca.crt': 'two' })
    await clock.advance(1000)
    expect(await authority.current()).toBe('two')
    expect(reads).toHaveLength(3)
  })

  test('counts as it was while it cannot be read, and that is said', async () => {
    const clock = manualClock(0)
    const { authority, warned, fail } = configMap(clock)
    await authority.current()
    fail()
    await clock.advance(60_000)
    expect(await authority.again()).toBe('one')
    expect(warned).toEqual(['authority'])
  })

  test('counts as it was while it is read again: a request waits for the first read alone', async () => {
    const clock = manualClock(0)
    const { authority, reads, hang } = configMap(clock)
    await authority.current()
    hang()
    await clock.advance(60_000)
    expect(await authority.current()).toBe('one')
    expect(reads).toHaveLength(2)
  })

  test('that is not read within 5 s is unknown', async () => {
    const clock = manualClock(0)
    const { authority, warned, hang } = configMap(clock)
    hang()
    const current = authority.current()
    await clock.advance(4999)
    expect(warned).toEqual([])
    await clock.advance(1)
    expect(await current).toBeNull()
    expect(warned).toEqual(['authority'])
  })
})
