// A relay before a real API server lets requests pass and cuts their answers, and the API server is killed and started
// again: a client is told to repeat only what was surely not carried out (contract 13.1), and is never refused for what
// the gateway's own account lacks for a moment (contract 10.4).
import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { refusesAccount } from '../../../src/kube/proxy/account-refusal.ts'
import { ownControlPlane } from '../../support/control-plane.ts'
import { eventually, eventuallyPasses } from '../../support/eventually.ts'
import { redirected } from '../../support/fault-proxy.ts'
import type { AskOptions, GatewayAnswer } from '../../support/gateway-process.ts'
import { GATEWAY_USER } from '../../support/installed-control-plane.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { startTlsRelay } from '../../support/tls-relay.ts'
import { KEY_EXTRA, gatewayAccountClient } from './in-process-gateway.ts'
import { SOON, startTestGateway } from './test-gateway.ts'

const plane = await ownControlPlane()
const relay = await startTlsRelay(plane.url)
const caPem = await readFile(plane.caFile, 'utf8')
const throughRelay: typeof plane.serviceAccountKubeconfig = async (namespace, name) =>
  redirected(await plane.serviceAccountKubeconfig(namespace, name), relay.url, caPem)
// Only the gateway: an operator needs no relay.
const setup = await startTestGateway({
  ...plane,
  serviceAccountKubeconfig: throughRelay,
})
const ada = await setup.key()
const SHOP = '/api/v1/namespaces/shop/configmaps'
const OWN_KEYS = '/apis/management.platform.sh/v1/ownedaccesskeys'

await plane.raw('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } })
await plane.raw('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings', {
  metadata: { name: 'ada' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'platform:user:ada' }],
})

const isServing = async (): Promise<void> => {
  await eventuallyPasses(
    'the gateway forwards again',
    async () => expect((await setup.ask(ada.token, SHOP)).code).toBe(200),
    SOON,
  )
}
afterAll(() => relay[Symbol.asyncDispose]())
afterEach(async () => {
  relay.cutAndPass()
  await isServing()
})

interface Listed {
  readonly items: readonly { readonly metadata: { readonly name: string } }[]
}

/** The names of ConfigMaps that begin with a prefix, as the administrator sees them. */
async function namesWith(prefix: string, path = SHOP): Promise<readonly string[]> {
  const { body } = await plane.raw<Listed>('GET', path)
  return body.items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith(prefix))
}

/** A write, what shows that it was carried out, and what it begins with. */
interface Write {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly body?: object
  readonly contentType?: string
  readonly isDone: (name: string) => Promise<boolean>
}

const valueOf = async (name: string): Promise<string | undefined> =>
  (await plane.raw<{ readonly data?: Readonly<Record<string, string>> }>('GET', `${SHOP}/${name}`))
    .body.data?.['a']

const WRITES: readonly Write[] = [
  { method: 'POST', isDone: async (name) => (await namesWith(`${name}-`)).length > 0 },
  { method: 'PUT', isDone: async (name) => (await valueOf(name)) === 'new' },
  {
    method: 'PATCH',
    contentType: 'application/merge-patch+json',
    isDone: async (name) => (await valueOf(name)) === 'new',
  },
  { method: 'DELETE', isDone: async (name) => (await namesWith(name)).length === 0 },
]

/** Makes a request longer than the handshake of a connection. */
const PADDING = 'x'.repeat(8000)
/** Less than that, compressed as HPACK compresses it, and more than a handshake. */
const LONGER_THAN_HANDSHAKE = 5000

/** The request of a write to an object that exists, or for POST a new one with `generateName`. */
function requestOf({ method, contentType = 'application/json' }: Write, name: string) {
  const metadata = method === 'POST' ? { generateName: `${name}-` } : { name }
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'new' } }
  const options: Omit<AskOptions, 'ca'> = {
    method,
    headers: { 'content-type': contentType },
    ...(method === 'DELETE' ? {} : { body: JSON.stringify(body) }),
  }
  return { path: `${method === 'POST' ? SHOP : `${SHOP}/${name}`}?padding=${PADDING}`, options }
}

/** A name, and for a write to an object that object. */
async function prepared({ method }: Write): Promise<string> {
  const name = uniqueName('lost')
  if (method !== 'POST') await plane.raw('POST', SHOP, { metadata: { name }, data: { a: 'old' } })
  return name
}

const NOT_SENT = { code: 503, headers: { 'retry-after': '1' } }

/** An answer that clients follow. */
function expectNotSent(answer: GatewayAnswer): void {
  expect(answer).toMatchObject(NOT_SENT)
}

/** An answer that no client repeats. */
function expectNoRepetition(answer: GatewayAnswer): void {
  expect(answer.code).toBe(504)
  expect(answer.headers).not.toHaveProperty('retry-after')
  expect(answer.body).toContain('may have carried it out')
}

