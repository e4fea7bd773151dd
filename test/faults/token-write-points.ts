// The writes of the operator for tokens, signing keys and revocation records; see write-points.ts.
import { expect } from 'vitest'
import {
  CONFIG_MAPS,
  EXPIRED_ANNOTATION,
  JWKS_CONFIG_MAP,
  REVOKED_TOKENS_PREFIX,
  ROTATE_ANNOTATION,
  SECRETS,
  TOKENS,
  WITHDRAW_ANNOTATION,
} from '../../src/api/names.ts'
import { pathOf } from '../../src/kube/client/client.ts'
import type { OidcSources } from '../cluster/gateway/oidc-config-maps.ts'
import type { KeyClient } from '../cluster/keys/key-client.ts'
import { type PlatformState, jwksIn } from '../cluster/tokens/platform-state.ts'
import { type SigningKeyClient, kidsIn } from '../cluster/tokens/signing-key-client.ts'
import { type TokenClient, under } from '../cluster/tokens/token-client.ts'
import type { ProcessOptions } from '../support/command-process.ts'
import { eventuallyPasses } from '../support/eventually.ts'
import type { Match } from '../support/fault-proxy.ts'
import { OPERATOR_ACCOUNT } from '../support/installed-control-plane.ts'
import { uniqueName } from '../support/object-builder.ts'
import { clockAheadEnv } from '../support/stepped-clock.ts'
import { type Work, type WritePoint, requestTo } from './write-points.ts'

const { namespace } = OPERATOR_ACCOUNT
const SOON = { withinMs: 20_000 }
const SECRETS_PATH = pathOf(SECRETS, { namespace })

/** The clients that tokenPoints and rotationPoints use. */
export interface TokenClients {
  readonly keys: KeyClient
  readonly tokens: TokenClient
  readonly platform: PlatformState
}

/** The writes of issue and revocation, each to its own objects. */
export function tokenPoints({ keys, tokens, platform }: TokenClients): readonly WritePoint[] {
  const issued = async (name: string, spec = {}): Promise<string> => {
    const key = await keys.shown(await keys.create(), 'Active')
    await tokens.shown(await tokens.create(spec, { name, ...under(key) }), 'Issued')
    return key.metadata.name
  }
  const isRevoked = async (name: string): Promise<void> => {
    const token = await tokens.shown(name, 'Revoked')
    expect(token.status).not.toHaveProperty('token')
    expect(await platform.revoked()).toHaveProperty([token.metadata.uid])
  }
  const point = (
    title: string,
    make: (name: string, path: string) => Omit<WritePoint, 'name'>,
  ): WritePoint => {
    const name = uniqueName('fault')
    return { name: title, ...make(name, pathOf(TOKENS, { name })) }
  }
  const disable = async (name: string): Promise<void> => {
    await keys.patch(await issued(name), { spec: { disabled: true } })
  }
  let uid = ''
  const isRemovedAndRecorded = async (name: string): Promise<void> => {
    await tokens.gone(name)
    expect(await platform.revoked()).toHaveProperty([uid])
  }
  const issueAndRemove = async (name: string): Promise<void> => {
    await issued(name)
    uid = (await tokens.read(name))?.metadata.uid ?? ''
    await tokens.remove(name)
  }
  const deletedOnExpiry = { annotations: { [EXPIRED_ANNOTATION]: 'Delete' } }
  const issue = (name: string): Work => ({
    trigger: () => tokens.create({}, { name }),
    completed: () => tokens.shown(name, 'Issued'),
  })
  return [
    point('adoption of a token', (name, path) => ({
      ...issue(name),
      matches: requestTo('PATCH', path),
    })),
    point('issue of a token', (name, path) => ({
      ...issue(name),
      matches: requestTo('PATCH', `${path}/status`, '"token":"ey'),
    })),
    point('revocation record of a token', (name) => ({
      matches: ({ method, body }) =>
        (method === 'POST' || method === 'PUT') && body.includes(REVOKED_TOKENS_PREFIX),
      trigger: () => disable(name),
      completed: () => isRevoked(name),
    })),
    point('status of a revoked token', (name, path) => ({
      matches: requestTo('PATCH', `${path}/status`, 'Revoked'),
      trigger: () => disable(name),
      completed: () => isRevoked(name),
    })),
    point('status of an expired token', (name, path) => ({
      matches: requestTo('PATCH', `${path}/status`, 'Expired'),
      trigger: () => tokens.create({ ttl: 3 }, { name }),
      completed: () => tokens.shown(name, 'Expired'),
    })),
    point('removal of the finalizer of a token', (name, path) => ({
      matches: requestTo('PATCH', path, '"remove"'),
      trigger: () => issueAndRemove(name),
      completed: () => isRemovedAndRecorded(name),
      successor: issue(name),
    })),
    point('deletion of an expired token', (name, path) => ({
      matches: requestTo('DELETE', path),
      trigger: () => tokens.create({ ttl: 3 }, { name, ...deletedOnExpiry }),
      completed: () => tokens.gone(name),
      successor: issue(name),
    })),
    point('deletion of a token after its key', (name, path) => ({
      matches: requestTo('DELETE', path),
      trigger: async () => {
        const owner = await issued(name)
        uid = (await tokens.read(name))?.metadata.uid ?? ''
        // The key's finalizer waits for its tokens, so the operator deletes them before the garbage collector.
        await keys.remove(owner)
      },
      completed: () => isRemovedAndRecorded(name),
    })),
  ]
}

