import { expect, test } from 'vitest'
import { ENDPOINTS, NAMESPACES, SECRETS, SERVICES } from '../../../../src/api/names.ts'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { setupWorld } from '../setup-world.ts'

const REFERENCES = [{ path: 'subsets[*].addresses[*].hostname', reference: { kind: 'Secret' } }]
const WEB = { namespace: 'shop', name: 'web' }

/** Endpoints that name a Secret in each address. */
const naming = (...names: readonly string[]): JsonMap => ({
  metadata: WEB,
  subsets: [{ addresses: names.map((hostname) => ({ ip: '203.0.113.7', hostname })) }],
})

/** A world whose Endpoints have the Service that they need. */
function referenceWorld(toHost: object = {}) {
  const world = setupWorld({ endpoints: { patches: REFERENCES }, ...toHost })
  world.virtual.put(SERVICES, { metadata: WEB, spec: { ports: [{ port: 80 }] } })
  return world
}

test('a Secret that is named in a namespace without one on the host is released with its last reference (17.5, 20)', async () => {
  const { virtual, host, settle, references, markedNamespace } = referenceWorld({
    namespaces: { enabled: true },
  })
  virtual.put(NAMESPACES, { metadata: { name: 'shop' } })
  virtual.put(ENDPOINTS, naming('creds', 'gone'))
  await settle()
  expect([virtual.watched(SECRETS), host.watched(SECRETS)]).toEqual([
    ['shop/creds', 'shop/gone'],
    [],
  ])
  virtual.put(ENDPOINTS, naming('creds'))
  await settle()
  expect(virtual.watched(SECRETS)).toEqual(['shop/creds'])
  host.put(NAMESPACES, markedNamespace('vc-x-shop', 'shop'))
  await settle()
  virtual.remove(ENDPOINTS, WEB)
  await settle()
  expect([virtual.watched(SECRETS), host.watched(SECRETS), references.held('secrets')]).toEqual([
    [],
    [],
    [],
  ])
})

test('a Secret that waits, as 1,000 are read, waits no more when nothing names it (20)', async () => {
  const { virtual, host, settle, references } = referenceWorld()
  const many = Array.from({ length: 1000 }, (_, at) => `n-${at}`)
  virtual.put(ENDPOINTS, naming(...many))
  await settle()
  for (const late of ['late-1', 'late-2']) virtual.put(ENDPOINTS, naming(...many, late))
  await settle()
  // No other key waits before it.
  virtual.put(ENDPOINTS, naming(...many.slice(1), 'last'))
  await settle()
  expect(references.held('secrets')).toHaveLength(1000)
  expect(virtual.watched(SECRETS)).toContain('shop/last')
  expect(host.watched(SECRETS)).toContain('host/last-x-shop-x-vc')
  virtual.remove(ENDPOINTS, WEB)
  await settle()
  expect([virtual.watched(SECRETS), host.watched(SECRETS), references.held('secrets')]).toEqual([
    [],
    [],
    [],
  ])
})

test('the first of two Secrets with one name on the host stays in step when the second is named no more (17.1, 20)', async () => {
  const reference = { kind: 'Secret', namePath: 'name', namespacePath: 'namespace' }
  const { virtual, host, settle } = setupWorld({
    endpoints: { patches: [{ path: 'metadata.annotations', reference }] },
  })
  const named = (name: string, namespace: string, own: string): void => {
    const ref = { namespace: 'shop', name: own }
    virtual.put(SERVICES, { metadata: ref, spec: { ports: [{ port: 80 }] } })
    virtual.put(ENDPOINTS, { metadata: { ...ref, annotations: { name, namespace } }, subsets: [] })
  }
  const put = (namespace: string, name: string, data: string): void =>
    void virtual.put(SECRETS, { metadata: { namespace, name }, data: { data } })
  put('b-x-c', 'a', 'b25l')
  named('a', 'b-x-c', 'first')
  await settle()
  put('c', 'a-x-b', 'b3RoZXI=')
  named('a-x-b', 'c', 'second')
  await settle()
  virtual.remove(ENDPOINTS, { namespace: 'shop', name: 'second' })
  await settle()
  put('b-x-c', 'a', 'dHdv')
  await settle()
  expect(host.get(SECRETS, 'host/a-x-b-x-c-x-vc')).toMatchObject({ data: { data: 'dHdv' } })
  expect(virtual.watched(SECRETS)).toEqual(['b-x-c/a'])
})

test('a Secret whose last reference went before the process led is released when it leads (20)', async () => {
  const { virtual, lead, settle } = setupWorld({ endpoints: { patches: REFERENCES } }, 'standby')
  virtual.put(ENDPOINTS, naming('creds'))
  virtual.put(ENDPOINTS, naming())
  expect(virtual.watched(SECRETS)).toEqual(['shop/creds'])
  lead()
  await settle()
  expect(virtual.watched(SECRETS)).toEqual([])
})