describe.each(WRITES)('a $method', (write) => {
  test('whose answer is cut is carried out once, and is a 504 without Retry-After (13.1)', async () => {
    const name = await prepared(write)
    const { path, options } = requestOf(write, name)
    relay.keepAnswersOf(LONGER_THAN_HANDSHAKE)
    const answering = setup.ask(ada.token, path, options)
    await eventually('it is carried out', async () => (await write.isDone(name)) || undefined, SOON)
    relay.cutAndPass()
    expectNoRepetition(await answering)
    expect(await namesWith(name)).toHaveLength(write.method === 'DELETE' ? 0 : 1)
  })

  test('that cannot be sent is a 503 with Retry-After, and is not carried out (13.1)', async () => {
    const name = await prepared(write)
    const { path, options } = requestOf(write, name)
    relay.refuse()
    relay.cut()
    expect(await setup.ask(ada.token, path, options)).toMatchObject(NOT_SENT)
    expect(await write.isDone(name)).toBe(false)
  })
})

test('a read whose answer is cut is repeated, or is a 503 with Retry-After (13.1)', async () => {
  relay.keepAnswersAfter(0)
  const answering = setup.ask(ada.token, `${SHOP}?limit=1`)
  await eventually('its answer has come', () => relay.keptBytes() > 0 || undefined, SOON)
  relay.cutAndPass()
  const { code, headers } = await answering
  expect({ code, retryAfter: headers['retry-after'] }).toEqual(
    code === 200 ? { code, retryAfter: undefined } : { code: 503, retryAfter: '1' },
  )
})

/** A ConfigMap of 400 kB; one that is deleted has a finalizer, so that the answer is the object. */
const largeOf = (metadata: object) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata,
  data: { a: 'x'.repeat(400_000) },
})

test.each(WRITES)(
  'a $method whose answer breaks off in its body breaks off for the client too, and is carried out once (13.1)',
  async ({ method, contentType = 'application/json' }) => {
    const name = uniqueName('large')
    const finalizers = method === 'DELETE' ? ['tests.example.org/keep'] : []
    if (method !== 'POST') await plane.raw('POST', SHOP, largeOf({ name, finalizers }))
    const body =
      method === 'POST'
        ? largeOf({ generateName: `${name}-` })
        : largeOf({ name, labels: { sent: 'yes' } })
    relay.keepAnswersAfter(100_000)
    const answering = setup.ask(ada.token, method === 'POST' ? SHOP : `${SHOP}/${name}`, {
      method,
      headers: { 'content-type': contentType },
      ...(method === 'DELETE' ? {} : { body: JSON.stringify(body) }),
    })
    const failure = answering.then(
      () => null,
      (error: unknown) => error,
    )
    await eventually('its answer has begun', () => relay.keptBytes() > 100_000 || undefined, SOON)
    relay.cutAndPass()
    expect(await failure).toBeInstanceOf(Error)
    expect(await namesWith(name)).toHaveLength(1)
    if (method === 'DELETE')
      await plane.raw('PATCH', `${SHOP}/${name}`, { metadata: { finalizers: null } })
  },
)

test('writes whose answers are late are carried out once, and are a 504 without Retry-After (13.1)', async () => {
  const names = await Promise.all(WRITES.map((write) => prepared(write)))
  relay.keepAnswersOf(LONGER_THAN_HANDSHAKE)
  const answers = await Promise.all(
    WRITES.map((write, at) => {
      const { path, options } = requestOf(write, names[at] ?? '')
      return setup.ask(ada.token, path, options)
    }),
  )
  for (const answer of answers) expectNoRepetition(answer)
  for (const [at, write] of WRITES.entries()) {
    const name = names[at] ?? ''
    expect(await write.isDone(name)).toBe(true)
    expect(await namesWith(name)).toHaveLength(write.method === 'DELETE' ? 0 : 1)
  }
})

test('kubectl create with generateName makes one object when its answer is lost (13.1)', async () => {
  const name = uniqueName('made')
  const manifest = (generateName: string): string =>
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName } })
  const create = (generateName: string) =>
    setup.kubectl(ada, ['create', '-n', 'shop', '--validate=false', '-f', '-'], {
      input: manifest(generateName),
    })
  // What it finds out about the API stays in its cache.
  expect(await create(uniqueName('first'))).toMatchObject({ code: 0 })
  relay.keepAnswersAfter(0)
  const creating = create(`${name}-`)
  const made = () => namesWith(`${name}-`)
  await eventually('it is made', async () => (await made()).length > 0 || undefined, SOON)
  relay.cutAndPass()
  const { code, stderr } = await creating
  expect(code).toBe(1)
  expect(stderr).toContain('may have carried it out')
  expect(await made()).toHaveLength(1)
})