/** The writes of rotation and withdrawal; all change the one JWKS. */
export function rotationPoints({ platform }: TokenClients): readonly WritePoint[] {
  const kids = async (): Promise<readonly string[]> =>
    jwksIn(await platform.record()).map(({ kid = '' }) => kid)
  const newest = async (): Promise<string> => (await kids()).at(-1) ?? ''
  let kid = ''
  const rotate = async (): Promise<void> => {
    // A published key that does not sign yet would become the next one: withdraw it first.
    for (const next of (await kids()).slice(1)) await withdrawn(next)
    kid = await newest()
    await platform.annotate(ROTATE_ANNOTATION, 'now')
  }
  const withdrawn = async (which: string): Promise<void> => {
    await platform.annotate(WITHDRAW_ANNOTATION, which)
    await isWithdrawn(which)
  }
  const isWithdrawn = (which: string): Promise<void> =>
    eventuallyPasses(
      `${which} is withdrawn`,
      async () => {
        expect(await kids()).not.toContain(which)
        expect((await platform.secrets()).map(kidOf)).not.toContain(which)
      },
      SOON,
    )
  const isRotated = (): Promise<void> =>
    eventuallyPasses(
      'a second key is published, and each key has one Secret',
      async () => {
        const now = await kids()
        expect(now).toContain(kid)
        expect(now.length).toBe(2)
        expect((await platform.secrets()).map(kidOf)).toEqual(now)
      },
      SOON,
    )
  const withdraw = async (): Promise<void> => {
    kid = await newest()
    await platform.annotate(WITHDRAW_ANNOTATION, kid)
  }
  const publishes: Match = ({ method, body }) =>
    (method === 'POST' || method === 'PUT') && body.includes(JWKS_CONFIG_MAP)
  // The JWKS is a JSON string within the JSON body.
  const publishesTwo: Match = (request) =>
    publishes(request) && request.body.split('\\"use\\"').length > 2
  return [
    {
      name: 'creation of a signing key',
      matches: requestTo('POST', SECRETS_PATH),
      trigger: rotate,
      completed: isRotated,
    },
    {
      name: 'publication of a signing key',
      matches: publishesTwo,
      trigger: rotate,
      completed: isRotated,
    },
    {
      name: 'withdrawal of a signing key',
      matches: publishes,
      trigger: withdraw,
      completed: () => isWithdrawn(kid),
    },
    {
      name: 'deletion of the Secret of a withdrawn signing key',
      matches: ({ method, path }) => method === 'DELETE' && path.startsWith(`${SECRETS_PATH}/`),
      trigger: withdraw,
      completed: () => isWithdrawn(kid),
    },
  ]
}

