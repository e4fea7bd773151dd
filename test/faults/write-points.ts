// The places where the operator writes: what brings it there, how the request is known among all that
// pass the proxy, and what must come of it, whatever happened to the write.
import { expect } from 'vitest'
import { ACCESS_KEYS, EXPIRED_ANNOTATION } from '../../src/api/names.ts'
import type { ConfigMap } from '../../src/api/objects.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import { type KeyClient, isAdopted } from '../cluster/keys/key-client.ts'
import {
  CONFIGS_PATH,
  IN_FORCE_PATH,
  RECORD_PATH,
  readyOf,
  settingsOf,
} from '../support/config-client.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { eventuallyPasses } from '../support/eventually.ts'
import type { Match } from '../support/fault-proxy-rules.ts'
import { uniqueName } from '../support/object-builder.ts'

/** Something that the operator is to bring to its end. */
export interface Work {
  /** Brings the operator to it, and waits for what must be done before. */
  readonly lead: () => Promise<unknown>
  /** Waits for the end that is right. It stays so: it may be asked for again. */
  readonly ends: () => Promise<unknown>
}

/** One write of the operator. */
export interface WritePoint extends Work {
  readonly name: string
  readonly isIt: Match
  /** For a write that makes an object go: another one under its name. */
  readonly heir?: Work
}

const SOON = { withinMs: 20_000 }

/** Requests with this method to this very path, and with this text in their body. */
const to =
  (method: string, path: string, says = ''): Match =>
  (request) =>
    request.method === method && request.path === path && request.body.includes(says)

/** The writes to keys, each to an object of its own. */
export function keyPoints(keys: KeyClient): readonly WritePoint[] {
  const deletedOnExpiry = { annotations: { [EXPIRED_ANNOTATION]: 'Delete' } }
  const active = (name: string): Work => ({
    lead: () => keys.create({}, { name }),
    ends: () => isShown(keys, name, 'Active'),
  })
  const point = (
    title: string,
    make: (name: string, path: string) => Omit<WritePoint, 'name'>,
  ): WritePoint => {
    const name = uniqueName('fault')
    return { name: title, ...make(name, pathOf(ACCESS_KEYS, { name })) }
  }
  return [
    point('adoption of a key', (name, path) => ({ ...active(name), isIt: to('PATCH', path) })),
    point('first status of a key', (name, path) => ({
      ...active(name),
      isIt: to('PATCH', `${path}/status`),
    })),
    point('status of an expiry', (name, path) => ({
      isIt: to('PATCH', `${path}/status`, 'Expired'),
      lead: () => keys.create({ ttl: 1 }, { name }),
      ends: () => isShown(keys, name, 'Expired'),
    })),
    point('deletion of an expired key', (name, path) => ({
      isIt: to('DELETE', path),
      lead: () => keys.create({ ttl: 1 }, { name, ...deletedOnExpiry }),
      ends: () => keys.gone(name),
      heir: active(name),
    })),
    point('removal of the finalizer', (name, path) => ({
      isIt: to('PATCH', path, '"remove"'),
      lead: async () => {
        await keys.shown(await keys.create({}, { name }), 'Active')
        await keys.remove(name)
      },
      ends: () => keys.gone(name),
      heir: active(name),
    })),
  ]
}

/** In force with everything that belongs to it, and nothing reported twice. */
async function isShown(keys: KeyClient, name: string, reason: string): Promise<void> {
  const key = await keys.shown(name, reason)
  expect(isAdopted(key)).toBe(true)
  expect(key.metadata).not.toHaveProperty('deletionTimestamp')
  const reported = (await keys.events(key)).map((event) => event.reason)
  expect(reported).toEqual([...new Set(reported)])
}

/** The writes that settings cost. A cap is declared, or what holds it is deleted: it stays in force. */
export function configPoints(
  plane: TestControlPlane,
): Readonly<Record<'declared' | 'remade', readonly [WritePoint, WritePoint]>> {
  const settings = settingsOf(plane)
  const remove = async (path: string): Promise<void> => {
    expect(await plane.raw('DELETE', path)).toMatchObject({ code: 200 })
  }
  let cap = 1_000_000
  const lead = (): Promise<void> => {
    cap += 1
    return settings.declare({ auth: { accessKeyMaxTTLSeconds: cap } })
  }
  const isRecorded = async (): Promise<void> => {
    const { body } = await plane.raw<ConfigMap>('GET', RECORD_PATH)
    const recorded: unknown = JSON.parse(body.data?.['config'] ?? 'null')
    expect(recorded).toMatchObject({ auth: { accessKeyMaxTTLSeconds: cap } })
  }
  const ends = async (): Promise<void> => {
    await settings.settled(
      'the cap is in force',
      (status) => readyOf(status).status === 'True' && status.auth?.accessKeyMaxTTLSeconds === cap,
      SOON.withinMs,
    )
    await eventuallyPasses('the cap is recorded', isRecorded, SOON)
  }
  const records = RECORD_PATH.slice(0, RECORD_PATH.lastIndexOf('/'))
  return {
    declared: [
      { name: 'update of the record', isIt: to('PATCH', RECORD_PATH), lead, ends },
      { name: 'status of Config', isIt: to('PATCH', `${IN_FORCE_PATH}/status`), lead, ends },
    ],
    remade: [
      {
        name: 'creation of the record',
        isIt: to('POST', records),
        lead: () => remove(RECORD_PATH),
        ends,
      },
      {
        name: 'creation of Config',
        isIt: to('POST', CONFIGS_PATH),
        lead: () => remove(IN_FORCE_PATH),
        ends,
      },
    ],
  }
}
