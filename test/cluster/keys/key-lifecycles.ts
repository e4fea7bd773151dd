// Whatever a key can go through, with something of the test's in each of its secret fields.
import { REVOKE_FINALIZER } from '../../../src/api/names.ts'
import type { OwnedAccessKeySpec } from '../../../src/api/ownedaccesskey.gen.ts'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { eventually } from '../../support/eventually.ts'
import {
  EVENT_WITHIN,
  type KeyClient,
  type StoredKey,
  createdAgo,
  hasConditions,
} from './key-client.ts'

const HOUR = 3600
const DAY = 24 * HOUR

/** Makes the secret of one field; `label` names it. */
export type Plant = (label: string) => string

/** A spec with a secret in each secret field; a `key` that is given stays, an empty one is left out. */
export function withPlantedSecrets(plant: Plant, label: string, given: OwnedAccessKeySpec = {}) {
  const { key = plant(`${label}: key`), ...spec } = given
  return {
    ...spec,
    ...(key === '' ? {} : { key }),
    identity: { connectorData: plant(`${label}: connectorData`) },
    oidcLogin: {
      idToken: plant(`${label}: idToken`),
      accessToken: plant(`${label}: accessToken`),
      refreshToken: plant(`${label}: refreshToken`),
    },
  } satisfies OwnedAccessKeySpec
}

/** How many secrets such a spec has. */
export const SECRET_FIELDS = 5

/**
 * Lives of keys; each is over when its promise is. They need a retention of seconds and a cap below
 * 400 days.
 *
 * @param generated called for each key that the operator generated
 */
export function keyLifecyclesOf(
  keys: KeyClient,
  plant: Plant,
  generated: (label: string, secret: string) => void,
): readonly (() => Promise<unknown>)[] {
  const create = (label: string, spec: OwnedAccessKeySpec = {}, metadata = {}) =>
    keys.create(withPlantedSecrets(plant, label, spec), metadata)
  const isHeld = ({ metadata: { finalizers = [] } }: StoredKey) =>
    finalizers.includes(REVOKE_FINALIZER)
  return [
    async () => keys.shown(await create('works'), 'Active'),
    async () => keys.shown(await create('disabled', { disabled: true }), 'Disabled'),
    async () => keys.shown(await create('of nobody', { user: '' }), 'NoIdentity'),
    async () => keys.gone(await create('expires', { ttl: 2 })),
    async () => keys.gone(await create('login expires', { ttl: 1, type: 'Login' })),
    async () => keys.gone(await create('ended by the cap', {}, createdAgo(400 * DAY))),
    async () => {
      const sliding = { ttl: HOUR, ttlAfterLastActivity: true }
      const key = await keys.shown(await create('used', sliding), 'Active')
      await keys.use(key, Date.now() + 600_000)
      const isIgnored = async () =>
        (await keys.events(key)).some(({ reason }) => reason === 'ActivityIgnored') || undefined
      await eventually('the ignored use is reported', isIgnored, EVENT_WITHIN)
    },
    async () => {
      const { spec } = await create('twice')
      const inClear = { key: spec.key ?? '' }
      const asDigest = { key: `sha256:${secretDigest(inClear.key)}` }
      const others = [await create('in clear', inClear), await create('as digest', asDigest)]
      await Promise.all(others.map((key) => keys.until(key, 'is reported', hasConditions)))
    },
    async () => {
      const key = await keys.shown(await create('adopted again'), 'Active')
      await keys.patch(key, { metadata: { finalizers: null, annotations: null } })
      await keys.until(key, 'is adopted again', isHeld)
    },
    async () => {
      const key = await keys.shown(await create('generated', { key: '' }), 'Active')
      generated('generated: key', key.spec.key ?? '')
      await keys.patch(key, { metadata: { finalizers: null } })
      await keys.until(key, 'is adopted again', isHeld)
    },
    async () => {
      const key = await create('held by others', {}, { finalizers: ['example.com/backup'] })
      await keys.shown(key, 'Active')
      await keys.remove(key)
      await keys.shown(key, 'Terminating')
    },
  ]
}