const CONFIG_MAPS_PATH = pathOf(CONFIG_MAPS, { namespace })
/** Longer than the tokens of a rotated key live. */
const RETIRED_AFTER_MS = 3 * 24 * 60 * 60_000
const PAST_HOUR = '2026010100'
const PAST_RECORD = { namespace, name: `${REVOKED_TOKENS_PREFIX}${PAST_HOUR}` }

/** What startupPoints use. */
export interface StartupDeps {
  readonly platform: PlatformState
  readonly signingKeys: SigningKeyClient
  readonly oidcSources: Pick<OidcSources, 'revoked'>
  /** Whether the platform's namespace has a ConfigMap of this name. */
  readonly hasConfigMap: (name: string) => Promise<boolean>
  /** Stops the operator by SIGTERM, runs `meanwhile`, and starts another. */
  readonly restart: (
    meanwhile: () => Promise<void>,
    how?: Pick<ProcessOptions, 'env' | 'until'>,
  ) => Promise<void>
}

/** The writes after a start, and weeks later: the first signing key, retirement, the sweep of revocation records. */
export function startupPoints(deps: StartupDeps): readonly WritePoint[] {
  return [...firstKeyPoints(deps), retirement(deps), sweep(deps)]
}

/** The operator becomes ready only after these writes. */
function firstKeyPoints({ platform, signingKeys, restart }: StartupDeps): readonly WritePoint[] {
  const trigger = () => restart(() => signingKeys.empty(), { until: 'serving' })
  const completed = () => untilPublished(platform, (kids) => expect(kids).toHaveLength(1))
  return [
    {
      name: 'creation of the first signing key',
      matches: requestTo('POST', SECRETS_PATH),
      trigger,
      completed,
    },
    {
      name: 'publication of the first signing key',
      matches: requestTo('POST', CONFIG_MAPS_PATH, JWKS_CONFIG_MAP),
      trigger,
      completed,
    },
  ]
}

function retirement({ platform, signingKeys, restart }: StartupDeps): WritePoint {
  let last: string | undefined
  return {
    name: 'deletion of the Secret of a retired signing key',
    matches: ({ method, path }) => method === 'DELETE' && path.startsWith(`${SECRETS_PATH}/`),
    trigger: async () => {
      await platform.annotate(ROTATE_ANNOTATION, 'now')
      last = kidsIn(await signingKeys.annotationHandled(ROTATE_ANNOTATION)).at(-1)
      await restart(async () => undefined, { env: clockAheadEnv(RETIRED_AFTER_MS) })
    },
    completed: () => untilPublished(platform, (kids) => expect(kids).toEqual([last])),
  }
}

function sweep({ oidcSources, hasConfigMap, restart }: StartupDeps): WritePoint {
  return {
    name: 'deletion of the revocation record of a past hour',
    matches: requestTo('DELETE', pathOf(CONFIG_MAPS, PAST_RECORD)),
    trigger: () =>
      restart(() => oidcSources.revoked(PAST_HOUR, { 'some-token': '2026-01-01T00:30:00Z' })),
    completed: () =>
      eventuallyPasses(
        'the record is gone',
        async () => expect(await hasConfigMap(PAST_RECORD.name)).toBe(false),
        SOON,
      ),
  }
}

/** Waits until the published kids pass `expectKids` and each has one Secret. */
function untilPublished(
  platform: PlatformState,
  expectKids: (kids: readonly string[]) => void,
): Promise<void> {
  return eventuallyPasses(
    'the published keys are as expected',
    async () => {
      const kids = kidsIn(await platform.record())
      expectKids(kids)
      expect((await platform.secrets()).map(kidOf)).toEqual(kids)
    },
    SOON,
  )
}

/** The kid in the Secret of a signing key. */
const kidOf = ({ data = {} }: { readonly data?: Readonly<Record<string, string>> }): string =>
  Buffer.from(data['kid'] ?? '', 'base64').toString()