describe('a key that self-service makes (12.1, 13.1)', () => {
  const name = uniqueName('own')
  const made = () => namesWith(`${name}-`, OWN_KEYS)
  const create = (): Promise<GatewayAnswer> =>
    setup.ask(ada.token, OWN_KEYS, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        apiVersion: 'management.platform.sh/v1',
        kind: 'OwnedAccessKey',
        metadata: { generateName: `${name}-`, annotations: { padding: PADDING } },
        spec: { ttl: 3600 },
      }),
    })

  test('is a 503 with Retry-After when the answer of the dry run is lost', async () => {
    relay.keepAnswersOf(LONGER_THAN_HANDSHAKE)
    const answering = create()
    await eventually('the answer has come', () => relay.keptBytes() > 0 || undefined, SOON)
    relay.cutAndPass()
    expect(await answering).toMatchObject(NOT_SENT)
    expect(await made()).toEqual([])
  })

  test('is made once when the answer of the write is lost, and no client repeats it', async () => {
    // The dry run passes.
    relay.keepAnswersOf(PADDING.length + LONGER_THAN_HANDSHAKE)
    const answering = create()
    await eventually('it is made', async () => (await made()).length > 0 || undefined, SOON)
    relay.cutAndPass()
    expectNoRepetition(await answering)
    expect(await made()).toHaveLength(1)
  })
})

describe.each([
  { method: 'PUT', contentType: 'application/json' },
  { method: 'PATCH', contentType: 'application/merge-patch+json' },
])('a $method by self-service (12.1, 13.1)', ({ method, contentType }) => {
  test.each([
    { at: 'the dry run', after: LONGER_THAN_HANDSHAKE, isWritten: false },
    { at: 'the write', after: PADDING.length + LONGER_THAN_HANDSHAKE, isWritten: true },
  ])('whose answer is lost at $at', async ({ after, isWritten }) => {
    const { object } = await setup.key()
    const { name } = object.metadata
    const path = `${OWN_KEYS}/${name}`
    // Its first use is recorded in another version: a PUT of the version before would be refused as a conflict.
    const read = await eventually(
      'the gateway shows the key with its use',
      async () => {
        const answer = await setup.ask(ada.token, path)
        return answer.body.includes('"lastActivity"') ? answer : undefined
      },
      SOON,
    )
    const { metadata, ...current } = JSON.parse(read.body) as { readonly metadata: object }
    const annotations = { padding: PADDING }
    const body =
      method === 'PUT'
        ? { ...current, metadata: { ...metadata, annotations } }
        : { metadata: { annotations } }
    relay.keepAnswersOf(after)
    const answering = setup.ask(ada.token, path, {
      method,
      headers: { 'content-type': contentType },
      body: JSON.stringify(body),
    })
    const stored = async (): Promise<boolean> => {
      const { metadata: now } = (await setup.keys.read(name)) ?? object
      return now.annotations?.['padding'] === PADDING
    }
    const isReached = async () => (isWritten ? await stored() : relay.keptBytes() > 0) || undefined
    await eventually('the answer is kept back', isReached, SOON)
    relay.cutAndPass()
    const expectRight = isWritten ? expectNoRepetition : expectNotSent
    expectRight(await answering)
    expect(await stored()).toBe(isWritten)
  })
})

describe('while the API server is killed and started again', () => {
  const MOST_RESTARTS = 10
  const CALLERS = 6

  test("no caller gets a refusal of the gateway's own account (10.4)", async () => {
    const account = await gatewayAccountClient(plane)
    const refusals = new Set<string>()
    const hasRefusal = () => [...refusals].some((text) => text.includes(GATEWAY_USER))
    const answers: GatewayAnswer[] = []
    for (let restart = 0; restart < MOST_RESTARTS && !hasRefusal(); restart += 1) {
      await plane.apiServer.stop('SIGKILL')
      const starting = plane.apiServer.start()
      let endMs = Number.POSITIVE_INFINITY
      const up = starting.then(() => (endMs = Date.now() + 1000))
      const call = async (): Promise<void> => {
        while (Date.now() < endMs) answers.push(await setup.ask(ada.token, `${SHOP}?limit=1`))
      }
      const callDirectly = async (): Promise<void> => {
        while (Date.now() < endMs) {
          const answer = await account('GET', SHOP, { user: 'ada', ...KEY_EXTRA }).catch(() => null)
          if (answer?.code === 403) refusals.add(JSON.stringify(answer.body))
        }
      }
      await Promise.all([up, callDirectly(), ...Array.from({ length: CALLERS }, call)])
      await isServing()
    }
    const ofAccount = [...refusals].filter((text) => text.includes(GATEWAY_USER))
    // Without one, the moment was missed, and nothing is shown.
    expect(ofAccount).not.toEqual([])
    expect(ofAccount.filter((text) => !refusesAccount(text, 'ada', false))).toEqual([])
    for (const { code, body, headers } of answers) {
      expect(body).not.toContain(GATEWAY_USER)
      expect(code).not.toBe(401)
      expect(code === 503 ? headers['retry-after'] : '1').toBe('1')
    }
  })
})
