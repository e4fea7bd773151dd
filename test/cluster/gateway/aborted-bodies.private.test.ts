/** @module-tag no-retry */
// A request whose body is cut off changes nothing on the API server, not even what it would change without a body
// (contract 13.3, 13.4).
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { repeated } from '../../support/tier.ts'
import { type RawConnection, openRawConnection } from './gateway-load.ts'
import { MANAGEMENT, SOON, type UsableKey, startTestGateway } from './test-gateway.ts'

const setup = await startTestGateway(await privateControlPlane())
const { plane, keys, ca } = setup
const [gateway] = setup.gateways
if (!gateway) throw new Error('there is no gateway')
const url = gateway.url()
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const ROUNDS = repeated(4, 200)
/** Longer than the API server takes for a request. */
const SETTLE_MS = 200

await plane.kubectl(['create', 'rolebinding', 'all', '--clusterrole=admin', '--user=ada'])

/** A request with a part of its body sent. */
interface StartedRequest {
  readonly connection: RawConnection
  readonly key: UsableKey
}

interface Abort {
  readonly name: string
  /** The framing of the body: Content-Length, or chunks. */
  readonly framing: 'length' | 'chunks'
  readonly run: (begun: StartedRequest) => Promise<unknown> | void
}

const disable = ({ key }: StartedRequest) => keys.patch(key.object, { spec: { disabled: true } })

const ABORTS: readonly Abort[] = [
  { name: 'is cut off by a reset', framing: 'length', run: ({ connection }) => connection.end() },
  {
    name: 'is cut off by a reset between chunks',
    framing: 'chunks',
    run: ({ connection }) => connection.end(),
  },
  {
    name: 'goes on with an invalid chunk',
    framing: 'chunks',
    run: ({ connection }) => connection.write('zz\r\n'),
  },
  { name: 'lacks its last byte when its key ends', framing: 'length', run: disable },
  { name: 'lacks its last chunk when its key ends', framing: 'chunks', run: disable },
]

/** A request, and how much of its body is sent. */
interface Sent {
  readonly line: string
  readonly body: string
  readonly bytes: number
  /** How long the gateway may forward it before the abort. */
  readonly waitMs: number
}

async function begin(
  key: UsableKey,
  { line, body, bytes, waitMs }: Sent,
  abort: Abort,
): Promise<StartedRequest> {
  const connection = await openRawConnection(url, ca)
  const type = body.startsWith('{') ? 'json' : 'yaml'
  const head = [
    `${line} HTTP/1.1`,
    'host: gateway',
    `authorization: Bearer ${key.token}`,
    `content-type: application/${type}`,
    abort.framing === 'length' ? `content-length: ${body.length}` : 'transfer-encoding: chunked',
  ]
  const part = body.slice(0, bytes)
  const isFramed = abort.framing === 'length' || part === ''
  const sent = isFramed ? part : `${part.length.toString(16)}\r\n${part}\r\n`
  connection.write(`${head.join('\r\n')}\r\n\r\n${sent}`)
  await delay(waitMs)
  return { connection, key }
}

const newKey = (abort: Abort): Promise<UsableKey> => (abort.run === disable ? setup.key() : theKey)
const theKey = setup.key()

describe.each(ABORTS)('a body that $name', (abort) => {
  test('deletes no objects, though the missing part says dryRun: All (13.3)', async () => {
    const label = uniqueName('kept')
    const names = await Promise.all(Array.from({ length: 3 }, () => create(label)))
    const line = `DELETE ${MANAGEMENT}${CONFIG_MAPS}?labelSelector=kept%3D${label}`
    const body = JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] })
    for (let round = 0; round < ROUNDS; round += 1) {
      // A DELETE without a body would delete.
      const one = await begin(
        await newKey(abort),
        { line, body, bytes: 0, waitMs: (round * 5) % 23 },
        abort,
      )
      await abort.run(one)
      await untilFinished(one)
    }
    const areKept = async (): Promise<void> => {
      for (const name of names)
        expect((await plane.raw('GET', `${CONFIG_MAPS}/${name}`)).code).toBe(200)
    }
    await staysTrue('no object is deleted', areKept, { forMs: SETTLE_MS })
  })

  test('stores no part of an object (13.3)', async () => {
    const name = await create(uniqueName('whole'))
    const line = `PUT ${MANAGEMENT}${CONFIG_MAPS}/${name}`
    // YAML cut at the end of a line is a valid object as well.
    const body = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata:\n  a: "1"\n#`
    for (let round = 0; round < ROUNDS; round += 1) {
      const one = await begin(
        await newKey(abort),
        { line, body, bytes: body.length - 1, waitMs: (round * 5) % 23 },
        abort,
      )
      await abort.run(one)
      await untilFinished(one)
    }
    const isWhole = async (): Promise<void> => {
      const { body: stored } = await plane.raw<{ data?: object }>('GET', `${CONFIG_MAPS}/${name}`)
      expect(stored.data).toBeUndefined()
    }
    await staysTrue('the object is unchanged', isWhole, { forMs: SETTLE_MS })
  })
})

async function create(kept: string): Promise<string> {
  const name = uniqueName('map')
  const { code } = await plane.raw('POST', CONFIG_MAPS, { metadata: { name, labels: { kept } } })
  expect(code).toBe(201)
  return name
}

/** Waits until the gateway has finished the request, then closes the connection. */
async function untilFinished({ connection }: StartedRequest): Promise<void> {
  const isClosed = { value: false }
  void connection.closed.then(() => (isClosed.value = true))
  await eventually(
    'the request is answered, or its connection closed',
    () => isClosed.value || connection.received() !== '' || undefined,
    SOON,
  )
  connection.end()
}
