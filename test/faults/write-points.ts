// The writes of the operator for keys and settings: what triggers each, how to match its request in the proxy, and the
// state that must follow, whatever happens to the request.
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
import type { Match } from '../support/fault-proxy.ts'
import { uniqueName } from '../support/object-builder.ts'

/** A change that the operator has to complete. */
export interface Work {
  /** Makes the operator start it. */
  readonly trigger: () => Promise<unknown>
  /** Waits for the correct final state; may be called again. */
  readonly completed: () => Promise<unknown>
}

/** One write of the operator. */
export interface WritePoint extends Work {
  readonly name: string
  readonly matches: Match
  /** For a write that removes an object: a new object under the same name. */
  readonly successor?: Work
}

const SOON = { withinMs: 20_000 }

/** Matches requests by method, exact path and a part of the body. */
export const requestTo =
  (method: string, path: string, bodyPart = ''): Match =>
  (request) =>
    request.method === method && request.path === path && request.body.includes(bodyPart)

/** The writes to keys, each to its own object. */
export function keyPoints(keys: KeyClient): readonly WritePoint[] {
  const deletedOnExpiry = { annotations: { [EXPIRED_ANNOTATION]: 'Delete' } }
  const active = (name: string): Work => ({
    trigger: () => keys.create({}, { name }),
    completed: () => isShown(keys, name, 'Active'),
  })
  const point = (
    title: string,
    make: (name: string, path: string) => Omit<WritePoint, 'name'>,
  ): WritePoint => {
    const name = uniqueName('fault')
    return { name: title, ...make(name, pathOf(ACCESS_KEYS, { name })) }
  }
  return [
    point('adoption of a key', (name, path) => ({
      ...active(name),
      matches: requestTo('PATCH', path),
    })),
    point('first status of a key', (name, path) => ({
      ...active(name),
      matches: requestTo('PATCH', `${path}/status`),
    })),
    point('status of an expired key', (name, path) => ({
      matches: requestTo('PATCH', `${path}/status`, 'Expired'),
      trigger: () => keys.create({ ttl: 1 }, { name }),
      completed: () => isShown(keys, name, 'Expired'),
    })),
    point('deletion of an expired key', (name, path) => ({
      matches: requestTo('DELETE', path),
      trigger: () => keys.create({ ttl: 1 }, { name, ...deletedOnExpiry }),
      completed: () => keys.gone(name),
      successor: active(name),
    })),
    point('removal of the finalizer', (name, path) => ({
      matches: requestTo('PATCH', path, '"remove"'),
      trigger: async () => {
        await keys.shown(await keys.create({}, { name }), 'Active')
        await keys.remove(name)
      },
      completed: () => keys.gone(name),
      successor: active(name),
    })),
  ]
}

/** Waits for the reason of Ready; the key is adopted, not being deleted, and has no duplicate events. */
async function isShown(keys: KeyClient, name: string, reason: string): Promise<void> {
  const key = await keys.shown(name, reason)
  expect(isAdopted(key)).toBe(true)
  expect(key.metadata).not.toHaveProperty('deletionTimestamp')
  const reported = (await keys.events(key)).map((event) => event.reason)
  expect(reported).toEqual([...new Set(reported)])
}

/** The writes for settings: after a cap is declared, and after the Config or its record is deleted. */
export function configPoints(
  plane: TestControlPlane,
): Readonly<Record<'declared' | 'remade', readonly [WritePoint, WritePoint]>> {
  const settings = settingsOf(plane)
  const remove = async (path: string): Promise<void> => {
    expect(await plane.raw('DELETE', path)).toMatchObject({ code: 200 })
  }
  let cap = 1_000_000
  const trigger = (): Promise<void> => {
    cap += 1
    return settings.declare({ auth: { accessKeyMaxTTLSeconds: cap } })
  }
  const isRecorded = async (): Promise<void> => {
    const { body } = await plane.raw<ConfigMap>('GET', RECORD_PATH)
    const recorded: unknown = JSON.parse(body.data?.['config'] ?? 'null')
    expect(recorded).toMatchObject({ auth: { accessKeyMaxTTLSeconds: cap } })
  }
  const completed = async (): Promise<void> => {
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
      {
        name: 'update of the record',
        matches: requestTo('PATCH', RECORD_PATH),
        trigger,
        completed,
      },
      {
        name: 'status of Config',
        matches: requestTo('PATCH', `${IN_FORCE_PATH}/status`),
        trigger,
        completed,
      },
    ],
    remade: [
      {
        name: 'creation of the record',
        matches: requestTo('POST', records),
        trigger: () => remove(RECORD_PATH),
        completed,
      },
      {
        name: 'creation of Config',
        matches: requestTo('POST', CONFIGS_PATH),
        trigger: () => remove(IN_FORCE_PATH),
        completed,
      },
    ],
  }
}
