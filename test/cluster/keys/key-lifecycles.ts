// Access keys in all their states, with a canary secret in each secret field.
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

/** Creates the canary secret of a field; `label` names it in failures. */
export type Plant = (label: string) => string

/** A spec with a secret in each secret field; a given `key` is kept, an empty one omitted. */
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

/** The number of secrets in such a spec. */
export const SECRET_FIELDS = 5

/**
 * Functions that each take a key through one lifecycle. They need a retention of seconds and a cap below 400 days.
 *
 * @param generated called with each key that the operator generated
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
    async () => keys.shown(await create('active'), 'Active'),
    async () => keys.shown(await create('disabled', { disabled: true }), 'Disabled'),
    async () => keys.shown(await create('without identity', { user: '' }), 'NoIdentity'),
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
      const { spec } = await create('conflict')
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
      const key = await create('foreign finalizer', {}, { finalizers: ['example.com/backup'] })
      await keys.shown(key, 'Active')
      await keys.remove(key)
      await keys.shown(key, 'Terminating')
    },
  ]
}
