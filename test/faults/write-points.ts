// The places where the operator writes: what brings it there, how the request is known among all that
// pass the proxy, and what must come of it, whatever happened to the write.
import { expect } from 'vitest'
import { ACCESS_KEYS, EXPIRED_ANNOTATION } from '../../src/api/group.ts'
import type { ConfigMap } from '../../src/credentials/caps.ts'
import { pathOf } from '../../src/kube/client.ts'
import { isAdopted, type Keys, type StoredKey } from '../cluster/keys/keys.ts'
import { CONFIGS_PATH, IN_FORCE_PATH, readyOf, RECORD_PATH, settingsOf } from '../support/config.ts'
import type { TestControlPlane } from '../support/control-plane.ts'
import { uniqueName } from '../support/objects.ts'
import type { Match } from '../support/proxy-rules.ts'

/** One write of the operator. */
export interface WritePoint {
  readonly name: string
  readonly isIt: Match
  /** Brings the operator to it, and waits for what must be done before. */
  readonly lead: () => Promise<unknown>
  /** Waits for the end that is right. May be asked again: the end must still be so. */
  readonly ends: () => Promise<unknown>
}

/** Requests with this method to this very path. */
const to =
  (method: string, path: string): Match =>
  (request) =>
    request.method === method && request.path === path

const both =
  (...matches: readonly Match[]): Match =>
  (request) =>
    matches.every((match) => match(request))

const says =
  (text: string): Match =>
  ({ body }) =>
    body.includes(text)

/** Every write to a key, each to an object of its own: they may be on their way at the same time. */
export function keyPoints(keys: Keys): readonly WritePoint[] {
  const deleteOnExpiry = { annotations: { [EXPIRED_ANNOTATION]: 'Delete' } }
  return [
    keyPoint('adoption', (path) => to('PATCH', path), {
      lead: (name) => keys.create({}, { name }),
      ends: (name) => isShown(keys, name, 'Active'),
    }),
    keyPoint('first status', (path) => to('PATCH', `${path}/status`), {
      lead: (name) => keys.create({}, { name }),
      ends: (name) => isShown(keys, name, 'Active'),
    }),
    keyPoint(
      'status of an expiry',
      (path) => both(to('PATCH', `${path}/status`), says('Expired')),
      {
        lead: (name) => keys.create({ ttl: 1 }, { name }),
        ends: (name) => isShown(keys, name, 'Expired'),
      },
    ),
    keyPoint('deletion of an expired key', (path) => to('DELETE', path), {
      lead: (name) => keys.create({ ttl: 1 }, { name, ...deleteOnExpiry }),
      ends: (name) => keys.gone(name),
    }),
    keyPoint('finalizer', (path) => both(to('PATCH', path), says('"remove"')), {
      lead: async (name) => {
        await keys.shown(await keys.create({}, { name }), 'Active')
        await keys.remove(name)
      },
      ends: (name) => keys.gone(name),
    }),
  ]
}

function keyPoint(
  name: string,
  isIt: (path: string) => Match,
  deeds: {
    readonly lead: (key: string) => Promise<unknown>
    readonly ends: (key: string) => Promise<unknown>
  },
): WritePoint {
  const key = uniqueName('fault')
  return {
    name,
    isIt: isIt(pathOf(ACCESS_KEYS, { name: key })),
    lead: () => deeds.lead(key),
    ends: () => deeds.ends(key),
  }
}

/** In force with everything that belongs to it, and told once. */
async function isShown(keys: Keys, name: string, reason: string): Promise<void> {
  const key = await keys.shown(name, reason)
  expect(isAdopted(key)).toBe(true)
  expect(key.metadata).not.toHaveProperty('deletionTimestamp')
  await expectToldOnce(keys, key)
}

async function expectToldOnce(keys: Keys, key: StoredKey): Promise<void> {
  const reasons = (await keys.events(key)).map(({ reason }) => reason)
  expect(reasons).toEqual([...new Set(reasons)])
}

/** Every write that settings cost, each by itself: they come one after the other. */
export function configPoints(plane: TestControlPlane): readonly WritePoint[] {
  const settings = settingsOf(plane)
  const remove = async (path: string): Promise<void> => {
    expect(await plane.raw('DELETE', path)).toMatchObject({ code: 200 })
  }
  let cap = 1_000_000
  const declareCap = (): Promise<void> => {
    cap += 1
    return settings.declare({ auth: { accessKeyMaxTTLSeconds: cap } })
  }
  const ends = async (): Promise<void> => {
    await settings.settled(
      'the cap is in force',
      (status) => readyOf(status).status === 'True' && status.auth?.accessKeyMaxTTLSeconds === cap,
    )
    const { body } = await plane.raw<ConfigMap>('GET', RECORD_PATH)
    expect(JSON.parse(body.data?.['config'] ?? '')).toMatchObject({
      auth: { accessKeyMaxTTLSeconds: cap },
    })
  }
  return [
    { name: 'record, updated', isIt: to('PATCH', RECORD_PATH), lead: declareCap, ends },
    { name: 'Config status', isIt: to('PATCH', `${IN_FORCE_PATH}/status`), lead: declareCap, ends },
    {
      name: 'record, created',
      isIt: to('POST', RECORD_PATH.slice(0, RECORD_PATH.lastIndexOf('/'))),
      lead: () => remove(RECORD_PATH),
      ends,
    },
    {
      name: 'Config, created',
      isIt: to('POST', CONFIGS_PATH),
      lead: () => remove(IN_FORCE_PATH),
      ends,
    },
  ]
}
