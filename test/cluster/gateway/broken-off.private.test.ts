/** @module-tag no-retry */
// A body that breaks off on its way to the API server: nothing of the request is done, not even what would have been
// done without a body (contract 13.3, 13.4).
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { privateControlPlane } from '../../support/control-plane.ts'
import { eventually, staysTrue } from '../../support/eventually.ts'
import { uniqueName } from '../../support/object-builder.ts'
import { repeated } from '../../support/tier.ts'
import { type RawConnection, openRawConnection } from './gateway-load.ts'
import { MANAGEMENT, SOON, type UsableKey, startTestGateway } from './test-gateway.ts'

const front = await startTestGateway(await privateControlPlane())
const { plane, keys, ca } = front
const [gateway] = front.gateways
if (!gateway) throw new Error('there is no gateway')
const url = gateway.url()
const MAPS = '/api/v1/namespaces/default/configmaps'
const ROUNDS = repeated(4, 200)
/** Longer than the API server takes for a request that it was sent. */
const A_MOMENT_MS = 200

await plane.kubectl(['create', 'rolebinding', 'all', '--clusterrole=admin', '--user=ada'])

/** A request of which a part was sent. */
interface Begun {
  readonly wire: RawConnection
  readonly key: UsableKey
}

interface Way {
  readonly name: string
  /** How the body is framed: by its length, or in chunks. */
  readonly framing: 'length' | 'chunks'
  readonly breakOff: (begun: Begun) => Promise<unknown> | void
}

const disable = ({ key }: Begun) => keys.patch(key.object, { spec: { disabled: true } })

const WAYS: readonly Way[] = [
  { name: 'is reset', framing: 'length', breakOff: ({ wire }) => wire.end() },
  { name: 'is reset between chunks', framing: 'chunks', breakOff: ({ wire }) => wire.end() },
  {
    name: 'goes on with no chunk',
    framing: 'chunks',
    breakOff: ({ wire }) => wire.write('zz\r\n'),
  },
  { name: 'waits for its last byte when its key ends', framing: 'length', breakOff: disable },
  { name: 'waits for its last chunk when its key ends', framing: 'chunks', breakOff: disable },
]

/** A request, and how much of its body is sent before it breaks off. */
interface Sent {
  readonly line: string
  readonly body: string
  readonly bytes: number
  /** How long it may be on its way to the API server before it breaks off. */
  readonly waitMs: number
}

async function begun(
  key: UsableKey,
  { line, body, bytes, waitMs }: Sent,
  way: Way,
): Promise<Begun> {
  const wire = await openRawConnection(url, ca)
  const type = body.startsWith('{') ? 'json' : 'yaml'
  const head = [
    `${line} HTTP/1.1`,
    'host: gateway',
    `authorization: Bearer ${key.token}`,
    `content-type: application/${type}`,
    way.framing === 'length' ? `content-length: ${body.length}` : 'transfer-encoding: chunked',
  ]
  const part = body.slice(0, bytes)
  const isFramed = way.framing === 'length' || part === ''
  const sent = isFramed ? part : `${part.length.toString(16)}\r\n${part}\r\n`
  wire.write(`${head.join('\r\n')}\r\n\r\n${sent}`)
  await delay(waitMs)
  return { wire, key }
}

const newKey = (way: Way): Promise<UsableKey> => (way.breakOff === disable ? front.key() : theKey)
const theKey = front.key()

describe.each(WAYS)('a body that $name', (way) => {
  test('deletes nothing for which it said dryRun: All (13.3)', async () => {
    const label = uniqueName('kept')
    const names = await Promise.all(Array.from({ length: 3 }, () => create(label)))
    const line = `DELETE ${MANAGEMENT}${MAPS}?labelSelector=kept%3D${label}`
    const body = JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] })
    for (let round = 0; round < ROUNDS; round += 1) {
      // Without a body it would delete.
      const one = await begun(
        await newKey(way),
        { line, body, bytes: 0, waitMs: (round * 5) % 23 },
        way,
      )
      await way.breakOff(one)
      await over(one)
    }
    const areKept = async (): Promise<void> => {
      for (const name of names) expect((await plane.raw('GET', `${MAPS}/${name}`)).code).toBe(200)
    }
    await staysTrue('all are kept', areKept, { forMs: A_MOMENT_MS })
  })

  test('stores no half of an object (13.3)', async () => {
    const name = await create(uniqueName('whole'))
    const line = `PUT ${MANAGEMENT}${MAPS}/${name}`
    // Cut at the end of a line it is an object as well.
    const body = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata:\n  a: "1"\n#`
    for (let round = 0; round < ROUNDS; round += 1) {
      const one = await begun(
        await newKey(way),
        { line, body, bytes: body.length - 1, waitMs: (round * 5) % 23 },
        way,
      )
      await way.breakOff(one)
      await over(one)
    }
    const isWhole = async (): Promise<void> => {
      const { body: stored } = await plane.raw<{ data?: object }>('GET', `${MAPS}/${name}`)
      expect(stored.data).toBeUndefined()
    }
    await staysTrue('it is as it was', isWhole, { forMs: A_MOMENT_MS })
  })
})

async function create(kept: string): Promise<string> {
  const name = uniqueName('map')
  const { code } = await plane.raw('POST', MAPS, { metadata: { name, labels: { kept } } })
  expect(code).toBe(201)
  return name
}

/** The gateway has done with the request; who still holds the connection lets it go. */
async function over({ wire }: Begun): Promise<void> {
  const isOver = { value: false }
  void wire.closed.then(() => (isOver.value = true))
  await eventually(
    'it is answered, or closed',
    () => isOver.value || wire.received() !== '' || undefined,
    SOON,
  )
  wire.end()
}
