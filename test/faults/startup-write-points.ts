// Writes for signing keys and records of revoked tokens that come with the start of an operator, or weeks after
// it: the first key, the end of an old one, an hour that is over. See write-points.ts.
import { expect } from 'vitest'
import {
  CONFIG_MAPS,
  JWKS_CONFIG_MAP,
  REVOKED_TOKENS_PREFIX,
  ROTATE_ANNOTATION,
  SECRETS,
} from '../../src/api/names.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import type { OidcSources } from '../cluster/gateway/oidc-config-maps.ts'
import type { PlatformState } from '../cluster/tokens/platform-state.ts'
import { type SigningKeyClient, kidsIn } from '../cluster/tokens/signing-key-client.ts'
import type { ProcessOptions } from '../support/command-process.ts'
import { eventuallyPasses } from '../support/eventually.ts'
import { OPERATOR_ACCOUNT } from '../support/installed-control-plane.ts'
import { clockAheadEnv } from '../support/stepped-clock.ts'
import { is, kidOf } from './token-write-points.ts'
import type { WritePoint } from './write-points.ts'

const { namespace } = OPERATOR_ACCOUNT
const SOON = { withinMs: 20_000 }
const SECRETS_PATH = pathOf(SECRETS, { namespace })
const CONFIG_MAPS_PATH = pathOf(CONFIG_MAPS, { namespace })
/** The last token of a key that is followed now, a day, and a little more. */
const RETIRED_AFTER_MS = 3 * 24 * 60 * 60_000
const OVER_HOUR = '2026010100'
const OVER = { namespace, name: `${REVOKED_TOKENS_PREFIX}${OVER_HOUR}` }

/** What the points stand on. */
export interface LifeWorld {
  readonly platform: PlatformState
  readonly signingKeys: SigningKeyClient
  readonly written: Pick<OidcSources, 'revoked'>
  /** Whether there is that ConfigMap of the platform's namespace. */
  readonly isThere: (name: string) => Promise<boolean>
  /** Ends the operator as a kubelet does, and starts the next when that is done. */
  readonly restart: (
    meanwhile: () => Promise<void>,
    how?: Pick<ProcessOptions, 'env' | 'until'>,
  ) => Promise<void>
}

/** Each changes the one set of keys, or a record under the one name. */
export function lifePoints(world: LifeWorld): readonly WritePoint[] {
  return [...firstKeyPoints(world), retirement(world), sweep(world)]
}

/** It is ready once there is a key, which it is kept from here. */
function firstKeyPoints({ platform, signingKeys, restart }: LifeWorld): readonly WritePoint[] {
  const lead = () => restart(() => signingKeys.empty(), { until: 'serving' })
  const ends = () => are(platform, (kids) => expect(kids).toHaveLength(1))
  return [
    { name: 'creation of the first signing key', isIt: is('POST', SECRETS_PATH), lead, ends },
    {
      name: 'publication of the first signing key',
      isIt: is('POST', CONFIG_MAPS_PATH, JWKS_CONFIG_MAP),
      lead,
      ends,
    },
  ]
}

function retirement({ platform, signingKeys, restart }: LifeWorld): WritePoint {
  let last: string | undefined
  return {
    name: 'deletion of the Secret of a key that has left',
    isIt: ({ method, path }) => method === 'DELETE' && path.startsWith(`${SECRETS_PATH}/`),
    lead: async () => {
      await platform.annotate(ROTATE_ANNOTATION, 'now')
      last = kidsIn(await signingKeys.met(ROTATE_ANNOTATION)).at(-1)
      await restart(async () => undefined, { env: clockAheadEnv(RETIRED_AFTER_MS) })
    },
    ends: () => are(platform, (kids) => expect(kids).toEqual([last])),
  }
}

function sweep({ written, isThere, restart }: LifeWorld): WritePoint {
  return {
    name: 'deletion of a record whose hour is over',
    isIt: is('DELETE', pathOf(CONFIG_MAPS, OVER)),
    lead: () => restart(() => written.revoked(OVER_HOUR, { 'some-token': '2026-01-01T00:30:00Z' })),
    ends: () =>
      eventuallyPasses(
        'the record is gone',
        async () => expect(await isThere(OVER.name)).toBe(false),
        SOON,
      ),
  }
}

/** Waits until the published keys are as wanted, with one Secret for each. */
function are(
  platform: PlatformState,
  expectKids: (kids: readonly string[]) => void,
): Promise<void> {
  return eventuallyPasses(
    'the keys are as they should be',
    async () => {
      const kids = kidsIn(await platform.record())
      expectKids(kids)
      expect((await platform.secrets()).map(kidOf)).toEqual(kids)
    },
    SOON,
  )
}
